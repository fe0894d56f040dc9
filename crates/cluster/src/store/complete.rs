//! Reading access that is given only to all of a cluster.

use std::sync::Arc;
use std::time::Duration;

use berth_core::ClusterName;

use super::change::Entry;
use super::{Completeness, Index, Malformed, Partial, Store, Whole};
use crate::{Kind, ObjectKey, kind_name};

/// Reading access to one cluster, given only while the store shows all of it.
#[derive(Debug)]
pub struct Complete<'a, K: Kind> {
    store: &'a Store<K>,
    cluster: ClusterName,
}

impl<'a, K: Kind> Complete<'a, K> {
    fn new(store: &'a Store<K>, cluster: ClusterName) -> Self {
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

impl<K: Kind> Store<K> {
    /// Whether what the store shows of `cluster` is all there is.
    pub fn completeness(&self, cluster: &ClusterName) -> Completeness {
        let data = self.shared.data.read();
        let why = match data.clusters.get(cluster) {
            None => Some("it is not watched".to_owned()),
            Some(member) => member.why_partial(self.asked()),
        };
        why.map_or(Completeness::Complete, |why| Completeness::Partial { why })
    }

    /// Reading access for decisions that must not rest on a partial read: deletions, and conclusions from the absence
    /// of an object.
    pub fn complete(&self, cluster: &ClusterName) -> Result<Complete<'_, K>, Partial> {
        match self.completeness(cluster) {
            Completeness::Complete => Ok(Complete::new(self, cluster.clone())),
            Completeness::Partial { why } => {
                Err(Partial { kind: kind_name::<K>(), cluster: cluster.clone(), object: None, why })
            }
        }
    }

    /// The same for a decision that unreadable objects hinder only when they `concern` it, so that one object of
    /// somebody else does not stop everything.
    pub fn complete_for(
        &self,
        cluster: &ClusterName,
        concerns: impl Fn(&Malformed) -> bool,
    ) -> Result<Complete<'_, K>, Partial> {
        self.followed(cluster)?;
        let malformed = self.malformed().into_iter().filter(|one| one.key.cluster == *cluster);
        match malformed.into_iter().find(concerns) {
            None => Ok(Complete::new(self, cluster.clone())),
            Some(one) => {
                let (kind, object, why) = (kind_name::<K>(), Some(one.key.name.clone()), one.error.to_string());
                Err(Partial { kind, cluster: cluster.clone(), object, why })
            }
        }
    }

    /// Whether the store follows `cluster`: its first list is complete and its watch gets through. Objects that cannot
    /// be read do not count here; a decision that they concern asks for [`Store::complete_for`].
    pub fn followed(&self, cluster: &ClusterName) -> Result<(), Partial> {
        let data = self.shared.data.read();
        let why = match data.clusters.get(cluster) {
            None => Some("it is not watched".to_owned()),
            Some(member) => member.why_unfollowed(self.asked()),
        };
        let partial = |why| Partial { kind: kind_name::<K>(), cluster: cluster.clone(), object: None, why };
        why.map_or(Ok(()), |why| Err(partial(why)))
    }
}
