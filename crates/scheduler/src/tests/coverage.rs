//! How commitments cover the VMs of their project.

use super::answers::call;
use super::*;
use crate::{Call, Candidates, Commitments, Coverage, Guest, Options};

/// A VM of 16 GiB of project p1 and group g1.
fn vm(instance: &str) -> Request {
    let request = request(1, 16 * 1024, &[("quota:hw_version", "g1")]);
    Request { instance: instance.into(), project: "p1".into(), ..request }
}

/// Only a third host would fit the request.
fn homeless() -> Request {
    Request { force_hosts: vec!["nowhere".into()], ..vm("v") }
}

fn covered(scheduler: &Watched, request: &Request, commitments: Commitments) -> Option<Coverage> {
    let guest = Guest { group: "g1".into(), size: request.size, commitments };
    scheduler.answer(&Call { guest: Some(&guest), ..call(request) }).unwrap().coverage
}

fn cloud(hosts: &[Host], slots: &[Reservation]) -> Watched {
    let scheduler = built_in(hosts);
    for slot in slots {
        let _ = scheduler.reservation_changed(&slot.key.clone(), Some(slot.clone()));
    }
    scheduler
}

/// Hosts a and b, and on b a slot of 32 GiB, of which VMs use 8.
fn with_a_slot_on_b() -> Watched {
    let hosts = ["a", "b"].map(|name| host(name, gib(32, 256)));
    cloud(&hosts, &[slot("s", "b", gib(4, 32), &[("old", gib(1, 8))])])
}

#[test]
fn a_placed_vm_gets_a_guest_in_its_slot() {
    let scheduler = with_a_slot_on_b();
    let only = |host: &str, name: &str| Request { force_hosts: vec![host.into()], ..vm(name) };
    assert_eq!(covered(&scheduler, &vm("v1"), Commitments::Left), Some(Coverage::SlotUsed), "some host has a slot");
    assert_eq!(covered(&scheduler, &only("a", "v2"), Commitments::Left), Some(Coverage::SlotMissed));
    assert_eq!(covered(&scheduler, &only("b", "v3"), Commitments::UsedUp), Some(Coverage::NoCommitment));
    assert_eq!(covered(&scheduler, &only("b", "v4"), Commitments::None), Some(Coverage::NoCommitment));
}

#[test]
fn a_slot_that_was_booked_full_is_missed() {
    let scheduler = cloud(&[host("h", gib(32, 256))], &[slot("s", "h", gib(4, 16), &[])]);
    assert_eq!(covered(&scheduler, &vm("v1"), Commitments::Left), Some(Coverage::SlotUsed));
    assert_eq!(covered(&scheduler, &vm("v2"), Commitments::Left), Some(Coverage::SlotMissed));
}

#[test]
fn without_a_host() {
    for (free, expected) in [(40, Coverage::SlotExhausted), (60, Coverage::SlotBlocked)] {
        let host = Host { allocation: gib(1, 100 - free).into(), ..host("a", gib(64, 100)) };
        let other = Reservation { project: "p2".into(), ..slot("o", "a", gib(2, 16), &[]) };
        let scheduler = cloud(&[host], &[slot("s", "a", gib(4, 32), &[("old", gib(2, 20))]), other]);
        assert_eq!(covered(&scheduler, &homeless(), Commitments::Left), Some(expected), "{free}");
    }
}

#[test]
fn without_a_host_and_without_a_commitment() {
    let scheduler = with_a_slot_on_b();
    let without = Coverage::HostlessWithoutCommitment;
    assert_eq!(covered(&scheduler, &homeless(), Commitments::None), Some(without));
    assert_eq!((without.as_str(), Coverage::NoCommitment.as_str()), ("no_cr", "no_cr"));
    assert_eq!(covered(&scheduler, &homeless(), Commitments::UsedUp), Some(Coverage::Exhausted));
}

#[test]
fn only_hosts_of_the_request_count_unless_preselection_is_ignored() {
    let scheduler = with_a_slot_on_b();
    let listed = |host: &str| Request { candidates: Candidates::Listed(vec![(host.into(), 0.0)]), ..homeless() };
    let limited = |host: &str| Request { pipeline: "kvm-acknowledge-failover-reservation".to_owned(), ..listed(host) };
    assert_eq!(covered(&scheduler, &limited("a"), Commitments::Left), Some(Coverage::SlotExhausted));
    assert_eq!(covered(&scheduler, &limited("b"), Commitments::Left), Some(Coverage::SlotBlocked));
    assert_eq!(
        covered(&scheduler, &listed("a"), Commitments::Left),
        Some(Coverage::SlotBlocked),
        "the pipeline takes all hosts"
    );
}

#[test]
fn trials_and_what_is_not_tracked_are_no_placements_but_may_find_no_host() {
    let scheduler = with_a_slot_on_b();
    let untracked = Options { skip_committed_resource_tracking: true, ..Options::default() };
    for options in [Options::read_only(), untracked] {
        let placed = Request { options: options.clone(), ..vm("v") };
        assert_eq!(covered(&scheduler, &placed, Commitments::Left), None);
        let homeless = Request { options, ..homeless() };
        assert_eq!(covered(&scheduler, &homeless, Commitments::Left), Some(Coverage::SlotBlocked));
    }
}
