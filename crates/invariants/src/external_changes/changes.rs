//! What users, hosts and other programs have changed while changes of commitments were open: a change restores neither
//! commitments that somebody else has edited nor capacity that its host has lost.

use std::collections::{BTreeMap, BTreeSet};

use berth_crds::CommitmentChange;
use berth_crds::commitment_change::ChangeItem;

use crate::held::{held, held_before};
use crate::{Key, Snapshot, Touched};

/// The open changes, and those that the present write has finished.
#[derive(Clone, Debug, Default)]
pub(super) struct OpenChanges(BTreeMap<Key, Interference>);

/// What others have done while a change was open.
#[derive(Clone, Debug, Default)]
struct Interference {
    commitments: BTreeSet<String>,
    hosts: BTreeSet<String>,
}

impl OpenChanges {
    pub(super) fn learn(&mut self, snapshot: &Snapshot, touched: &Touched) {
        let open: BTreeMap<&Key, &CommitmentChange> = snapshot.open_changes().collect();
        self.0.retain(|key, _| open.contains_key(key) || touched.finished.contains(key));
        for (key, change) in open {
            self.0.entry(key.clone()).or_insert_with(|| Interference::before(snapshot, change));
        }
    }

    /// Somebody else has edited these commitments, or their slots.
    pub(super) fn edited(&mut self, snapshot: &Snapshot, touched: &Touched) {
        self.learn(snapshot, touched);
        for interference in self.0.values_mut() {
            interference.commitments.extend(touched.commitments.iter().cloned());
        }
    }

    /// The host is gone, has shrunk, or has new VMs.
    pub(super) fn lost(&mut self, host: &str) {
        for interference in self.0.values_mut() {
            interference.hosts.insert(host.to_owned());
        }
    }

    pub(super) fn edited_in(&self, change: &Key, uuid: &str) -> bool {
        self.0.get(change).is_some_and(|interference| interference.commitments.contains(uuid))
    }

    pub(super) fn lost_in(&self, change: &Key, host: &str) -> bool {
        self.0.get(change).is_some_and(|interference| interference.hosts.contains(host))
    }
}

impl Interference {
    /// The process that admits a change may not have seen the latest edits yet.
    fn before(snapshot: &Snapshot, change: &CommitmentChange) -> Self {
        let items = change.spec.items.iter().enumerate();
        let stale = items.filter(|(place, item)| is_stale(snapshot, change, *place, item));
        Self { commitments: stale.map(|(_, item)| item.commitment_uuid.clone()).collect(), hosts: BTreeSet::new() }
    }
}

fn is_stale(snapshot: &Snapshot, change: &CommitmentChange, place: usize, item: &ChangeItem) -> bool {
    let uuid = &item.commitment_uuid;
    let Some(before) = &item.before else { return snapshot.commitments_of(uuid).next().is_some() };
    let is_same = snapshot.commitments_of(uuid).any(|(_, object)| {
        object.metadata.uid.as_ref() == Some(&before.uid) && object.metadata.generation == Some(before.generation)
    });
    !is_same || held(snapshot, uuid) < held_before(change, place, |_| true)
}
