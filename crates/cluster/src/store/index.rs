//! Secondary indexes of a store, such as slots by host. They hold keys only.

use std::collections::{BTreeMap, BTreeSet};

use berth_core::ClusterName;

use super::change::Change;
use crate::ObjectKey;

/// A secondary index: its name within the kind, and under which values an object is found.
pub struct Index<K> {
    /// Unique among the indexes of the kind.
    pub name: &'static str,
    /// The values of an object. An empty value is not indexed.
    pub keys: fn(&K) -> Vec<String>,
}

impl<K> Index<K> {
    pub(super) fn values(&self, object: &K) -> BTreeSet<String> {
        (self.keys)(object).into_iter().filter(|value| !value.is_empty()).collect()
    }
}

pub(super) struct Indexes<K: 'static> {
    declared: &'static [Index<K>],
    keys: Vec<BTreeMap<String, BTreeSet<ObjectKey>>>,
}

impl<K> Indexes<K> {
    pub fn new(declared: &'static [Index<K>]) -> Self {
        Self { declared, keys: declared.iter().map(|_| BTreeMap::new()).collect() }
    }

    pub fn follow(&mut self, change: &Change<K>) {
        for (index, keys) in self.declared.iter().zip(&mut self.keys) {
            let values = |object: &Option<_>| object.as_deref().map(|object| index.values(object)).unwrap_or_default();
            let (old, new) = (values(&change.old), values(&change.new));
            for value in old.difference(&new) {
                forget(keys, value, &change.key);
            }
            for value in new.difference(&old) {
                keys.entry(value.clone()).or_default().insert(change.key.clone());
            }
        }
    }

    /// How many keys of `cluster` have `value`, at most `most`; `None` if the store does not keep this index.
    pub fn count(&self, index: &Index<K>, value: &str, cluster: &ClusterName, most: usize) -> Option<usize> {
        let at = self.declared.iter().position(|declared| declared.name == index.name)?;
        let keys = self.keys[at].get(value).into_iter().flatten();
        Some(keys.filter(|key| key.cluster == *cluster).take(most).count())
    }

    /// The keys with `value`, ascending; `None` if the store does not keep this index.
    pub fn select(&self, index: &Index<K>, value: &str) -> Option<Vec<ObjectKey>> {
        let at = self.declared.iter().position(|declared| declared.name == index.name)?;
        Some(self.keys[at].get(value).map(|keys| keys.iter().cloned().collect()).unwrap_or_default())
    }
}

fn forget(keys: &mut BTreeMap<String, BTreeSet<ObjectKey>>, value: &str, key: &ObjectKey) {
    let Some(having) = keys.get_mut(value) else { return };
    having.remove(key);
    if having.is_empty() {
        keys.remove(value);
    }
}
