//! Names as types, so that two of them cannot be swapped in a signature.
//!
//! A name is cheap to clone and orders bytewise, which is the order of every deterministic choice in Berth. It is not
//! validated: the CRDs decide what the API server admits, and old objects may hold anything.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Wraps a name of an object.
            pub fn new(name: impl Into<Arc<str>>) -> Self {
                Self(name.into())
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// True for `""`, which means "not set" in most fields of the custom resources.
            pub fn is_empty(&self) -> bool {
                self.0.is_empty()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(name: &str) -> Self {
                Self::new(name)
            }
        }

        impl From<String> for $name {
            fn from(name: String) -> Self {
                Self::new(name)
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::new("")
            }
        }
    )+};
}

names! {
    /// A Kubernetes API server that Berth works with; `home` is the one it runs in.
    ClusterName,
    /// An availability zone, for example `eu-test-1a`.
    Zone,
    /// A host: `metadata.name` of a Hypervisor, equal to the Nova compute host.
    HostName,
    SlotName,
    CommitmentUuid,
    ProjectId,
    DomainId,
    VmId,
    FlavorName,
    /// The name of a flavor group, the value of the extra spec `quota:hw_version`.
    GroupName,
}

impl ClusterName {
    pub fn home() -> Self {
        Self::new("home")
    }
}

/// A slot in the cluster that holds it: the key of everything that is remembered about a slot outside of the
/// API server (assume entries, waiting list, queues).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotKey {
    pub cluster: ClusterName,
    pub name: SlotName,
}

impl SlotKey {
    pub fn new(cluster: ClusterName, name: impl Into<SlotName>) -> Self {
        Self { cluster, name: name.into() }
    }
}

impl fmt::Display for SlotKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.cluster, self.name)
    }
}
