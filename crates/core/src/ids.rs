//! Names as types: two of them never change places in a signature unnoticed.
//!
//! A name is cheap to clone (one shared allocation) and orders bytewise, which is the order of every deterministic
//! choice in Berth. It carries no validation of its own: what the API server admits is decided by the CRDs, and old
//! objects may hold anything.

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
            /// Wraps a name as it stands in the object.
            pub fn new(name: impl Into<Arc<str>>) -> Self {
                Self(name.into())
            }

            /// The bare text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// True for `""`, which stands for "not set" in most fields of the custom resources.
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
    /// `metadata.name` of a Reservation.
    SlotName,
    /// `spec.commitmentUUID`: what links slots to their commitment.
    CommitmentUuid,
    /// An OpenStack project id.
    ProjectId,
    /// An OpenStack domain id.
    DomainId,
    /// The UUID of a Nova server.
    VmId,
    /// The name of a flavor.
    FlavorName,
    /// The name of a flavor group, the value of the extra spec `quota:hw_version`.
    GroupName,
}

impl ClusterName {
    /// The cluster that the process runs in.
    pub fn home() -> Self {
        Self::new("home")
    }
}

/// A slot in the cluster that holds it: the key of everything that is remembered about a slot outside of the
/// API server (assume entries, waiting list, queues).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotKey {
    /// The cluster of the Reservation object.
    pub cluster: ClusterName,
    /// Its name.
    pub name: SlotName,
}

impl SlotKey {
    /// The slot `name` of `cluster`.
    pub fn new(cluster: ClusterName, name: impl Into<SlotName>) -> Self {
        Self { cluster, name: name.into() }
    }
}

impl fmt::Display for SlotKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.cluster, self.name)
    }
}
