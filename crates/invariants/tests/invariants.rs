//! Every invariant finds its violation: each is violated once, by one small change of a world without violations.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod world;

use std::collections::BTreeSet;

use berth_crds::conditions::Status;
use berth_crds::{CommitmentState, Reservation, ReservationSpec, ReservationType, Time, labels, resources, testing};
use berth_invariants::{ExternalChanges, Invariant, always, at_rest};
use jiff::Timestamp;

use world::{UUID, World, capacity, condition, cores, expect, host, instance, slot, sound, uses};

/// Applies a change to a world without violations; returns the violations.
fn violations(break_it: impl FnOnce(&mut World)) -> Vec<(Invariant, String)> {
    let mut world = sound();
    break_it(&mut world);
    let snapshot = world.snapshot();
    let all = always(&snapshot, &ExternalChanges::default()).into_iter().chain(at_rest(&snapshot));
    all.map(|violation| (violation.invariant, violation.to_string())).collect()
}

/// Checks that one change violates this invariant, and its message.
fn report(invariant: Invariant, words: &str, break_it: impl FnOnce(&mut World)) -> Invariant {
    let all = violations(break_it);
    assert!(
        all.iter().any(|(violations, text)| *violations == invariant && text.contains(words)),
        "{invariant} {words:?}: {all:#?}"
    );
    invariant
}

fn fine(break_it: impl FnOnce(&mut World)) {
    assert_eq!(violations(break_it), []);
}

#[test]
fn a_sound_world_is_sound() {
    fine(|_| ());
}

fn second_commitment(world: &mut World, cluster: &str, name: &str) {
    let mut other = world.commitments[0].1.clone();
    other.metadata.name = Some(name.to_owned());
    other.metadata.uid = Some(format!("{cluster}-{name}"));
    world.commitments.push((cluster.into(), other));
}

fn is_reported_duplicate(world: &mut World, at: usize) {
    let status = world.commitments[at].1.status.as_mut().unwrap();
    status.conditions = vec![condition(Status::False, "DuplicateUUID", "commitment is not served")];
    status.status_summary = Some("DuplicateUUID".to_owned());
}

fn reports_only(world: &mut World, reason: &str, message: &str) {
    let status = world.commitments[0].1.status.as_mut().unwrap();
    status.conditions = vec![condition(Status::False, reason, message)];
    status.status_summary = Some(reason.to_owned());
}

/// The commitment moves to another zone in another cluster, and has new slots there, without hosts.
fn moved(world: &mut World) {
    for (cluster, former) in &mut world.slots {
        *cluster = "far".into();
        former.spec.availability_zone = Some("where-it-was".to_owned());
    }
    for number in 2..4 {
        let mut new = slot(UUID, number, "node1");
        (new.spec.target_host, new.status) = (None, None);
        world.slots.push(("home".into(), new));
    }
    world.hosts.clear();
}

fn confirm(slot: &mut Reservation, vm: &str, on: &str) {
    let status = slot.status.get_or_insert_default().committed_resource_reservation.get_or_insert_default();
    status.allocations.insert(vm.to_owned(), on.to_owned());
}

fn lists(world: &mut World, vm: &str) {
    world.hosts[0].1.status.as_mut().unwrap().instances.push(instance(vm));
}

/// `changes.rs` shows that they are noticed.
const ABOUT_CHANGES: [Invariant; 4] =
    [Invariant::ZoneChangedTwice, Invariant::ChangeHalfDone, Invariant::CapacityLost, Invariant::InfoVersion];

#[test]
fn each_invariant_of_every_write_is_noticed_when_it_is_broken() {
    let noticed = [
        report(Invariant::HostOverbooked, "home/node1: is over-booked: 491520 MiB of memory too much", |world| {
            world.hosts[0].1 = host("node1", 1);
        }),
        report(Invariant::HostOverbooked, "30 of cpu too much: it has 30 of cpu, VMs use 0 of cpu", |world| {
            world.hosts[0].1 = host("node1", 1);
        }),
        report(Invariant::SlotOrphaned, "belongs to 0 served commitments", |world| drop(world.commitments.pop())),
        report(Invariant::FinalizerMissing, "has 2 slots and no finalizer", |world| {
            world.commitments[0].1.metadata.finalizers = None;
        }),
        report(Invariant::SlotInWrongZone, "its host node1 is in zone None", |world| {
            world.hosts[0].1.metadata.labels = None;
        }),
        report(Invariant::SlotName, "its name is not commitment-well-kept-<number>", |world| {
            world.slots[0].1.metadata.name = Some("commitment-well-kept-01".to_owned());
        }),
        report(Invariant::SlotName, "its name is not", |world| {
            world.slots[0].1.metadata.name = Some("commitment-other-0".to_owned());
        }),
        report(Invariant::VmInTwoSlots, "VM vm-1 on host node1 is confirmed in home/commitment-well-kept-0", |world| {
            world.slots.iter_mut().for_each(|(_, slot)| confirm(slot, "vm-1", "node1"));
        }),
        report(
            Invariant::CoresOversold,
            "home/capacity: 1 cores too many are accepted: it has 99, commitments hold 100",
            |world| {
                with_cores(world, 99, &[60, 40]);
            },
        ),
    ];
    let of_every_write = Invariant::ALL.iter().copied().filter(|invariant| *invariant <= Invariant::CoresOversold);
    let others = of_every_write.filter(|invariant| !ABOUT_CHANGES.contains(invariant));
    assert_eq!(BTreeSet::from(noticed), others.collect());
}

/// This many cores, and commitments that were accepted with these amounts.
fn with_cores(world: &mut World, total: u64, accepted: &[u64]) {
    world.capacities = vec![("home".into(), capacity("capacity", total))];
    let commitments =
        accepted.iter().enumerate().map(|(n, count)| ("home".into(), cores(&format!("cores-{n}"), *count)));
    world.commitments.extend(commitments);
}

/// The commitment is not accepted, and its condition says that there are not enough cores.
fn waits_for_cores(world: &mut World, at: usize) {
    let status = world.commitments[at].1.status.as_mut().unwrap();
    let message = "insufficient CPU cores: 1 available, 40 requested";
    status.conditions = vec![condition(Status::False, "Reserving", message)];
    (status.accepted_spec, status.status_summary) = (None, Some("Reserving".to_owned()));
}

fn invariants_about_vms_that_are_noticed() -> [Invariant; 4] {
    [
        report(Invariant::VmInTwoCommitments, "its VM vm-1 counts in home/another as well", |world| {
            second_commitment(world, "home", "another");
            world.commitments.iter_mut().for_each(|(_, one)| uses(one, &["vm-1"], "1Mi", "1", 0));
        }),
        report(Invariant::VmUnconfirmed, "on its host node1, and does not confirm them: vm-1", |world| {
            expect(&mut world.slots[0].1, "vm-1", 160);
            lists(world, "vm-1");
        }),
        report(Invariant::VmConfirmedUntrue, "not on its host node1: vm-1 on node1", |world| {
            confirm(&mut world.slots[0].1, "vm-1", "node1");
        }),
        report(Invariant::VmConfirmedUntrue, "not on its host node1: vm-1 on node2", |world| {
            expect(&mut world.slots[0].1, "vm-1", 160);
            confirm(&mut world.slots[0].1, "vm-1", "node2");
            lists(world, "vm-1");
        }),
    ]
}

fn invariants_about_slots_that_are_noticed() -> Vec<Invariant> {
    let first = |world: &mut World, edit: fn(&mut Reservation)| edit(&mut world.slots[0].1);
    vec![
        report(Invariant::SlotIdentity, "its label is \"\"", |world| first(world, |slot| slot.metadata.labels = None)),
        report(Invariant::SlotIdentity, "its zone is \"\"", |world| {
            first(world, |slot| slot.spec.availability_zone = None);
        }),
        report(Invariant::SlotIdentity, "its end is", |world| {
            first(world, |slot| slot.spec.end_time = Some(Time(Timestamp::UNIX_EPOCH)));
        }),
        report(Invariant::SlotUnmarked, "is not marked as ours", |world| {
            first(world, |slot| slot.metadata.annotations = None);
        }),
        report(Invariant::AcceptedSpec, "the accepted spec is not its spec", |world| {
            world.commitments[0].1.spec.domain_id.push('x');
        }),
        report(Invariant::AcceptedState, "Accepted in the state planned", |world| {
            world.commitments[0].1.spec.state = CommitmentState::Planned;
        }),
        report(Invariant::SlotNotInForce, "target is Some(\"node2\"), it is in force on Some(\"node1\")", |world| {
            first(world, |slot| slot.spec.target_host = Some("node2".to_owned()));
        }),
        report(Invariant::SlotNotInForce, "it is not Ready", |world| {
            first(world, |slot| slot.status.as_mut().unwrap().conditions.clear());
        }),
        report(Invariant::SlotReadyUntrue, "is Ready with target None", |world| {
            first(world, |slot| slot.spec.target_host = None);
        }),
        report(Invariant::CoresIdle, "commitment-cores-1: it waits for 40 cores, and 40 are left", |world| {
            with_cores(world, 100, &[60, 40]);
            waits_for_cores(world, 2);
        }),
    ]
}

#[test]
fn each_invariant_of_rest_is_noticed_when_it_is_broken() {
    let noticed = [
        report(Invariant::SlotNumberTwice, "is there also as far/commitment-well-kept-0", |world| {
            let (_, slot) = world.slots[0].clone();
            world.slots.push(("far".into(), slot));
        }),
        report(Invariant::ServedTwice, "is served, and so are 1 other objects", |world| {
            second_commitment(world, "far", "commitment-well-kept");
        }),
        report(Invariant::DuplicateUntrue, "does not say DuplicateUUID, and 1 other", |world| {
            second_commitment(world, "home", "another");
        }),
        report(Invariant::DuplicateUntrue, "says DuplicateUUID, and 0 other", |world| is_reported_duplicate(world, 0)),
        report(Invariant::CommitmentSilent, "nothing is said about it", |world| world.commitments[0].1.status = None),
        report(Invariant::CommitmentLeftOver, "still there, with 2 slots that were not deleted", |world| {
            world.commitments[0].1.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
        }),
        report(Invariant::ConditionOutdated, "about generation Some(1), it has Some(2)", |world| {
            world.commitments[0].1.metadata.generation = Some(2);
        }),
        report(Invariant::ReadyUntrue, "its Ready is False with the reason Accepted", |world| {
            world.commitments[0].1.status.as_mut().unwrap().conditions = vec![condition(Status::False, "Accepted", "")];
        }),
        report(Invariant::SummaryUntrue, "does not begin with Accepted", |world| {
            world.commitments[0].1.status.as_mut().unwrap().status_summary = None;
        }),
        report(Invariant::SlotSum, "its 1 slots hold 491520 MiB, not 983040 MiB", |world| drop(world.slots.pop())),
        report(Invariant::SlotSum, "its 4 slots hold 1966080 MiB, not 983040 MiB", moved),
        report(Invariant::SlotSum, "its 2 slots hold 983040 MiB, not 0 MiB", |world| {
            reports_only(world, "expired", "");
        }),
    ];
    let of_rest = Invariant::ALL
        .iter()
        .copied()
        .filter(|invariant| *invariant > Invariant::CoresOversold && *invariant < Invariant::SlotOnGoneHost);
    let noticed: BTreeSet<_> = noticed
        .into_iter()
        .chain(invariants_about_vms_that_are_noticed())
        .chain(invariants_about_slots_that_are_noticed())
        .collect();
    assert_eq!(noticed, of_rest.collect());
}

#[test]
fn the_names_of_the_invariants_are_labels_and_different() {
    let names: BTreeSet<_> = Invariant::ALL.iter().map(|invariant| invariant.as_str()).collect();
    assert_eq!(names.len(), Invariant::ALL.len());
    assert!(names.iter().all(|name| name.chars().all(|c| c.is_ascii_lowercase() || c == '_')));
    assert!(Invariant::ALL.is_sorted(), "the invariants that are checked at every write come first");
}

#[test]
fn what_seems_violated_and_is_not() {
    fine(|world| {
        // Its slots and its host are in another cluster: only names count.
        world.slots.iter_mut().for_each(|(cluster, _)| *cluster = "far".into());
    });
    fine(|world| {
        second_commitment(world, "home", "another");
        is_reported_duplicate(world, 1);
    });
    fine(|world| {
        second_commitment(world, "far", "commitment-well-kept");
        is_reported_duplicate(world, 1);
    });
    fine(|world| {
        // It keeps its old slots until there is free capacity in the new zone.
        moved(world);
        reports_only(world, "Reserving", "insufficient capacity: 0/2 reservation slots could be placed");
    });
    fine(|world| {
        // Only one slot is left, which a finalizer of another client keeps.
        world.commitments[0].1.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
        world.slots.pop();
        world.slots[0].1.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
        world.slots[0].1.spec.availability_zone = None;
    });
    fine(|world| {
        reports_only(world, "Reserving", "flavor knowledge not ready: it does not answer");
        world.slots.pop();
    });
    fine(|world| {
        reports_only(world, "Rejected", "insufficient capacity");
        world.commitments[0].1.spec.amount = "4800Gi".into();
    });
    fine(|world| {
        // Two hosts of one name: it is ambiguous which one is full.
        world.hosts.push(("far".into(), host("node1", 1)));
        world.hosts[0].1 = host("node1", 1);
    });
    fine(|world| {
        // A user has assigned it to this commitment.
        world.slots[0].1.metadata.name = Some("commitment-other-0".to_owned());
        world.slots[0].1.metadata.annotations = Some([(labels::COMMITMENT_UID.to_owned(), "other".to_owned())].into());
    });
    fine(|world| {
        // A VM that is there is confirmed, a future one is not.
        let slot = &mut world.slots[0].1;
        expect(slot, "vm-1", 160);
        expect(slot, "vm-2", 160);
        confirm(slot, "vm-1", "node1");
        lists(world, "vm-1");
    });
    fine(|world| {
        // The first of two slots confirms it.
        world.slots.iter_mut().for_each(|(_, slot)| expect(slot, "vm-1", 160));
        confirm(&mut world.slots[0].1, "vm-1", "node1");
        lists(world, "vm-1");
    });
    fine(|world| {
        world.commitments[0].1.metadata.annotations = Some([(labels::PAUSED.to_owned(), String::new())].into());
        confirm(&mut world.slots[0].1, "vm-1", "node1");
    });
    fine(|world| world.hosts[0].1.status = None);
    fine(|world| drop(world.hosts.pop()));
    fine(|world| {
        let paused = [(labels::PAUSED.to_owned(), String::new())];
        world.commitments[0].1.metadata.annotations = Some(paused.into());
        world.slots.pop();
    });
}

#[test]
fn an_orphan_of_old_data_is_checked_at_rest() {
    let mut world = sound();
    world.commitments.clear();
    world.slots.truncate(1);
    world.slots[0].1.metadata.annotations = None;
    world.slots[0].1.metadata.name = Some("of-old".to_owned());
    let snapshot = world.snapshot();
    assert_eq!(always(&snapshot, &ExternalChanges::default()), []);
    let invariants: Vec<_> = at_rest(&snapshot).into_iter().map(|violation| violation.invariant).collect();
    assert_eq!(invariants, [Invariant::SlotOrphaned, Invariant::SlotUnmarked]);
}

#[test]
fn a_vm_in_its_slot_is_counted_once() {
    let mut world = sound();
    let short = |world: &World| {
        let violations = always(&world.snapshot(), &ExternalChanges::default());
        violations.into_iter().map(|one| one.text).collect::<Vec<_>>()
    };
    expect(&mut world.slots[0].1, "vm-1", 160);
    assert_eq!(short(&world), [""; 0], "the VM has not arrived: the slot holds its capacity");
    world.hosts[0].1.status.as_mut().unwrap().allocation = testing::size("160Gi", "10");
    let text = short(&world);
    assert!(text[0].contains("163840 MiB of memory") && text[0].contains("10 of cpu"), "another VM uses it: {text:?}");
    world.hosts[0].1.status.as_mut().unwrap().instances = vec![instance("vm-1")];
    assert_eq!(short(&world), [""; 0], "the VM belongs to the slot");
    expect(&mut world.slots[1].1, "vm-1", 160);
    assert_eq!(short(&world), [""; 0], "the VM counts in one slot, the other one holds its full size");
}

#[test]
fn what_blocks_where() {
    let overbooked = |edit: &dyn Fn(&mut World)| {
        let mut world = sound();
        edit(&mut world);
        let violations = always(&world.snapshot(), &ExternalChanges::default());
        violations.into_iter().filter(|one| one.invariant == Invariant::HostOverbooked).count()
    };
    let add = |world: &mut World, edit: &dyn Fn(&mut Reservation)| {
        let mut block = Reservation::new("block", ReservationSpec::default());
        block.spec.type_ = ReservationType::FailoverReservation;
        block.spec.resources = testing::size("1Mi", "0");
        edit(&mut block);
        world.slots.push(("home".into(), block));
    };
    let target = |block: &mut Reservation| block.spec.target_host = Some("node1".to_owned());
    let in_force = |block: &mut Reservation| block.status.get_or_insert_default().host = Some("node1".to_owned());
    assert_eq!(overbooked(&|world| add(world, &target)), 1, "blocks of other types count");
    assert_eq!(overbooked(&|world| add(world, &in_force)), 0, "without a target it is on no host");
    let moving = |block: &mut Reservation| {
        in_force(block);
        block.spec.target_host = Some("node2".to_owned());
    };
    assert_eq!(overbooked(&|world| add(world, &moving)), 1, "while it moves it counts on both hosts");
    let larger = |world: &mut World| expect(&mut world.slots[0].1, "vm-1", 481);
    assert_eq!(overbooked(&larger), 1, "a VM that is larger than its slot needs its own size");
    // The host has two slots; one of them is created around a VM of this many GiB, and a VM beside slots fills the host.
    let around_vm = |gib: u64| {
        move |world: &mut World| {
            world.slots.pop();
            world.slots[0].1.spec.resources = testing::size(&format!("{gib}Gi"), &(gib / 16).to_string());
            expect(&mut world.slots[0].1, "vm-1", gib.min(480));
            let status = world.hosts[0].1.status.as_mut().unwrap();
            status.instances = vec![instance("vm-1"), instance("vm-2")];
            status.allocation = testing::size("960Gi", "60");
        }
    };
    assert_eq!(overbooked(&around_vm(480)), 0, "the VM is in the slot");
    assert_eq!(overbooked(&around_vm(240)), 0, "the slot has a part of the VM");
    assert_eq!(overbooked(&around_vm(496)), 1, "the slot needs more than its VM occupies");
    let physical = |world: &mut World| {
        let status = world.hosts[0].1.status.as_mut().unwrap();
        status.capacity = std::mem::take(&mut status.effective_capacity);
    };
    assert_eq!(overbooked(&physical), 0, "physical capacity counts where there is no effective one");
    let fraction = |world: &mut World| {
        let status = world.hosts[0].1.status.as_mut().unwrap();
        status.effective_capacity.insert(resources::CPU.to_owned(), "59.9".into());
    };
    assert_eq!(overbooked(&fraction), 1, "capacity is rounded down");
}
