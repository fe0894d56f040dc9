//! Which commitments an event concerns: pure functions of the old object, the new object and the indexes (U53).

use std::collections::BTreeSet;

use berth_cluster::{Change, ObjectKey, Store, indexes::COMMITMENT_BY_UUID};
use berth_core::ClusterName;
use berth_crds::{CommittedResource, Knowledge, Reservation, labels};
use kube::ResourceExt;

/// A commitment concerns itself and, when it comes or goes or what decides between duplicates or freezes them changes,
/// all others with its UUID (U14, U57).
pub fn by_commitment(
    change: &Change<CommittedResource>,
    commitments: &Store<CommittedResource>,
) -> BTreeSet<ObjectKey> {
    let mut keys: BTreeSet<_> = [change.key.clone()].into();
    if standing(change.old.as_deref()) != standing(change.new.as_deref()) {
        for object in [&change.old, &change.new].into_iter().flatten() {
            keys.extend(with_uuid(&object.spec.commitment_uuid, commitments));
        }
    }
    keys
}

/// What its duplicates look at.
fn standing(object: Option<&CommittedResource>) -> Option<(&str, &[String], bool, bool)> {
    let object = object?;
    let frozen = object.annotations().contains_key(labels::FREEZE);
    let finalizers = object.metadata.finalizers.as_deref().unwrap_or_default();
    Some((&object.spec.availability_zone, finalizers, object.metadata.deletion_timestamp.is_some(), frozen))
}

/// A slot concerns the commitments that it names and named. Of a Reservation that was never readable nobody knows which
/// these are, and each of them may wait for it to be corrected or deleted: it concerns all.
pub fn by_reservation(change: &Change<Reservation>, commitments: &Store<CommittedResource>) -> BTreeSet<ObjectKey> {
    if change.old.is_none() && change.new.is_none() {
        return commitments.all().into_iter().map(|entry| entry.key).collect();
    }
    let slots = [&change.old, &change.new].into_iter().flatten();
    let data = slots.filter_map(|object| object.spec.committed_resource_reservation.as_ref());
    let uuids: BTreeSet<_> = data.filter_map(|data| data.commitment_uuid.as_deref()).collect();
    uuids.into_iter().flat_map(|uuid| with_uuid(uuid, commitments)).collect()
}

/// New flavor groups concern every commitment.
pub fn by_knowledge(_: &Change<Knowledge>, commitments: &Store<CommittedResource>) -> BTreeSet<ObjectKey> {
    commitments.all().into_iter().map(|entry| entry.key).collect()
}

/// Commitments wait while a cluster cannot be read completely that holds Reservations or hosts of theirs, or duplicates
/// of them (U47). Which ones may be there nobody knew, so a cluster that is followed again concerns all.
pub fn by_cluster(_: &ClusterName, commitments: &Store<CommittedResource>) -> BTreeSet<ObjectKey> {
    commitments.all().into_iter().map(|entry| entry.key).collect()
}

fn with_uuid(uuid: &str, commitments: &Store<CommittedResource>) -> Vec<ObjectKey> {
    commitments.select(&COMMITMENT_BY_UUID, uuid).into_iter().map(|entry| entry.key).collect()
}
