//! Promises are checked as if all of them came true at once.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod world;

use berth_core::ClusterName;
use berth_crds::testing;
use berth_invariants::testing::{Promise, Promises, overpromised};
use berth_invariants::{ExternalChanges, Invariant, Key};

use world::{UUID, World, expect, host, instance, slot, sound};

/// A host with free capacity for four slots, of which two are taken.
fn half_full() -> World {
    let mut world = sound();
    world.hosts[0].1 = host("node1", 4);
    world
}

fn key(name: &str) -> Key {
    Key::new(ClusterName::home(), name)
}

fn to_come(number: u64, gib: u64) -> Promise {
    let (host, size) = ("node1".to_owned(), testing::size(&format!("{gib}Gi"), &(gib / 16).to_string()));
    Promise::Slot { key: key(&format!("commitment-well-kept-{number}")), host, size, vms: [].into() }
}

fn vm(gib: u64, slot: Option<&str>) -> Promise {
    let (host, size) = ("node1".to_owned(), testing::size(&format!("{gib}Gi"), &(gib / 16).to_string()));
    Promise::Vm { id: "vm-1".to_owned(), host, size, slot: slot.map(key) }
}

fn violations(world: &World, promises: &Promises) -> Vec<String> {
    let found = overpromised(&world.snapshot(), &ExternalChanges::default(), promises);
    assert!(found.iter().all(|one| one.invariant == Invariant::HostOverbooked), "{found:?}");
    found.into_iter().map(|one| one.text).collect()
}

fn fits(world: &World, given: Vec<Promise>) -> bool {
    violations(world, &Promises { given, ..Promises::default() }).is_empty()
}

#[test]
fn slots_that_are_to_come_share_what_is_left() {
    assert!(fits(&half_full(), vec![to_come(2, 480), to_come(3, 480)]));
    let third = Promises { given: (2..5).map(|number| to_come(number, 480)).collect(), ..Promises::default() };
    let text = violations(&half_full(), &third);
    assert!(text.len() == 1 && text[0].contains("491520 MiB of memory too much"), "{text:?}");
    assert!(fits(&half_full(), vec![]), "nothing was promised");
}

#[test]
fn a_slot_that_is_there_already_counts_once_and_never_less_than_it_is() {
    assert!(fits(&sound(), vec![to_come(0, 480), to_come(1, 240)]));
    assert!(!fits(&sound(), vec![to_come(1, 960)]), "the slot grows");
    assert!(!fits(&sound(), vec![to_come(1, 240), to_come(2, 240)]));
    let mut elsewhere = half_full();
    elsewhere.slots.push(("home".into(), slot(UUID, 2, "node2")));
    assert!(fits(&elsewhere, vec![to_come(2, 240), to_come(3, 720)]), "on its current host it has another size");
}

#[test]
fn what_goes_or_becomes_smaller_before_leaves_its_capacity() {
    let given = vec![to_come(2, 480)];
    let promises = Promises { given, ..Promises::default() };
    assert_eq!(violations(&sound(), &promises).len(), 1);
    let released = Promises { released: vec![key("commitment-well-kept-0")], ..promises.clone() };
    assert_eq!(violations(&sound(), &released), [""; 0]);
    let half = |number: u64| (key(&format!("commitment-well-kept-{number}")), testing::size("240Gi", "15"));
    let shrunk = Promises { shrunk: vec![half(0), half(1)], ..promises.clone() };
    assert_eq!(violations(&sound(), &shrunk), [""; 0]);
    let of_unknown_host =
        Promises { released: vec![key("nobody")], shrunk: vec![(key("no-one"), testing::size("0", "0"))], ..promises };
    assert_eq!(violations(&sound(), &of_unknown_host).len(), 1);
}

#[test]
fn a_vm_on_its_way_counts_beside_slots_or_in_its_own() {
    assert!(fits(&half_full(), vec![vm(960, None)]));
    assert!(!fits(&half_full(), vec![vm(961, None)]));
    assert!(fits(&sound(), vec![vm(480, Some("commitment-well-kept-0"))]));
    assert!(!fits(&sound(), vec![vm(481, Some("commitment-well-kept-0"))]), "the VM is larger than its slot");
    assert!(!fits(&sound(), vec![vm(480, Some("another"))]));
}

#[test]
fn a_vm_that_has_arrived_is_not_counted_again() {
    let mut world = sound();
    expect(&mut world.slots[0].1, "vm-1", 480);
    let status = world.hosts[0].1.status.as_mut().unwrap();
    status.instances = vec![instance("vm-1")];
    status.allocation = testing::size("480Gi", "30");
    assert!(fits(&world, vec![vm(480, Some("commitment-well-kept-0"))]));
}

#[test]
fn what_others_took_does_not_count_against_promises() {
    let (world, given) = (half_full(), vec![to_come(2, 480), to_come(3, 480)]);
    let mut outside = ExternalChanges::late();
    let mut snapshot = world.snapshot();
    outside.learn(&snapshot, &snapshot.everything());
    outside.heard();
    let touched = snapshot.hypervisor(&key("node1"), Some(&std::sync::Arc::new(host("node1", 3))));
    outside.learn(&snapshot, &touched);
    let promises = Promises { given, ..Promises::default() };
    assert_eq!(overpromised(&snapshot, &outside, &promises), [], "the operator has not seen it yet");
    outside.heard();
    assert_eq!(overpromised(&snapshot, &outside, &promises).len(), 1);
}
