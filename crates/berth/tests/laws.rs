//! The checker of the stories finds what it is there for: each law is broken once, in a world that is otherwise sound.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod support;

use berth_crds::{
    Allocation, Condition, Reservation, Time,
    committed_resource::CommittedResourceStatus,
    conditions::{self, Status},
    hypervisor::Instance,
    labels, testing,
};
use jiff::Timestamp;
use support::{
    laws::{broken_always, broken_at_rest},
    objects::{host, patient},
    seen::Seen,
};

fn condition(status: Status, reason: &str) -> Condition {
    conditions::ready_condition(status, reason, "", Some(1), Timestamp::UNIX_EPOCH)
}

/// An accepted commitment with two slots on a host that is full with them.
fn sound() -> Seen {
    let mut commitment = patient("law-abiding", 2);
    commitment.metadata.generation = Some(1);
    commitment.metadata.finalizers = Some(vec![labels::RELEASE_SLOTS.to_owned()]);
    commitment.status = Some(CommittedResourceStatus {
        accepted_spec: Some(commitment.spec.clone()),
        accepted_at: Some(Time(Timestamp::UNIX_EPOCH)),
        conditions: vec![condition(Status::True, "Accepted")],
        status_summary: Some("Accepted · 0 VMs · no expiry".to_owned()),
        ..CommittedResourceStatus::default()
    });
    let reservations = [0, 1].map(|number| {
        let mut slot = testing::slot("law-abiding", number);
        slot.spec.target_host = Some("node1".to_owned());
        let status = slot.status.get_or_insert_default();
        status.host = Some("node1".to_owned());
        status.conditions = vec![condition(Status::True, "ReservationActive")];
        slot
    });
    let hosts = vec![host("node1", 2)];
    Seen { commitments: vec![commitment], reservations: reservations.into(), hosts, ..Seen::default() }
}

/// Breaks something in a sound world; the complaints.
fn complaints(break_it: impl FnOnce(&mut Seen)) -> String {
    let mut world = sound();
    break_it(&mut world);
    broken_at_rest(&world).join("\n")
}

fn says(break_it: impl FnOnce(&mut Seen), words: &str) {
    let said = complaints(break_it);
    assert!(said.contains(words), "{words:?} is not in {said:?}");
}

#[test]
fn a_sound_world_is_lawful() {
    assert_eq!(complaints(|_| ()), "");
}

#[test]
fn each_law_is_noticed_when_it_is_broken() {
    says(|world| world.hosts[0] = host("node1", 1), "node1 is over-booked");
    says(|world| drop(world.commitments.pop()), "belongs to 0 served commitments");
    says(|world| world.commitments[0].metadata.finalizers = None, "its commitment has no finalizer");
    says(|world| drop(world.reservations.pop()), "its slots hold 491520 MiB, not 983040 MiB");
    says(|world| world.reservations[0].metadata.labels = None, "its label is None");
    says(|world| world.reservations[0].metadata.annotations = None, "is not marked as ours");
    says(|world| world.reservations[0].spec.availability_zone = None, "its zone is None");
    says(|world| world.reservations[0].spec.target_host = Some("node2".to_owned()), "in force on Some(\"node1\")");
    says(|world| world.reservations[0].status.as_mut().unwrap().conditions.clear(), "is not Ready");
    says(|world| world.commitments[0].metadata.generation = Some(2), "is about generation Some(1)");
    says(|world| world.commitments[0].spec.domain_id.push('x'), "the accepted spec is not its spec");
    says(|world| world.commitments[0].status = None, "nothing is said about it");
    says(|world| world.hosts[0].metadata.labels = None, "its host is in zone None");
}

/// A VM of so many GiB that a slot expects.
fn expect(slot: &mut Reservation, vm: &str, gib: u64) {
    let resources = testing::size(&format!("{gib}Gi"), &(gib / 16).to_string());
    let allocation = Allocation { creation_timestamp: Time(Timestamp::UNIX_EPOCH), resources };
    let data = slot.spec.committed_resource_reservation.as_mut().unwrap();
    data.allocations.insert(vm.to_owned(), allocation);
}

#[test]
fn a_vm_in_its_slot_is_counted_once() {
    let mut world = sound();
    expect(&mut world.reservations[0], "vm-1", 160);
    assert_eq!(broken_always(&world), [""; 0], "it has not arrived: the slot holds its room");
    let status = world.hosts[0].status.as_mut().unwrap();
    status.allocation = testing::size("160Gi", "10");
    assert_eq!(broken_always(&world).len(), 2, "somebody else uses memory and cores");
    let status = world.hosts[0].status.as_mut().unwrap();
    status.instances = vec![Instance { id: "vm-1".to_owned(), name: "vm-1".to_owned(), active: true }];
    assert_eq!(broken_always(&world), [""; 0], "it is the VM of the slot (U35)");
    expect(&mut world.reservations[1], "vm-1", 160);
    assert_eq!(broken_always(&world), [""; 0], "a VM counts in one slot only, the other one holds its full size");
}
