//! Reads the commitment of a slot from its object.

use berth_cluster::Store;
use berth_cluster::indexes::COMMITMENT_BY_UUID;
use berth_crds::{CommittedResource, Reservation, ReservationType, labels};
use kube::ResourceExt;

pub(super) fn is_slot(object: &Reservation) -> bool {
    object.spec.type_ == ReservationType::CommittedResourceReservation
}

pub(super) fn is_marked(object: &Reservation) -> bool {
    object.annotations().contains_key(labels::COMMITMENT_UID)
}

/// No commitment has its UUID. The owner of a slot without a UUID is unknown.
pub(super) fn is_orphan(object: &Reservation, commitments: &Store<CommittedResource>) -> bool {
    let uuid = uuid(object);
    !uuid.is_empty() && commitments.select(&COMMITMENT_BY_UUID, uuid).is_empty()
}

pub(super) fn uuid(object: &Reservation) -> &str {
    let data = object.spec.committed_resource_reservation.as_ref();
    data.and_then(|data| data.commitment_uuid.as_deref()).unwrap_or_default()
}

pub(super) fn zone(object: &Reservation) -> &str {
    object.spec.availability_zone.as_deref().unwrap_or_default()
}
