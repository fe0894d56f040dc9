//! Mapping functions: which changes a change of an object concerns.

use std::collections::BTreeSet;

use berth_cluster::indexes::CHANGE_BY_COMMITMENT;
use berth_cluster::{Change, ObjectKey, Store, Watches};
use berth_crds::{CommitmentChange, CommittedResource, Reservation};

/// A change concerns itself. A commitment and a slot concern the open changes of their commitment.
pub(super) fn declare(
    watches: &mut Watches<ObjectKey>,
    changes: &Store<CommitmentChange>,
    commitments: &Store<CommittedResource>,
    reservations: &Store<Reservation>,
) {
    watches.changes(changes, |change: &Change<CommitmentChange>| Some(change.key.clone()));
    let store = changes.clone();
    watches.changes(commitments, move |change| {
        let objects = [&change.old, &change.new].into_iter().flatten();
        objects.flat_map(|object| open_changes(&store, &object.spec.commitment_uuid)).collect::<BTreeSet<_>>()
    });
    let store = changes.clone();
    watches.changes(reservations, move |change| {
        let objects = [&change.old, &change.new].into_iter().flatten();
        let data = objects.filter_map(|object| object.spec.committed_resource_reservation.as_ref());
        let uuids = data.filter_map(|data| data.commitment_uuid.as_deref());
        uuids.flat_map(|uuid| open_changes(&store, uuid)).collect::<BTreeSet<_>>()
    });
}

fn open_changes(changes: &Store<CommitmentChange>, uuid: &str) -> Vec<ObjectKey> {
    changes.select(&CHANGE_BY_COMMITMENT, uuid).into_iter().map(|entry| entry.key).collect()
}
