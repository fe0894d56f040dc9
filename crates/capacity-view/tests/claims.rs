//! Claims of answers to Nova: what they take, for whom they count, and when they end.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::time::Duration;

use berth_capacity_view::{Claim, Question, View};
use berth_core::host::Host;
use berth_core::reservation::{Reservation, ReservationKind};
use berth_core::{Bytes, ClusterName, Cores, GroupName, HostName, ProjectId, Resources, SlotKey, VmId};

fn size(cpu: i64, gib: i64) -> Resources {
    Resources::new(Bytes::new(gib << 30), Cores::new(cpu))
}

fn key(name: &str) -> SlotKey {
    SlotKey::new(ClusterName::home(), name)
}

/// A host of 20/160 with VMs.
fn host(name: &str, vms: &[(&str, Resources)]) -> Host {
    Host {
        name: name.into(),
        capacity: size(20, 160).into(),
        allocation: vms.iter().map(|(_, size)| *size).sum::<Resources>().into(),
        instances: vms.iter().map(|(vm, _)| ((*vm).into(), true)).collect(),
        ..Host::default()
    }
}

fn slot(name: &str, host: &str, size: Resources, vms: &[(&str, Resources)]) -> Reservation {
    Reservation {
        key: key(name),
        kind: ReservationKind::Committed(vms.iter().map(|(vm, size)| ((*vm).into(), *size)).collect()),
        project: "p".into(),
        group: "g".into(),
        zone: "az".into(),
        size,
        target_host: (!host.is_empty()).then(|| host.into()),
        status_host: (!host.is_empty()).then(|| host.into()),
        ready: true,
    }
}

fn claim(instance: &str, host: &str, size: Resources, slot: Option<&str>) -> Claim {
    let (instance, host) = (instance.into(), host.into());
    Claim { instance, host, size, expires: Duration::from_secs(10), slot: slot.map(key), ..Claim::default() }
}

fn view(hosts: &[Host], slots: &[Reservation]) -> View {
    let mut view = View::default();
    for host in hosts {
        view.set_host(host.clone());
    }
    for slot in slots {
        view.set_reservation(slot.clone());
    }
    view
}

fn free(view: &View, host: &str) -> Resources {
    assert!(view.drift().is_empty());
    view.free(&host.into()).unwrap().known().unwrap()
}

/// What a request of the owner of all slots finds on a host.
fn owner_finds(view: &View, host: &str, vm: &str) -> Resources {
    let (project, group, vm) = (ProjectId::from("p"), GroupName::from("g"), VmId::from(vm));
    let overlay = view.overlay();
    let free_capacities =
        overlay.free_capacities(&Question { owner: Some((&project, &group)), vm: Some(&vm), ..Question::default() });
    let id = view.id(&host.into()).unwrap();
    free_capacities.at(id).unwrap()
}

#[test]
fn a_vm_that_goes_into_no_slot_counts_whole_until_it_is_listed() {
    let mut view = view(&[host("h", &[])], &[]);
    view.claim(claim("vm", "h", size(16, 128), None));
    assert_eq!(free(&view, "h"), size(4, 32));
    let change = view.set_host(host("h", &[]));
    assert_eq!((change.gained, free(&view, "h")), (false, size(4, 32)), "a heartbeat without the VM ends nothing");
    let change = view.set_host(host("h", &[("vm", size(16, 128))]));
    assert_eq!((change.gained, free(&view, "h"), view.all_claims().len()), (false, size(4, 32), 0));
}

#[test]
fn a_vm_that_lands_elsewhere_frees_the_promised_host() {
    let mut view = view(&[host("h", &[]), host("other", &[])], &[]);
    view.claim(claim("vm", "h", size(16, 128), None));
    let change = view.set_host(host("other", &[("vm", size(16, 128))]));
    assert_eq!((change.freed, free(&view, "h")), (vec![view.id(&"h".into()).unwrap()], size(20, 160)));
}

#[test]
fn a_migration_keeps_its_capacity_through_heartbeats_of_its_source() {
    let vm = [("vm", size(8, 64))];
    let mut view = view(&[host("source", &vm), host("target", &[])], &[]);
    view.claim(claim("vm", "target", size(8, 64), None));
    view.set_host(host("source", &vm));
    assert_eq!(free(&view, "target"), size(12, 96));
    view.set_host(host("target", &vm));
    assert_eq!((free(&view, "target"), view.all_claims().len()), (size(12, 96), 0));
}

#[test]
fn a_vm_that_stays_on_its_host_counts_twice_until_the_host_is_heard_of() {
    let vm = [("vm", size(8, 64))];
    let mut view = view(&[host("h", &vm)], &[slot("s", "h", size(4, 32), &[])]);
    view.claim(claim("vm", "h", size(8, 64), Some("s")));
    assert_eq!(free(&view, "h"), size(0, 0));
    view.set_host(host("h", &vm));
    assert_eq!(free(&view, "h"), size(8, 64));
}

#[test]
fn of_a_booked_vm_only_what_the_slot_does_not_cover_counts() {
    let slot_with = |vms: &[(&str, Resources)]| slot("s", "h", size(8, 64), vms);
    let a = ("a", size(4, 32));
    let mut view = view(&[host("h", &[])], &[slot_with(&[a])]);
    assert_eq!(free(&view, "h"), size(12, 96));
    view.claim(claim("vm", "h", size(6, 24), Some("s")));
    assert_eq!(free(&view, "h"), size(10, 96), "6 of 4 cores, 24 of 32 GiB that remain");
    view.set_reservation(slot_with(&[a, ("vm", size(6, 24))]));
    assert_eq!(
        (free(&view, "h"), view.all_claims().len()),
        (size(10, 96), 1),
        "the slot's own block covers the VM now"
    );
    view.set_host(host("h", &[("vm", size(6, 24))]));
    assert_eq!((free(&view, "h"), view.all_claims().len()), (size(10, 96), 0));
}

#[test]
fn two_vms_in_one_slot_are_not_covered_twice() {
    let mut view = view(&[host("h", &[])], &[slot("s", "h", size(8, 64), &[])]);
    view.claim(claim("a", "h", size(6, 48), Some("s")));
    view.claim(claim("b", "h", size(6, 48), Some("s")));
    assert_eq!(free(&view, "h"), size(8, 64), "12 less 4 that the slot does not cover");
}

#[test]
fn what_a_slot_covers_stays_taken_for_its_owner() {
    let mut view = view(&[host("h", &[])], &[slot("s", "h", size(8, 64), &[])]);
    assert_eq!(owner_finds(&view, "h", "b"), size(20, 160));
    view.claim(claim("a", "h", size(10, 60), Some("s")));
    assert_eq!(owner_finds(&view, "h", "b"), size(10, 100), "another VM does not get the capacity of the first");
    assert_eq!(owner_finds(&view, "h", "a"), size(20, 160), "a VM's own claim does not block it");
    view.set_reservation(slot("s", "h", size(8, 64), &[("a", size(10, 60))]));
    assert_eq!(owner_finds(&view, "h", "b"), size(10, 100), "the same once the slot shows the VM");
}

#[test]
fn a_slot_that_goes_takes_its_cover_with_it() {
    for gone in [None, Some(slot("s", "other", size(8, 64), &[])), Some(slot("s", "h", size(2, 16), &[]))] {
        let mut view = view(&[host("h", &[])], &[slot("s", "h", size(8, 64), &[])]);
        view.claim(claim("vm", "h", size(8, 64), Some("s")));
        assert_eq!(free(&view, "h"), size(12, 96));
        match gone {
            None => view.remove_reservation(&key("s")),
            Some(moved) => view.set_reservation(moved),
        };
        assert_eq!(free(&view, "h"), size(12, 96), "the VM arrives all the same");
    }
}

#[test]
fn what_is_not_booked_after_all_counts_besides_the_slot() {
    let mut view = view(&[host("h", &[])], &[slot("s", "h", size(8, 64), &[])]);
    view.claim(claim("vm", "h", size(8, 64), Some("s")));
    view.unbook(&"vm".into());
    assert_eq!(free(&view, "h"), size(4, 32));
}

#[test]
fn a_slot_by_its_name_is_held_until_it_shows_a_host() {
    let mut view = view(&[host("h", &[])], &[slot("s", "", size(8, 64), &[])]);
    view.claim(claim("s", "h", size(8, 64), None));
    view.set_reservation(Reservation { ready: false, ..slot("s", "", size(8, 64), &[]) });
    assert_eq!(free(&view, "h"), size(12, 96), "a slot without a host shows nothing");
    view.set_reservation(slot("s", "h", size(8, 64), &[]));
    assert_eq!((free(&view, "h"), view.all_claims().len()), (size(12, 96), 0));
    assert!(view.placed_by_us(&key("s")));
    view.claim(claim("t", "h", size(1, 1), None));
    view.set_reservation(slot("t", "elsewhere", size(1, 1), &[]));
    assert_eq!((free(&view, "h"), view.placed_by_us(&key("t"))), (size(12, 96), false));
}

#[test]
fn a_slot_that_moves_keeps_its_capacity_through_writes_about_its_former_host() {
    let mut view = view(&[host("old", &[]), host("new", &[])], &[slot("s", "old", size(8, 64), &[])]);
    view.claim(claim("s", "new", size(8, 64), None));
    view.set_reservation(Reservation { ready: false, ..slot("s", "old", size(8, 64), &[]) });
    assert_eq!(free(&view, "new"), size(12, 96));
    view.set_reservation(slot("s", "new", size(8, 64), &[]));
    assert_eq!((free(&view, "new"), free(&view, "old")), (size(12, 96), size(20, 160)));
}

#[test]
fn a_claim_of_a_slot_on_its_own_host_is_for_the_whole_slot() {
    let mut view = view(&[host("h", &[])], &[slot("s", "h", size(8, 64), &[])]);
    view.claim(claim("s", "h", size(10, 64), None));
    assert_eq!(free(&view, "h"), size(10, 96));
}

#[test]
fn time_ends_claims_and_a_repetition_replaces_them() {
    let mut view = view(&[host("h", &[]), host("i", &[])], &[]);
    let ids: BTreeMap<&str, _> = ["h", "i"].map(|name| (name, view.id(&HostName::from(name)).unwrap())).into();
    view.claim(claim("vm", "h", size(8, 64), None));
    assert_eq!(view.claim(claim("vm", "i", size(4, 32), None)), [ids["h"]]);
    assert_eq!((free(&view, "h"), free(&view, "i")), (size(20, 160), size(16, 128)));
    assert_eq!(view.expire(Duration::from_secs(9)), []);
    assert_eq!(view.expire(Duration::from_secs(10)), [ids["i"]]);
    assert_eq!(free(&view, "i"), size(20, 160));
}

#[test]
fn questions_that_ignore_what_is_in_flight_do_not_see_claims() {
    let mut view = view(&[host("h", &[])], &[slot("s", "h", size(8, 64), &[])]);
    view.claim(claim("vm", "h", size(10, 80), Some("s")));
    let sees = |question: Question<'_>| {
        let id = view.id(&"h".into()).unwrap();
        view.overlay().free_capacities(&question).at(id).unwrap()
    };
    assert_eq!(sees(Question::default()), size(10, 80));
    assert_eq!(sees(Question { ignore_in_flight: true, ..Question::default() }), size(12, 96));
    assert_eq!(sees(Question { assume_empty: true, ..Question::default() }), size(12, 96));
    let (project, group) = (ProjectId::from("p"), GroupName::from("g"));
    let owner = Some((&project, &group));
    assert_eq!(sees(Question { owner, ignore_in_flight: true, ..Question::default() }), size(20, 160));
}
