//! Complete and partial reads as types (decision D5): whoever wants to delete or to conclude something from an absence
//! has to ask for a [`Complete`], and gets a reason when there is none. A [`Whole`] is what a decision takes along from
//! it: what cannot be done without one cannot be done on a partial read.

use std::{fmt, marker::PhantomData, sync::Arc, time::Duration};

use berth_core::ClusterName;
use thiserror::Error;

use super::{Entry, Index, Store};
use crate::{Class, Classified, Kind, ObjectKey};

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
/// Only a [`Complete`] gives one. Deletions ask for it ([`crate::Writer::delete`]), and so do plans that conclude
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

/// Reading access to one cluster, given only while the store shows all of it.
#[derive(Debug)]
pub struct Complete<'a, K: Kind> {
    store: &'a Store<K>,
    cluster: ClusterName,
}

impl<'a, K: Kind> Complete<'a, K> {
    pub(super) fn new(store: &'a Store<K>, cluster: ClusterName) -> Self {
        Self { store, cluster }
    }

    /// The cluster that this is about.
    pub fn cluster(&self) -> &ClusterName {
        &self.cluster
    }

    /// What a decision that rests on this read takes along.
    pub fn whole(&self) -> Whole<K> {
        Whole::new(self.cluster.clone())
    }

    /// How long the cluster has been followed so far, without the times in which nobody could look: the clock by which
    /// an absence is timed.
    pub fn followed_time(&self) -> Duration {
        self.store.followed_time(&self.cluster)
    }

    /// The object; `None` means that there is none.
    pub fn get(&self, name: &str) -> Option<Arc<K>> {
        self.store.get(&ObjectKey::new(self.cluster.clone(), name))
    }

    /// All objects of the cluster, by name.
    pub fn all(&self) -> Vec<Entry<K>> {
        self.of_cluster(self.store.all())
    }

    /// The objects of the cluster with this value, by name; what is not in the list does not exist.
    pub fn select(&self, index: &Index<K>, value: &str) -> Vec<Entry<K>> {
        self.of_cluster(self.store.select(index, value))
    }

    fn of_cluster(&self, mut entries: Vec<Entry<K>>) -> Vec<Entry<K>> {
        entries.retain(|entry| entry.key.cluster == self.cluster);
        entries
    }
}
