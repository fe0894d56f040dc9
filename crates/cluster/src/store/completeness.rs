//! Complete and partial reads as types: whoever wants to delete or to conclude something from an absence has to ask for
//! a [`Complete`](super::Complete), and gets a reason when there is none. A [`Whole`] is what a decision takes along
//! from it: what cannot be done without one cannot be done on a partial read.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use berth_core::ClusterName;
use thiserror::Error;

use crate::{Class, Classified};

/// Whether what a store shows of a cluster is all there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Completeness {
    /// The store follows the cluster and can read every object.
    Complete,
    /// Objects may be missing or be out of date.
    Partial {
        /// What is missing, to be continued after "cluster x: ".
        why: String,
    },
}

/// A decision has to wait because the read it rests on is partial.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", self.text())]
pub struct Partial {
    /// Which kind.
    pub kind: String,
    /// Which cluster.
    pub cluster: ClusterName,
    /// The one object that cannot be read, if that is what is missing.
    pub object: Option<Arc<str>>,
    /// What is missing.
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
    fn class(&self) -> Class {
        Class::Later
    }
}

/// Proof that a read of all objects of a kind in a cluster was complete when it was made.
///
/// Only a [`Complete`](super::Complete) gives one. Deletions ask for it ([`crate::Writer::delete`]), and so do plans that conclude
/// something from an absence.
pub struct Whole<K> {
    cluster: ClusterName,
    kind: PhantomData<fn() -> K>,
}

impl<K> Whole<K> {
    pub(crate) fn new(cluster: ClusterName) -> Self {
        Self { cluster, kind: PhantomData }
    }

    /// The cluster that was read.
    pub fn cluster(&self) -> &ClusterName {
        &self.cluster
    }
}

impl<K> Clone for Whole<K> {
    fn clone(&self) -> Self {
        Self::new(self.cluster.clone())
    }
}

impl<K> PartialEq for Whole<K> {
    fn eq(&self, other: &Self) -> bool {
        self.cluster == other.cluster
    }
}

impl<K> Eq for Whole<K> {}

impl<K> fmt::Debug for Whole<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Whole({})", self.cluster)
    }
}
