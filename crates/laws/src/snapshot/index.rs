//! Which objects have which value.

use std::{
    borrow::Borrow,
    collections::{BTreeMap, BTreeSet},
};

use crate::Key;

/// Keys by value, ascending.
#[derive(Clone, Debug)]
pub(super) struct Index<V>(BTreeMap<V, BTreeSet<Key>>);

impl<V> Default for Index<V> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<V: Ord> Index<V> {
    /// An object had the values `old` and has `new` now.
    pub(super) fn follow(&mut self, key: &Key, old: impl IntoIterator<Item = V>, new: impl IntoIterator<Item = V>) {
        for value in old {
            if let Some(keys) = self.0.get_mut(&value) {
                keys.remove(key);
                if keys.is_empty() {
                    self.0.remove(&value);
                }
            }
        }
        for value in new {
            self.0.entry(value).or_default().insert(key.clone());
        }
    }

    /// All values that an object has, ascending.
    pub(super) fn values(&self) -> impl Iterator<Item = &V> {
        self.0.keys()
    }

    pub(super) fn select<Q: Ord + ?Sized>(&self, value: &Q) -> impl Iterator<Item = &Key>
    where
        V: Borrow<Q>,
    {
        self.0.get(value).into_iter().flatten()
    }
}
