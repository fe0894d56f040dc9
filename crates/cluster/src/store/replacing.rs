//! Replaces everything at once when an API server has lost its past, so that readers see neither an empty store nor
//! objects that only seemed newer.

use std::collections::BTreeSet;
use std::mem;
use std::sync::Arc;

use super::entries::Entries;
use super::{Change, Member, report};
use crate::{DecodeGuard, Kind, ObjectKey};

impl<K: Kind> Member<K> {
    /// Replaces all objects, however old the new ones seem. Doubts about writes to another server end.
    pub fn replace(&mut self, objects: Vec<DecodeGuard<K>>) -> Vec<Change<K>> {
        let empty = Entries::new(self.entries.cluster().clone());
        let before = mem::replace(&mut self.entries, empty);
        self.entries.init();
        let mut changes = Vec::new();
        for object in objects {
            changes.extend(self.entries.listed(report(object)));
        }
        self.entries.init_done();
        for change in &mut changes {
            change.old = before.get(&change.key.name).cloned();
        }
        let gone = lacking(&before, &self.entries);
        changes.extend(gone.into_iter().map(|key| Change { old: before.get(&key.name).cloned(), new: None, key }));
        changes
    }
}

/// The objects that existed before and no longer exist.
fn lacking<K>(before: &Entries<K>, now: &Entries<K>) -> BTreeSet<ObjectKey> {
    let names = before.all().map(|(name, _)| name).chain(before.invalid().map(|(name, _)| name));
    let key = |name: &Arc<str>| ObjectKey::new(before.cluster().clone(), name.clone());
    names.filter(|name| !now.has(name)).map(key).collect()
}
