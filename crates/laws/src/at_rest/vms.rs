//! Whether the status of a slot in force tells the truth about its VMs. Where it is not in force, its commitment is frozen or
//! its host is not known, nothing is judged.

use std::collections::BTreeSet;

use berth_crds::Reservation;

use crate::{
    Key, Law, Snapshot, Violation,
    frozen::is_annotated,
    slots::slot_is_ready,
    snapshot::{commitment_of, confirmed, in_force_on},
};

/// The VMs that are there and that the status does not name.
pub(super) fn unconfirmed(snapshot: &Snapshot, key: &Key, slot: &Reservation) -> Option<Violation> {
    let (host, listed) = surroundings(snapshot, slot)?;
    let confirmed = confirmed(slot);
    let missing: Vec<_> = expected(slot)
        .filter(|vm| listed.contains(vm) && !confirmed.contains(&((*vm).to_owned(), host.to_owned())))
        .filter(|vm| first(snapshot, host, vm) == Some(key))
        .collect();
    let text = || format!("expects VMs that are on its host {host}, and does not confirm them: {}", missing.join(", "));
    (!missing.is_empty()).then(|| Violation::new(Law::VmUnconfirmed, key, text()))
}

/// The VMs that the status names although they are not expected, or not there.
pub(super) fn confirmed_untruly(snapshot: &Snapshot, key: &Key, slot: &Reservation) -> Option<Violation> {
    let (host, listed) = surroundings(snapshot, slot)?;
    let untrue = |(vm, on): &(String, String)| {
        let is_expected = expected(slot).any(|expected| expected == vm);
        !is_expected || on != host || !listed.contains(vm.as_str())
    };
    let untrue: Vec<_> = confirmed(slot).into_iter().filter(untrue).map(|(vm, on)| format!("{vm} on {on}")).collect();
    let text =
        || format!("confirms VMs that it does not expect or that are not on its host {host}: {}", untrue.join(", "));
    (!untrue.is_empty()).then(|| Violation::new(Law::VmConfirmedUntrue, key, text()))
}

/// The host of a slot that is in force, and the VMs that it lists.
fn surroundings<'a>(snapshot: &'a Snapshot, slot: &'a Reservation) -> Option<(&'a str, BTreeSet<&'a str>)> {
    let frozen = snapshot.commitments_of(commitment_of(slot)).any(|(_, commitment)| is_annotated(commitment));
    let host = in_force_at(slot).filter(|_| !frozen)?;
    let (_, object) = snapshot.host(host)?;
    let listed = object.status.iter().flat_map(|status| &status.instances).map(|vm| vm.id.as_str()).collect();
    Some((host, listed))
}

fn in_force_at(slot: &Reservation) -> Option<&str> {
    in_force_on(slot).filter(|host| slot_is_ready(slot) && slot.spec.target_host.as_deref() == Some(host))
}

fn expected(slot: &Reservation) -> impl Iterator<Item = &str> {
    slot.spec.committed_resource_reservation.iter().flat_map(|data| data.allocations.keys()).map(String::as_str)
}

/// The slot in which a VM of a host counts.
fn first<'a>(snapshot: &'a Snapshot, host: &'a str, vm: &'a str) -> Option<&'a Key> {
    let mut here = snapshot.reservations_on(host).filter_map(|(key, _)| Some((key, snapshot.slot(key)?)));
    here.find(|(_, slot)| in_force_at(slot) == Some(host) && expected(slot).any(|expected| expected == vm))
        .map(|(key, _)| key)
}
