//! Read access that requires a complete cluster.

use std::sync::Arc;
use std::time::Duration;

use berth_core::ClusterName;

use super::change::Entry;
use super::{Completeness, CompletenessProof, Index, InvalidEntry, Partial, Store};
use crate::{Kind, ObjectKey, kind_name};

/// Reading access to one cluster, given only while the store shows all of it.
#[derive(Debug)]
pub struct CompleteStore<'a, K: Kind> {
    store: &'a Store<K>,
    cluster: ClusterName,
}

impl<'a, K: Kind> CompleteStore<'a, K> {
    fn new(store: &'a Store<K>, cluster: ClusterName) -> Self {
        Self { store, cluster }
    }

    pub fn cluster(&self) -> &ClusterName {
        &self.cluster
    }

    /// The proof for a decision that relies on this read.
    pub fn proof(&self) -> CompletenessProof<K> {
        CompletenessProof::new(self.cluster.clone())
    }

    /// How long the cluster has been followed so far, without the times in which nothing could be read: the clock by which
    /// an absence is timed.
    pub fn synced_time(&self) -> Duration {
        self.store.synced_time(&self.cluster)
    }

    /// The object; `None` proves that it does not exist.
    pub fn get(&self, name: &str) -> Option<Arc<K>> {
        self.store.get(&ObjectKey::new(self.cluster.clone(), name))
    }

    pub fn all(&self) -> Vec<Entry<K>> {
        self.retain_cluster(self.store.all())
    }

    /// The objects of the cluster with this value, by name; objects that are not in the list do not exist.
    pub fn select(&self, index: &Index<K>, value: &str) -> Vec<Entry<K>> {
        self.retain_cluster(self.store.select(index, value))
    }

    fn retain_cluster(&self, mut entries: Vec<Entry<K>>) -> Vec<Entry<K>> {
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
    pub fn require_complete(&self, cluster: &ClusterName) -> Result<CompleteStore<'_, K>, Partial> {
        match self.completeness(cluster) {
            Completeness::Complete => Ok(CompleteStore::new(self, cluster.clone())),
            Completeness::Partial { why } => {
                Err(Partial { kind: kind_name::<K>(), cluster: cluster.clone(), object: None, why })
            }
        }
    }

    /// The same for a decision that only depends on invalid objects that `concern` it, so that one invalid object does
    /// not stop all decisions.
    pub fn require_complete_for(
        &self,
        cluster: &ClusterName,
        concerns: impl Fn(&InvalidEntry) -> bool,
    ) -> Result<CompleteStore<'_, K>, Partial> {
        self.require_synced(cluster)?;
        let invalid_entry = self.invalid_entries().into_iter().filter(|one| one.key.cluster == *cluster);
        match invalid_entry.into_iter().find(concerns) {
            None => Ok(CompleteStore::new(self, cluster.clone())),
            Some(one) => {
                let (kind, object, why) = (kind_name::<K>(), Some(one.key.name.clone()), one.error.to_string());
                Err(Partial { kind, cluster: cluster.clone(), object, why })
            }
        }
    }

    /// Whether the store is synced with `cluster`: its first list is complete and its watch works. Invalid objects do
    /// not count here; a decision about them needs [`Store::require_complete_for`].
    pub fn require_synced(&self, cluster: &ClusterName) -> Result<(), Partial> {
        let data = self.shared.data.read();
        let why = match data.clusters.get(cluster) {
            None => Some("it is not watched".to_owned()),
            Some(member) => member.why_unfollowed(self.asked()),
        };
        let partial = |why| Partial { kind: kind_name::<K>(), cluster: cluster.clone(), object: None, why };
        why.map_or(Ok(()), |why| Err(partial(why)))
    }
}
