//! Mapping functions: which slots a change makes orphans, or no longer orphans.

use std::collections::BTreeSet;

use berth_cluster::indexes::RESERVATION_BY_COMMITMENT;
use berth_cluster::{Change, ObjectKey, Store, Watches, disruption_limited_slots};
use berth_crds::{CommittedResource, Knowledge, Reservation};

use super::slot::{is_orphan, is_slot};

pub(super) fn declare(
    watches: &mut Watches<ObjectKey>,
    reservations: &Store<Reservation>,
    commitments: &Store<CommittedResource>,
    knowledges: &Store<Knowledge>,
) {
    let store = commitments.clone();
    watches.changes(reservations, move |change| map_reservation(change, &store));
    let store = reservations.clone();
    watches.changes(commitments, move |change| map_commitment(change, &store));
    // This object has the confirmation of a disruption.
    let store = reservations.clone();
    watches.changes(knowledges, move |_| disruption_limited_slots(&store));
}

/// Slots that are orphans, and former orphans that may still have the condition.
pub(super) fn first(reservations: &Store<Reservation>, commitments: &Store<CommittedResource>) -> BTreeSet<ObjectKey> {
    let slots = reservations.all().into_iter().filter(|entry| is_slot(&entry.object));
    let orphans = slots.filter(|entry| is_orphan(&entry.object, commitments)).map(|entry| entry.key);
    orphans.chain(disruption_limited_slots(reservations)).collect()
}

/// A slot that has, or had, no commitment concerns itself.
fn map_reservation(change: &Change<Reservation>, commitments: &Store<CommittedResource>) -> Option<ObjectKey> {
    let slots = [&change.old, &change.new].into_iter().flatten().filter(|object| is_slot(object));
    let mut orphans = slots.filter(|object| is_orphan(object, commitments));
    orphans.next().map(|_| change.key.clone())
}

/// A commitment concerns the slots with its UUID when it comes or goes.
fn map_commitment(change: &Change<CommittedResource>, reservations: &Store<Reservation>) -> BTreeSet<ObjectKey> {
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

#[cfg(test)]
mod tests {
    use berth_cluster::indexes::{COMMITMENT_INDEXES, RESERVATION_INDEXES};
    use berth_cluster::testing::filled;
    use berth_core::ClusterName;
    use berth_crds::testing;

    use super::*;

    #[test]
    fn only_slots_without_a_commitment_concern_the_controller_at_its_start() {
        let home = ClusterName::home();
        let commitments = filled(COMMITMENT_INDEXES, &home, [testing::commitment("here", "480Gi")]);
        let slots = [testing::slot("here", 0), testing::slot("gone", 0), testing::slot("", 0)];
        let reservations = filled(RESERVATION_INDEXES, &home, slots);
        let keys = first(&reservations, &commitments);
        assert_eq!(keys.iter().map(|key| &*key.name).collect::<Vec<_>>(), ["commitment-gone-0"]);
    }
}
