//! A change of one slot costs as much as that slot: hosts are computed again only where slots depend on each other.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::time::Duration;

use berth_capacity_view::{Assumed, Claim, Overlay, View};
use berth_core::host::Host;
use berth_core::reservation::{Reservation, ReservationKind};
use berth_core::{Bytes, ClusterName, Cores, HostName, Resources, SlotKey};

const SLOTS: i64 = 50;

fn size(slots: i64) -> Resources {
    Resources::new(Bytes::new(4 * slots), Cores::new(2 * slots))
}

fn key(number: i64) -> SlotKey {
    SlotKey::new(ClusterName::home(), format!("slot-{number:03}"))
}

/// A host with enough free capacity, and these VMs.
fn host(vms: &[&str]) -> Host {
    Host {
        name: "h".into(),
        capacity: size(2 * SLOTS).into(),
        instances: vms.iter().map(|vm| ((*vm).into(), true)).collect(),
        ..Host::default()
    }
}

/// A slot that was sent to the host, ready there or not yet, with these VMs in its allocations.
fn slot(number: i64, in_force: bool, vms: &[&str]) -> Reservation {
    Reservation {
        key: key(number),
        kind: ReservationKind::Committed(vms.iter().map(|vm| ((*vm).into(), size(1))).collect::<BTreeMap<_, _>>()),
        project: "p".into(),
        group: "g".into(),
        zone: "az".into(),
        size: size(1),
        target_host: Some("h".into()),
        status_host: in_force.then(|| "h".into()),
        ready: in_force,
    }
}

/// The first steps of every slot: a decision, the write of it, and the end of the apply.
fn begins(view: &mut View, number: i64) {
    view.assume(Assumed { key: key(number), host: "h".into(), size: size(1), vms: [].into(), doubt: false });
    view.set_reservation(slot(number, false, &[]));
    view.forget(&key(number));
    view.set_reservation(slot(number, true, &[]));
}

/// A host with many slots; it was computed once, when it appeared.
fn full() -> View {
    let mut view = View::default();
    view.set_host(host(&[]));
    (0..SLOTS).for_each(|number| begins(&mut view, number));
    view
}

fn is_right(view: &View, slots: i64) -> bool {
    view.drift() == Vec::<HostName>::new() && view.free(&"h".into()).unwrap().known() == Some(size(2 * SLOTS - slots))
}

#[test]
fn slots_that_come_and_go_make_no_host_anew() {
    let mut view = full();
    assert!(is_right(&view, SLOTS));
    (0..SLOTS).for_each(|number| drop(view.set_reservation(slot(number, true, &["vm"]))));
    (1..SLOTS).for_each(|number| drop(view.remove_reservation(&key(number))));
    assert!(is_right(&view, 1));
    assert_eq!(view.renewed(), 1, "once when it appeared");
}

#[test]
fn a_decision_that_releases_slots_makes_no_host_anew() {
    let view = full();
    let mut overlay = view.overlay();
    overlay.release(&key(0));
    overlay.release(&key(1));
    overlay.shrink(&key(2), Resources::ZERO);
    let free = |overlay: &Overlay<'_>| overlay.free(&"h".into()).unwrap().known();
    assert_eq!(free(&overlay), Some(size(SLOTS + 3)));
    overlay.restore(&key(0));
    assert_eq!(free(&overlay), Some(size(SLOTS + 2)));
    assert_eq!(overlay.renewed(), 0);
    assert!(is_right(&view, SLOTS), "the view has not changed");
}

#[test]
fn a_host_with_claims_is_made_anew_each_time_and_synced_again_without_them() {
    let mut view = full();
    let (instance, size, expires) = ("vm".into(), size(1), Duration::from_secs(10));
    view.claim(Claim { instance, host: "h".into(), size, expires, ..Claim::default() });
    view.set_reservation(slot(0, false, &[]));
    assert_eq!(view.renewed(), 3, "when it appeared, for the claim, and for the slot beside it");
    view.unclaim(&"vm".into());
    (1..SLOTS).for_each(|number| drop(view.set_reservation(slot(number, false, &[]))));
    assert_eq!(view.renewed(), 4, "once more for the end of the claim");
    assert!(is_right(&view, SLOTS));
}

#[test]
fn only_the_slot_of_a_listed_vm_makes_its_host_anew() {
    let mut view = full();
    view.set_host(host(&["vm"]));
    view.set_reservation(slot(0, true, &["vm"]));
    assert_eq!(view.renewed(), 3, "when it appeared, when it listed the VM, and for the slot that expects the VM");
    (1..SLOTS).for_each(|number| drop(view.set_reservation(slot(number, false, &[]))));
    assert_eq!(view.renewed(), 3);
    assert_eq!(view.drift(), Vec::<HostName>::new());
}
