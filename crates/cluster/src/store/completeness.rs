//! Complete and partial reads as types. A caller that deletes or concludes from an absence needs a
//! [`CompleteStore`](super::CompleteStore) and otherwise gets a reason; a [`CompletenessProof`] carries that into a
//! decision.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use berth_core::ClusterName;
use thiserror::Error;

use crate::{Classified, ErrorClass};

/// Whether what a store shows of a cluster is all there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Completeness {
    /// The store follows the cluster and can read every object.
    Complete,
    /// Objects may be missing or be out of date.
    Partial {
        /// The reason, to be appended to "cluster x: ".
        why: String,
    },
}

/// A decision must wait because its read is partial.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", self.text())]
pub struct Partial {
    pub kind: String,
    pub cluster: ClusterName,
    /// The invalid object, if that is the reason.
    pub object: Option<Arc<str>>,
    pub why: String,
}

impl Partial {
    fn text(&self) -> String {
        let Self { kind, cluster, object, why } = self;
        match object {
            Some(object) => format!("{kind} {object} cannot be read, correct or delete it: {why}"),
            None => format!("{kind} objects of cluster {cluster} are not completely known: {why}"),
        }
    }
}

impl Classified for Partial {
    fn class(&self) -> ErrorClass {
        ErrorClass::Transient
    }
}

/// Proof that a read of all objects of a kind in a cluster was complete when it was made.
///
/// Only a [`CompleteStore`](super::CompleteStore) gives one. Deletions require it ([`crate::Writer::delete`]), and so
/// do plans that conclude something from an absence.
pub struct CompletenessProof<K> {
    cluster: ClusterName,
    kind: PhantomData<fn() -> K>,
}

impl<K> CompletenessProof<K> {
    pub(crate) fn new(cluster: ClusterName) -> Self {
        Self { cluster, kind: PhantomData }
    }

    pub fn cluster(&self) -> &ClusterName {
        &self.cluster
    }
}

impl<K> Clone for CompletenessProof<K> {
    fn clone(&self) -> Self {
        Self::new(self.cluster.clone())
    }
}

impl<K> PartialEq for CompletenessProof<K> {
    fn eq(&self, other: &Self) -> bool {
        self.cluster == other.cluster
    }
}

impl<K> Eq for CompletenessProof<K> {}

impl<K> fmt::Debug for CompletenessProof<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Whole({})", self.cluster)
    }
}
