//! At rest no empty slot stays on an over-booked host: the excess consists of VMs and of slots with VMs. And no
//! reservation is left for a VM that is being moved.

use std::sync::Arc;

use berth_core::ClusterName;
use berth_crds::{CommittedResource, Hypervisor, Reservation, ReservationType};
use berth_invariants::{ExternalChanges, Invariant, Snapshot, always};

use crate::nova::{People, everything};

/// The slots that should have left, and the reservations that should have ended.
pub fn unresolved(people: &People) -> Vec<String> {
    let reservations = everything::<Reservation>(people);
    let all = (everything::<CommittedResource>(people), everything::<Hypervisor>(people));
    let snapshot = Snapshot::of(all.0, reservations.clone(), all.1);
    let violations = always(&snapshot, &ExternalChanges::default()).into_iter();
    let overbooked: Vec<_> = violations.filter(|one| one.invariant == Invariant::HostOverbooked).collect();
    let stays = |(_, slot): &&(ClusterName, Arc<Reservation>)| {
        let target = slot.spec.target_host.as_deref();
        is_empty(slot) && overbooked.iter().any(|one| Some(&*one.object.name) == target)
    };
    let empty = reservations.iter().filter(stays).map(|(_, slot)| reported(slot, "is empty on an over-booked host"));
    let flying = reservations.iter().filter(|(_, one)| one.spec.type_ == ReservationType::InFlightReservation);
    empty.chain(flying.map(|(_, one)| reported(one, "is still in flight"))).collect()
}

fn is_empty(slot: &Reservation) -> bool {
    let data = slot.spec.committed_resource_reservation.as_ref();
    data.is_some_and(|data| data.allocations.is_empty()) && slot.metadata.deletion_timestamp.is_none()
}

fn reported(object: &Reservation, what: &str) -> String {
    format!("{} {what}: {:?}", object.metadata.name.as_deref().unwrap_or_default(), object.spec.target_host)
}
