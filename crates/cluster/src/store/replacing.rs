//! Which versions a cluster has shown, and what happens when its API server has lost its past: everything is exchanged at
//! once, so that readers see neither an empty store nor objects that only looked newer.

use std::collections::BTreeSet;
use std::mem;
use std::sync::Arc;

use super::entries::{Entries, Report};
use super::{Change, Member, report};
use crate::{Guarded, Kind, ObjectKey};

impl<K: Kind> Member<K> {
    /// What the watch reports.
    pub fn seen(&mut self, object: Guarded<K>) -> Report<K> {
        let report = report(object);
        self.newest = self.newest.max(report.version);
        report
    }

    /// These are all objects, however old they look. What was in doubt was so in the eyes of another server.
    pub fn replace(&mut self, objects: Vec<Guarded<K>>) -> Vec<Change<K>> {
        let empty = Entries::new(self.entries.cluster().clone());
        let before = mem::replace(&mut self.entries, empty);
        self.newest = 0;
        self.entries.init();
        let mut changes = Vec::new();
        for object in objects {
            let report = self.seen(object);
            changes.extend(self.entries.listed(report));
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

/// What was there before and is not there now.
fn lacking<K>(before: &Entries<K>, now: &Entries<K>) -> BTreeSet<ObjectKey> {
    let names = before.all().map(|(name, _)| name).chain(before.broken().map(|(name, _)| name));
    let key = |name: &Arc<str>| ObjectKey::new(before.cluster().clone(), name.clone());
    names.filter(|name| !now.has(name)).map(key).collect()
}
