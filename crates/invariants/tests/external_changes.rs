//! Violations that hosts, users and other programs cause are excused, and violations of the operator are not.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod world;

use std::sync::Arc;

use berth_core::ClusterName;
use berth_crds::{Hypervisor, Reservation, testing};
use berth_invariants::{ExternalChanges, Invariant, Key, Snapshot, Touched, Violation, always, always_touched};

use world::{UUID, expect, host, instance, slot, sound};

/// A snapshot that applies a log, and the tracker of excuses.
struct Log {
    snapshot: Snapshot,
    outside: ExternalChanges,
}

impl Log {
    fn begin() -> Self {
        let snapshot = sound().snapshot();
        let mut outside = ExternalChanges::default();
        outside.learn(&snapshot, &snapshot.everything());
        Self { snapshot, outside }
    }

    /// Two slots are on a host with free capacity for this many.
    fn begin_late(free: u64) -> Self {
        let mut log = Self { outside: ExternalChanges::late(), ..Self::begin() };
        let _ = log.host(host("node1", free));
        log.outside.learn(&log.snapshot, &log.snapshot.everything());
        log.outside.heard();
        log
    }

    fn checked(&mut self, touched: &Touched) -> Vec<Violation> {
        self.outside.learn(&self.snapshot, touched);
        let violations = always(&self.snapshot, &self.outside);
        assert_eq!(always_touched(&self.snapshot, &self.outside, touched), violations);
        violations
    }

    fn host(&mut self, object: Hypervisor) -> Vec<Violation> {
        let touched = self.snapshot.hypervisor(&key(object.metadata.name.as_deref()), Some(&Arc::new(object)));
        self.checked(&touched)
    }

    fn slot(&mut self, object: Reservation) -> Vec<Violation> {
        let touched = self.snapshot.reservation(&key(object.metadata.name.as_deref()), Some(&Arc::new(object)));
        self.checked(&touched)
    }
}

fn key(name: Option<&str>) -> Key {
    Key::new(ClusterName::home(), name.unwrap())
}

fn small(memory: &str) -> Hypervisor {
    testing::hypervisor("node1", memory, "60")
}

#[test]
fn a_host_that_shrinks_is_excused_and_one_slot_more_is_not() {
    let mut log = Log::begin();
    assert_eq!(log.host(small("900Gi")), []);
    let violations = log.slot(slot(UUID, 2, "node1"));
    assert_eq!(violations.len(), 1);
    assert!(violations[0].text.contains("552960 MiB of memory too much"), "{}", violations[0].text);
    assert!(violations[0].text.contains("others over-booked it by 61440 MiB"), "{}", violations[0].text);
}

#[test]
fn capacity_that_became_free_again_may_not_be_taken_again() {
    let mut log = Log::begin();
    assert_eq!(log.host(small("480Gi")), []);
    let mut moved = slot(UUID, 0, "node2");
    assert_eq!(log.slot(moved.clone()), [], "still ready on node1, only under the name of another slot");
    moved.spec.target_host = Some("node1".to_owned());
    assert_eq!(log.slot(moved)[0].invariant, Invariant::HostOverbooked);
}

#[test]
fn vms_that_come_from_elsewhere_are_excused() {
    let mut log = Log::begin();
    let mut used = host("node1", 2);
    used.status.as_mut().unwrap().allocation = testing::size("64Gi", "4");
    assert_eq!(log.host(used), []);
}

#[test]
fn a_vm_that_arrives_in_its_slot_excuses_nothing() {
    let mut log = Log::begin();
    let mut expecting = slot(UUID, 0, "node1");
    expect(&mut expecting, "vm-1", 160);
    assert_eq!(log.slot(expecting), []);
    let mut used = host("node1", 2);
    let status = used.status.as_mut().unwrap();
    status.allocation = testing::size("160Gi", "10");
    status.instances = vec![instance("vm-1")];
    assert_eq!(log.host(used), []);
    let violations = log.slot(slot(UUID, 2, "node1"));
    assert!(violations[0].text.contains("others over-booked it by 0 MiB of memory"), "{}", violations[0].text);
}

#[test]
fn a_host_that_changes_its_zone_keeps_its_slots_and_gets_no_new_ones() {
    let mut log = Log::begin();
    let mut elsewhere = host("node1", 3);
    elsewhere.metadata.labels = None;
    assert_eq!(log.host(elsewhere), []);
    let invariants: Vec<_> =
        log.slot(slot(UUID, 2, "node1")).into_iter().map(|one| (one.invariant, one.object)).collect();
    assert_eq!(invariants, [(Invariant::SlotInWrongZone, key(Some("commitment-well-kept-2")))]);
}

#[test]
fn what_a_hand_has_done_is_excused_until_it_is_repaired() {
    let mut log = Log::begin();
    let mut by_hand = slot(UUID, 2, "node2");
    by_hand.spec.target_host = Some("node1".to_owned());
    by_hand.spec.availability_zone = Some("elsewhere".to_owned());
    let name = key(by_hand.metadata.name.as_deref());
    let touched = log.snapshot.reservation(&name, Some(&Arc::new(by_hand.clone())));
    log.outside.excuse(&log.snapshot, &touched);
    assert_eq!(always(&log.snapshot, &log.outside), []);
    assert_eq!(log.slot(slot(UUID, 2, "node2")), [], "repaired");
    let again: Vec<_> = log.slot(by_hand).into_iter().map(|one| one.invariant).collect();
    assert_eq!(again, [Invariant::HostOverbooked, Invariant::SlotInWrongZone], "no user has done this");
}

#[test]
fn an_operator_that_learns_late_may_give_out_once_what_others_took() {
    let mut log = Log::begin_late(4);
    assert_eq!(log.host(host("node1", 2)), [], "there was capacity for two more");
    assert_eq!(log.slot(slot(UUID, 2, "node1")), [], "the operator has not seen that yet");
    log.outside.heard();
    assert_eq!(log.slot(slot(UUID, 3, "node1"))[0].invariant, Invariant::HostOverbooked);
}

#[test]
fn what_a_hand_puts_on_a_host_is_heard_of_late_as_well() {
    let mut log = Log::begin_late(3);
    let mut by_hand = slot(UUID, 2, "node2");
    by_hand.spec.target_host = Some("node1".to_owned());
    let touched = log.snapshot.reservation(&key(by_hand.metadata.name.as_deref()), Some(&Arc::new(by_hand)));
    log.outside.excuse(&log.snapshot, &touched);
    assert_eq!(always(&log.snapshot, &log.outside), []);
    assert_eq!(log.slot(slot(UUID, 3, "node1")), []);
    assert_eq!(log.slot(slot(UUID, 4, "node1"))[0].invariant, Invariant::HostOverbooked, "once only");
}

#[test]
fn a_finalizer_that_a_hand_removed_is_excused_until_it_is_back() {
    let mut log = Log::begin();
    let with = world::commitment(UUID, 2);
    let mut without = with.clone();
    without.metadata.finalizers = None;
    let name = key(with.metadata.name.as_deref());
    let touched = log.snapshot.commitment(&name, Some(&Arc::new(without.clone())));
    log.outside.excuse(&log.snapshot, &touched);
    assert_eq!(always(&log.snapshot, &log.outside), []);
    let touched = log.snapshot.commitment(&name, Some(&Arc::new(with)));
    assert_eq!(log.checked(&touched), []);
    let touched = log.snapshot.commitment(&name, Some(&Arc::new(without)));
    assert_eq!(log.checked(&touched)[0].invariant, Invariant::FinalizerMissing);
}

#[test]
fn what_was_so_when_a_host_is_seen_first_is_excused() {
    let mut world = sound();
    world.hosts[0].1 = small("480Gi");
    let snapshot = world.snapshot();
    assert_eq!(always(&snapshot, &ExternalChanges::default()).len(), 1, "the operator has not seen anything new");
    let mut outside = ExternalChanges::default();
    outside.learn(&snapshot, &snapshot.everything());
    assert_eq!(always(&snapshot, &outside), []);
}
