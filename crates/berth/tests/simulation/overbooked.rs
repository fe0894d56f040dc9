//! At rest no empty slot stays on a host that holds more than it has: what is too much there are VMs, and slots with
//! VMs. And nobody keeps room any more for a VM that is on its way.

use std::sync::Arc;

use berth_core::ClusterName;
use berth_crds::{CommittedResource, Hypervisor, Reservation, ReservationType};
use berth_laws::{Law, Outside, Snapshot, always};

use crate::nova::{People, everything};

/// The slots that should have left, and the reservations that should have ended.
pub fn unresolved(people: &People) -> Vec<String> {
    let reservations = everything::<Reservation>(people);
    let all = (everything::<CommittedResource>(people), everything::<Hypervisor>(people));
    let snapshot = Snapshot::of(all.0, reservations.clone(), all.1);
    let broken = always(&snapshot, &Outside::default()).into_iter();
    let overbooked: Vec<_> = broken.filter(|one| one.law == Law::HostOverbooked).collect();
    let stays = |(_, slot): &&(ClusterName, Arc<Reservation>)| {
        let target = slot.spec.target_host.as_deref();
        is_empty(slot) && overbooked.iter().any(|one| Some(&*one.object.name) == target)
    };
    let empty = reservations.iter().filter(stays).map(|(_, slot)| said(slot, "is empty on an over-booked host"));
    let flying = reservations.iter().filter(|(_, one)| one.spec.type_ == ReservationType::InFlightReservation);
    empty.chain(flying.map(|(_, one)| said(one, "is still in flight"))).collect()
}

fn is_empty(slot: &Reservation) -> bool {
    let data = slot.spec.committed_resource_reservation.as_ref();
    data.is_some_and(|data| data.allocations.is_empty()) && slot.metadata.deletion_timestamp.is_none()
}

fn said(object: &Reservation, what: &str) -> String {
    format!("{} {what}: {:?}", object.metadata.name.as_deref().unwrap_or_default(), object.spec.target_host)
}
