//! What each event does to the capacity of a host, by example: a host of 64 cores and 512 GiB, and slots of 16 cores
//! and 128 GiB.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

use std::time::Duration;

use berth_capacity_view::{Assumed, Claim, Question, View};
use berth_core::host::{Amounts, Host};
use berth_core::reservation::{Reservation, ReservationKind};
use berth_core::{Bytes, ClusterName, Cores, GroupName, ProjectId, Resources, SlotKey, VmId};

fn size(cpu: i64, gib: i64) -> Resources {
    Resources::new(Bytes::new(gib << 30), Cores::new(cpu))
}

fn key(name: &str) -> SlotKey {
    SlotKey::new(ClusterName::home(), name)
}

fn host(name: &str, vms: &[(&str, Resources)]) -> Host {
    Host {
        name: name.into(),
        capacity: size(64, 512).into(),
        allocation: vms.iter().map(|(_, size)| *size).sum::<Resources>().into(),
        instances: vms.iter().map(|(vm, _)| ((*vm).into(), true)).collect(),
        ..Host::default()
    }
}

fn slot(name: &str, on: &str, vms: &[(&str, Resources)]) -> Reservation {
    Reservation {
        key: key(name),
        kind: ReservationKind::Committed(vms.iter().map(|(vm, size)| ((*vm).into(), *size)).collect()),
        project: "p1".into(),
        group: "g1".into(),
        zone: "az".into(),
        size: size(16, 128),
        target_host: Some(on.into()),
        status_host: Some(on.into()),
        ready: true,
    }
}

fn view(hosts: &[Host], slots: &[Reservation]) -> View {
    let mut view = View::default();
    for host in hosts {
        view.set_host(host.clone());
    }
    for slot in slots {
        view.set_reservation(slot.clone());
    }
    assert!(view.drift().is_empty());
    view
}

fn free(view: &View, host: &str) -> (i64, i64) {
    let free = view.free(&host.into()).unwrap().known().unwrap();
    (free.cpu.get(), free.memory.get() >> 30)
}

fn found(view: &View, host: &str, question: &Question<'_>) -> (i64, i64) {
    let overlay = view.overlay();
    let free = overlay.free_capacities(question).at(view.id(&host.into()).unwrap()).unwrap();
    (free.cpu.get(), free.memory.get() >> 30)
}

#[test]
fn a_slot_takes_its_size_whether_or_not_its_vm_has_come() {
    let vm = ("vm", size(8, 64));
    assert_eq!(free(&view(&[host("h", &[])], &[]), "h"), (64, 512));
    assert_eq!(free(&view(&[host("h", &[])], &[slot("s", "h", &[])]), "h"), (48, 384));
    assert_eq!(free(&view(&[host("h", &[])], &[slot("s", "h", &[vm])]), "h"), (48, 384), "the VM is expected");
    assert_eq!(free(&view(&[host("h", &[vm])], &[slot("s", "h", &[vm])]), "h"), (48, 384), "the VM is there");
    assert_eq!(free(&view(&[host("h", &[vm])], &[slot("s", "h", &[])]), "h"), (40, 320), "another VM is there");
}

#[test]
fn a_vm_that_is_larger_than_its_slot_takes_what_it_needs() {
    let large = ("vm", size(24, 128));
    assert_eq!(free(&view(&[host("h", &[])], &[slot("s", "h", &[large])]), "h"), (40, 384), "each resource separately");
    assert_eq!(free(&view(&[host("h", &[large])], &[slot("s", "h", &[large])]), "h"), (40, 384));
}

#[test]
fn a_slot_that_moves_takes_capacity_on_both_hosts_until_it_is_in_force_on_one() {
    let moving = Reservation { target_host: Some("new".into()), ..slot("s", "old", &[]) };
    let mut view = view(&[host("old", &[]), host("new", &[])], std::slice::from_ref(&moving));
    assert_eq!((free(&view, "old"), free(&view, "new")), ((48, 384), (48, 384)));
    let gained = view.set_reservation(slot("s", "new", &[]));
    assert_eq!((free(&view, "old"), free(&view, "new")), ((64, 512), (48, 384)));
    assert_eq!(gained, [view.id(&"old".into()).unwrap()]);
}

#[test]
fn a_slot_without_a_target_takes_nothing() {
    let waiting = Reservation { target_host: None, ..slot("s", "h", &[]) };
    assert_eq!(free(&view(&[host("h", &[])], &[waiting]), "h"), (64, 512));
}

#[test]
fn objects_may_come_in_any_order() {
    let mut view = View::default();
    view.set_reservation(slot("s", "h", &[]));
    assert_eq!(view.free(&"h".into()), None);
    view.set_host(host("h", &[]));
    assert_eq!(free(&view, "h"), (48, 384));
    view.remove_host(&"h".into());
    assert_eq!((view.free(&"h".into()), view.host_count(), view.reservation_count()), (None, 0, 1));
    view.set_host(host("h", &[]));
    assert_eq!(free(&view, "h"), (48, 384), "the slot has stayed");
}

#[test]
fn a_host_that_does_not_say_what_it_has_has_no_capacity() {
    let silent = Host { capacity: Amounts { cpu: None, ..size(64, 512).into() }, ..host("h", &[]) };
    let view = view(&[silent], &[slot("s", "h", &[])]);
    assert_eq!(view.free(&"h".into()), Some(Amounts { memory: Some(size(0, 384).memory), cpu: None }));
    let id = view.id(&"h".into()).unwrap();
    assert_eq!(view.overlay().free_capacities(&Question::default()).at(id), None);
}

#[test]
fn the_owner_finds_its_ready_slots_free_but_for_vms_that_are_still_to_come() {
    let (project, group) = (ProjectId::from("p1"), GroupName::from("g1"));
    let owner = Question { owner: Some((&project, &group)), ..Question::default() };
    let expected = ("vm", size(4, 32));
    let unready = Reservation { ready: false, ..slot("unready", "h", &[]) };
    let view = view(&[host("h", &[])], &[slot("empty", "h", &[]), slot("used", "h", &[expected]), unready]);
    assert_eq!(found(&view, "h", &Question::default()), (16, 128));
    assert_eq!(found(&view, "h", &owner), (44, 352), "the VM and the slot that is not ready still count");
    let vm = VmId::from("vm");
    assert_eq!(found(&view, "h", &Question { vm: Some(&vm), ..owner }), (48, 384), "the request is for the VM itself");
    let other = GroupName::from("g2");
    assert_eq!(found(&view, "h", &Question { owner: Some((&project, &other)), ..Question::default() }), (16, 128));
}

#[test]
fn fail_over_slots_are_free_for_their_vms_in_an_evacuation_alone() {
    let vm = VmId::from("vm");
    let kind = ReservationKind::Failover([vm.clone()].into());
    let view = view(&[host("h", &[])], &[Reservation { kind, ..slot("f", "h", &[]) }]);
    let asked = Question { vm: Some(&vm), ..Question::default() };
    assert_eq!(found(&view, "h", &asked), (48, 384));
    assert_eq!(found(&view, "h", &Question { own_failover: true, ..asked }), (64, 512));
    let unknown_host = VmId::from("unknown-host");
    assert_eq!(found(&view, "h", &Question { own_failover: true, vm: Some(&unknown_host), ..asked }), (48, 384));
    assert_eq!(found(&view, "h", &Question { any_failover: true, ..Question::default() }), (64, 512));
}

#[test]
fn a_probe_of_the_empty_data_centre_counts_reservations_whole_and_no_vms() {
    let vm = ("vm", size(8, 64));
    let landing = Reservation { kind: ReservationKind::InFlight("other".into()), ..slot("i", "h", &[]) };
    let mut view = view(&[host("h", &[vm, ("guest", size(4, 4))])], &[slot("s", "h", &[vm]), landing]);
    view.assume(Assumed { key: key("new"), host: "h".into(), size: size(1, 1), vms: [].into(), doubt: false });
    let empty = Question { assume_empty: true, ..Question::default() };
    assert_eq!(found(&view, "h", &empty), (48, 384));
    assert_eq!(found(&view, "h", &Question { ignore_committed: true, ..empty }), (64, 512));
}

#[test]
fn an_assumed_slot_takes_capacity_until_its_object_shows_it_and_not_twice() {
    let mut view = view(&[host("h", &[]), host("other", &[])], &[]);
    let entry = Assumed { key: key("s"), host: "h".into(), size: size(16, 128), vms: [].into(), doubt: false };
    view.assume(entry.clone());
    assert_eq!(free(&view, "h"), (48, 384));
    view.assume(Assumed { host: "other".into(), ..entry.clone() });
    assert_eq!((free(&view, "h"), free(&view, "other")), ((64, 512), (48, 384)), "one entry for each slot");
    view.assume(entry.clone());
    view.doubt(&entry.key);
    assert!(view.assumed(&entry.key).unwrap().doubt);
    assert!(view.set_reservation(slot("s", "h", &[])).is_empty(), "no host gains capacity");
    assert_eq!(free(&view, "h"), (48, 384));
    assert_eq!((view.assumed(&entry.key), view.placed_by_us(&entry.key)), (None, true));
    assert_eq!(view.remove_reservation(&entry.key), [view.id(&"h".into()).unwrap()]);
    assert_eq!(free(&view, "h"), (64, 512));
}

#[test]
fn a_slot_that_grows_holds_its_new_size_before_it_shows_it() {
    let mut view = view(&[host("h", &[])], &[slot("s", "h", &[])]);
    view.assume(Assumed { key: key("s"), host: "h".into(), size: size(32, 256), vms: [].into(), doubt: false });
    assert_eq!(free(&view, "h"), (32, 256));
    view.forget(&key("s"));
    assert_eq!(free(&view, "h"), (48, 384));
    view.assume(Assumed { key: key("s"), host: "h".into(), size: size(1, 1), vms: [].into(), doubt: false });
    assert_eq!(free(&view, "h"), (48, 384), "a slot releases nothing before it shows the release");
}

#[test]
fn a_vm_that_was_answered_takes_capacity_until_it_shows_up_or_its_time_is_over() {
    let mut view = view(&[host("h", &[])], &[]);
    let claim = |seconds| Claim {
        instance: "vm".into(),
        host: "h".into(),
        size: size(8, 64),
        expires: Duration::from_secs(seconds),
        ..Claim::default()
    };
    view.claim(claim(10));
    assert_eq!(free(&view, "h"), (56, 448));
    assert!(view.expire(Duration::from_secs(9)).is_empty());
    assert_eq!(view.expire(Duration::from_secs(10)).len(), 1);
    assert_eq!(free(&view, "h"), (64, 512));
    view.claim(claim(10));
    view.set_host(host("h", &[("vm", size(8, 64))]));
    assert_eq!((free(&view, "h"), view.all_claims().len()), ((56, 448), 0));
}

#[test]
fn a_decision_sees_its_own_steps_and_others_see_them_when_it_is_committed() {
    let mut view = view(&[host("h", &[])], &[slot("a", "h", &[]), slot("b", "h", &[])]);
    let mut overlay = view.overlay();
    let free_here = |overlay: &berth_capacity_view::Overlay<'_>| overlay.free(&"h".into()).unwrap().known().unwrap();
    overlay.release(&key("a"));
    assert_eq!(free_here(&overlay), size(48, 384));
    overlay.shrink(&key("b"), size(8, 64));
    assert_eq!(free_here(&overlay), size(56, 448));
    overlay.restore(&key("b"));
    overlay.assume(Assumed { key: key("c"), host: "h".into(), size: size(4, 32), vms: [].into(), doubt: false });
    assert_eq!(free_here(&overlay), size(44, 352));
    assert_eq!((overlay.changes_slot(&key("a")), overlay.changes_slot(&key("c"))), (true, false));
    assert_eq!(free(&view, "h"), (32, 256), "the view shows no change");
    let mut overlay = view.overlay();
    overlay.assume(Assumed { key: key("c"), host: "h".into(), size: size(4, 32), vms: [].into(), doubt: false });
    let entries = overlay.into_entries();
    view.commit(entries);
    assert_eq!(free(&view, "h"), (28, 224));
    assert_eq!(view.all_assumed().map(|entry| entry.key.clone()).collect::<Vec<_>>(), [key("c")]);
}
