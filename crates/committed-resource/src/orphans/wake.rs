//! Which slots an event makes orphans, or no orphans any more: pure functions of the old object, the new object and the
//! indexes (U53).

use std::collections::BTreeSet;

use berth_cluster::{Change, ObjectKey, Store, indexes::RESERVATION_BY_COMMITMENT};
use berth_crds::{CommittedResource, Reservation};

use super::{is_orphan, is_slot};

/// A slot that has, or had, no commitment concerns itself.
pub fn by_reservation(change: &Change<Reservation>, commitments: &Store<CommittedResource>) -> Option<ObjectKey> {
    let slots = [&change.old, &change.new].into_iter().flatten().filter(|object| is_slot(object));
    let mut orphans = slots.filter(|object| is_orphan(object, commitments));
    orphans.next().map(|_| change.key.clone())
}

/// A commitment concerns the slots with its UUID when it comes or goes.
pub fn by_commitment(change: &Change<CommittedResource>, reservations: &Store<Reservation>) -> BTreeSet<ObjectKey> {
    let uuid = |object: &Option<std::sync::Arc<CommittedResource>>| {
        object.as_ref().map(|object| object.spec.commitment_uuid.clone())
    };
    let (old, new) = (uuid(&change.old), uuid(&change.new));
    if old == new {
        return BTreeSet::new();
    }
    let uuids = [old, new].into_iter().flatten();
    let slots = uuids.flat_map(|uuid| reservations.select(&RESERVATION_BY_COMMITMENT, &uuid));
    slots.filter(|entry| is_slot(&entry.object)).map(|entry| entry.key).collect()
}
