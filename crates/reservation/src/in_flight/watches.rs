//! Which in-flight reservations are requested when something changes: pure functions of the old object, the new object and the
//! indexes. Reservations of other types are never requested.

use std::collections::BTreeSet;

use berth_cluster::indexes::RESERVATION_BY_FLIGHT;
use berth_cluster::{Change, ObjectKey, Store, Watches};
use berth_crds::{Hypervisor, Reservation, ReservationType, labels};

use crate::watches::vms;

pub(super) fn declare(
    watches: &mut Watches<ObjectKey>,
    reservations: &Store<Reservation>,
    hypervisors: &Store<Hypervisor>,
) {
    watches.changes(reservations, map_reservation);
    let store = reservations.clone();
    watches.changes(hypervisors, move |change| map_hypervisor(change, &store));
    let store = reservations.clone();
    watches.resynced(hypervisors, move |_| all(&store));
    let store = reservations.clone();
    watches.resynced(reservations, move |_| all(&store));
}

/// An in-flight reservation concerns itself.
fn map_reservation(change: &Change<Reservation>) -> Option<ObjectKey> {
    let newest = change.new.as_ref().or(change.old.as_ref())?;
    is_in_flight(newest).then(|| change.key.clone())
}

/// A host concerns those of the VMs that came to it or went from it.
fn map_hypervisor(change: &Change<Hypervisor>, reservations: &Store<Reservation>) -> BTreeSet<ObjectKey> {
    let (before, after) = (vms(change.old.as_deref()), vms(change.new.as_deref()));
    let moved = before.symmetric_difference(&after);
    let flights = moved.flat_map(|vm| reservations.select(&RESERVATION_BY_FLIGHT, vm));
    flights.filter(|entry| is_in_flight(&entry.object)).map(|entry| entry.key).collect()
}

/// All of them: what could not be seen or deleted can be now.
pub(super) fn all(reservations: &Store<Reservation>) -> BTreeSet<ObjectKey> {
    let all = reservations.all().into_iter();
    all.filter(|entry| is_in_flight(&entry.object)).map(|entry| entry.key).collect()
}

/// True for the objects that this controller is responsible for.
pub(super) fn is_in_flight(object: &Reservation) -> bool {
    object.spec.type_ == ReservationType::InFlightReservation
        && object.spec.scheduling_domain.as_deref() == Some(labels::NOVA)
}
