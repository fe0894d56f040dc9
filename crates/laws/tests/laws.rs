//! The laws find what they are there for: each is broken once, by one small change of a world that is otherwise sound.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod world;

use std::collections::BTreeSet;

use berth_crds::conditions::Status;
use berth_crds::{CommitmentState, Reservation, ReservationSpec, ReservationType, Time, labels, resources, testing};
use berth_laws::{Law, Outside, always, at_rest};
use jiff::Timestamp;

use world::{UUID, World, capacity, condition, cores, expect, host, instance, slot, sound};

/// Breaks something in a sound world; what is wrong then.
fn broken(break_it: impl FnOnce(&mut World)) -> Vec<(Law, String)> {
    let mut world = sound();
    break_it(&mut world);
    let snapshot = world.snapshot();
    let all = always(&snapshot, &Outside::default()).into_iter().chain(at_rest(&snapshot));
    all.map(|violation| (violation.law, violation.to_string())).collect()
}

/// One change breaks this law and says so.
fn says(law: Law, words: &str, break_it: impl FnOnce(&mut World)) -> Law {
    let all = broken(break_it);
    assert!(all.iter().any(|(broken, text)| *broken == law && text.contains(words)), "{law} {words:?}: {all:#?}");
    law
}

/// One change breaks nothing.
fn fine(break_it: impl FnOnce(&mut World)) {
    assert_eq!(broken(break_it), []);
}

#[test]
fn a_sound_world_is_lawful() {
    fine(|_| ());
}

fn second_commitment(world: &mut World, cluster: &str, name: &str) {
    let mut other = world.commitments[0].1.clone();
    other.metadata.name = Some(name.to_owned());
    other.metadata.uid = Some(format!("{cluster}-{name}"));
    world.commitments.push((cluster.into(), other));
}

fn says_duplicate(world: &mut World, at: usize) {
    let status = world.commitments[at].1.status.as_mut().unwrap();
    status.conditions = vec![condition(Status::False, "DuplicateUUID", "commitment is not served")];
    status.status_summary = Some("DuplicateUUID".to_owned());
}

fn says_only(world: &mut World, reason: &str, message: &str) {
    let status = world.commitments[0].1.status.as_mut().unwrap();
    status.conditions = vec![condition(Status::False, reason, message)];
    status.status_summary = Some(reason.to_owned());
}

/// Its zone is another one than before, in another cluster, and it has new slots there, without hosts.
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

#[test]
fn each_law_of_every_write_is_noticed_when_it_is_broken() {
    let noticed = [
        says(Law::HostOverbooked, "home/node1: is over-booked: 491520 MiB of memory too much", |world| {
            world.hosts[0].1 = host("node1", 1);
        }),
        says(Law::HostOverbooked, "30 of cpu too much: it has 30 of cpu, VMs use 0 of cpu", |world| {
            world.hosts[0].1 = host("node1", 1);
        }),
        says(Law::SlotOrphaned, "belongs to 0 served commitments", |world| drop(world.commitments.pop())),
        says(Law::FinalizerMissing, "has 2 slots and no finalizer", |world| {
            world.commitments[0].1.metadata.finalizers = None;
        }),
        says(Law::SlotInWrongZone, "its host node1 is in zone None", |world| world.hosts[0].1.metadata.labels = None),
        says(Law::SlotName, "its name is not commitment-law-abiding-<number>", |world| {
            world.slots[0].1.metadata.name = Some("commitment-law-abiding-01".to_owned());
        }),
        says(Law::SlotName, "its name is not", |world| {
            world.slots[0].1.metadata.name = Some("commitment-other-0".to_owned());
        }),
        says(Law::VmInTwoSlots, "VM vm-1 on host node1 is confirmed in home/commitment-law-abiding-0", |world| {
            world.slots.iter_mut().for_each(|(_, slot)| confirm(slot, "vm-1", "node1"));
        }),
        says(
            Law::CoresOversold,
            "home/capacity: 1 cores too many are accepted: it has 99, commitments hold 100",
            |world| {
                with_cores(world, 99, &[60, 40]);
            },
        ),
    ];
    let of_every_write = Law::ALL.iter().copied().filter(|law| *law <= Law::CoresOversold);
    assert_eq!(BTreeSet::from(noticed), of_every_write.collect());
}

/// So many cores, and commitments that were accepted with so many.
fn with_cores(world: &mut World, total: u64, accepted: &[u64]) {
    world.capacities = vec![("home".into(), capacity("capacity", total))];
    let commitments =
        accepted.iter().enumerate().map(|(n, count)| ("home".into(), cores(&format!("cores-{n}"), *count)));
    world.commitments.extend(commitments);
}

/// It was not accepted and says that there are not enough.
fn waits_for_cores(world: &mut World, at: usize) {
    let status = world.commitments[at].1.status.as_mut().unwrap();
    let message = "insufficient CPU cores: 1 available, 40 requested";
    status.conditions = vec![condition(Status::False, "Reserving", message)];
    (status.accepted_spec, status.status_summary) = (None, Some("Reserving".to_owned()));
}

fn laws_about_vms_that_are_noticed() -> [Law; 3] {
    [
        says(Law::VmUnconfirmed, "on its host node1, and does not confirm them: vm-1", |world| {
            expect(&mut world.slots[0].1, "vm-1", 160);
            lists(world, "vm-1");
        }),
        says(Law::VmConfirmedUntrue, "not on its host node1: vm-1 on node1", |world| {
            confirm(&mut world.slots[0].1, "vm-1", "node1");
        }),
        says(Law::VmConfirmedUntrue, "not on its host node1: vm-1 on node2", |world| {
            expect(&mut world.slots[0].1, "vm-1", 160);
            confirm(&mut world.slots[0].1, "vm-1", "node2");
            lists(world, "vm-1");
        }),
    ]
}

#[test]
fn each_law_of_rest_is_noticed_when_it_is_broken() {
    let first = |world: &mut World, edit: fn(&mut Reservation)| edit(&mut world.slots[0].1);
    let noticed = [
        says(Law::SlotNumberTwice, "is there also as far/commitment-law-abiding-0", |world| {
            let (_, slot) = world.slots[0].clone();
            world.slots.push(("far".into(), slot));
        }),
        says(Law::ServedTwice, "is served, and so are 1 other objects", |world| {
            second_commitment(world, "far", "commitment-law-abiding");
        }),
        says(Law::DuplicateUntrue, "does not say DuplicateUUID, and 1 other", |world| {
            second_commitment(world, "home", "another");
        }),
        says(Law::DuplicateUntrue, "says DuplicateUUID, and 0 other", |world| says_duplicate(world, 0)),
        says(Law::CommitmentSilent, "nothing is said about it", |world| world.commitments[0].1.status = None),
        says(Law::CommitmentLeftOver, "still there, with 2 slots that were not deleted", |world| {
            world.commitments[0].1.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
        }),
        says(Law::ConditionOutdated, "about generation Some(1), it has Some(2)", |world| {
            world.commitments[0].1.metadata.generation = Some(2);
        }),
        says(Law::ReadyUntrue, "its Ready is False with the reason Accepted", |world| {
            world.commitments[0].1.status.as_mut().unwrap().conditions = vec![condition(Status::False, "Accepted", "")];
        }),
        says(Law::SummaryUntrue, "does not begin with Accepted", |world| {
            world.commitments[0].1.status.as_mut().unwrap().status_summary = None;
        }),
        says(Law::SlotSum, "its 1 slots hold 491520 MiB, not 983040 MiB", |world| drop(world.slots.pop())),
        says(Law::SlotSum, "its 4 slots hold 1966080 MiB, not 983040 MiB", moved),
        says(Law::SlotSum, "its 2 slots hold 983040 MiB, not 0 MiB", |world| says_only(world, "expired", "")),
        says(Law::SlotIdentity, "its label is \"\"", |world| first(world, |slot| slot.metadata.labels = None)),
        says(Law::SlotIdentity, "its zone is \"\"", |world| first(world, |slot| slot.spec.availability_zone = None)),
        says(Law::SlotIdentity, "its end is", |world| {
            first(world, |slot| slot.spec.end_time = Some(Time(Timestamp::UNIX_EPOCH)));
        }),
        says(Law::SlotUnmarked, "is not marked as ours", |world| first(world, |slot| slot.metadata.annotations = None)),
        says(Law::AcceptedSpec, "the accepted spec is not its spec", |world| {
            world.commitments[0].1.spec.domain_id.push('x');
        }),
        says(Law::AcceptedState, "Accepted in the state planned", |world| {
            world.commitments[0].1.spec.state = CommitmentState::Planned;
        }),
        says(Law::SlotNotInForce, "target is Some(\"node2\"), it is in force on Some(\"node1\")", |world| {
            first(world, |slot| slot.spec.target_host = Some("node2".to_owned()));
        }),
        says(Law::SlotNotInForce, "it is not Ready", |world| {
            first(world, |slot| slot.status.as_mut().unwrap().conditions.clear());
        }),
        says(Law::SlotReadyUntrue, "is Ready with target None", |world| {
            first(world, |slot| slot.spec.target_host = None);
        }),
        says(Law::CoresIdle, "commitment-cores-1: it waits for 40 cores, and 40 are left", |world| {
            with_cores(world, 100, &[60, 40]);
            waits_for_cores(world, 2);
        }),
    ];
    let of_rest = Law::ALL.iter().copied().filter(|law| *law > Law::CoresOversold && *law < Law::SlotOnGoneHost);
    let noticed: BTreeSet<_> = noticed.into_iter().chain(laws_about_vms_that_are_noticed()).collect();
    assert_eq!(noticed, of_rest.collect());
}

#[test]
fn the_names_of_the_laws_are_labels_and_different() {
    let names: BTreeSet<_> = Law::ALL.iter().map(|law| law.as_str()).collect();
    assert_eq!(names.len(), Law::ALL.len());
    assert!(names.iter().all(|name| name.chars().all(|c| c.is_ascii_lowercase() || c == '_')));
    assert!(Law::ALL.is_sorted(), "those of every write come first");
}

#[test]
fn what_looks_broken_and_is_not() {
    fine(|world| {
        // Its slots are elsewhere, and so is its host: only names count.
        world.slots.iter_mut().for_each(|(cluster, _)| *cluster = "far".into());
    });
    fine(|world| {
        second_commitment(world, "home", "another");
        says_duplicate(world, 1);
    });
    fine(|world| {
        second_commitment(world, "far", "commitment-law-abiding");
        says_duplicate(world, 1);
    });
    fine(|world| {
        // It holds what it has where it was until there is room where it is.
        moved(world);
        says_only(world, "Reserving", "insufficient capacity: 0/2 reservation slots could be placed");
    });
    fine(|world| {
        // Everything has gone but one slot, which somebody else keeps.
        world.commitments[0].1.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
        world.slots.pop();
        world.slots[0].1.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
        world.slots[0].1.spec.availability_zone = None;
    });
    fine(|world| {
        says_only(world, "Reserving", "flavor knowledge not ready: it does not answer");
        world.slots.pop();
    });
    fine(|world| {
        says_only(world, "Rejected", "insufficient capacity");
        world.commitments[0].1.spec.amount = "4800Gi".into();
    });
    fine(|world| {
        // Two hosts of one name: nobody can tell which one is full.
        world.hosts.push(("far".into(), host("node1", 1)));
        world.hosts[0].1 = host("node1", 1);
    });
    fine(|world| {
        // It was given to this commitment by hand.
        world.slots[0].1.metadata.name = Some("commitment-other-0".to_owned());
        world.slots[0].1.metadata.annotations = Some([(labels::COMMITMENT_UID.to_owned(), "other".to_owned())].into());
    });
    fine(|world| {
        // A VM that is there is confirmed, one that is to come is not.
        let slot = &mut world.slots[0].1;
        expect(slot, "vm-1", 160);
        expect(slot, "vm-2", 160);
        confirm(slot, "vm-1", "node1");
        lists(world, "vm-1");
    });
    fine(|world| {
        // U35: the first of two slots confirms it.
        world.slots.iter_mut().for_each(|(_, slot)| expect(slot, "vm-1", 160));
        confirm(&mut world.slots[0].1, "vm-1", "node1");
        lists(world, "vm-1");
    });
    fine(|world| {
        world.commitments[0].1.metadata.annotations = Some([(labels::FREEZE.to_owned(), String::new())].into());
        confirm(&mut world.slots[0].1, "vm-1", "node1");
    });
    fine(|world| world.hosts[0].1.status = None);
    fine(|world| drop(world.hosts.pop()));
    fine(|world| {
        let frozen = [(labels::FREEZE.to_owned(), String::new())];
        world.commitments[0].1.metadata.annotations = Some(frozen.into());
        world.slots.pop();
    });
}

#[test]
fn an_orphan_of_old_data_is_judged_at_rest() {
    let mut world = sound();
    world.commitments.clear();
    world.slots.truncate(1);
    world.slots[0].1.metadata.annotations = None;
    world.slots[0].1.metadata.name = Some("of-old".to_owned());
    let snapshot = world.snapshot();
    assert_eq!(always(&snapshot, &Outside::default()), []);
    let laws: Vec<_> = at_rest(&snapshot).into_iter().map(|violation| violation.law).collect();
    assert_eq!(laws, [Law::SlotOrphaned, Law::SlotUnmarked]);
}

#[test]
fn a_vm_in_its_slot_is_counted_once() {
    let mut world = sound();
    let short = |world: &World| {
        let broken = always(&world.snapshot(), &Outside::default());
        broken.into_iter().map(|one| one.text).collect::<Vec<_>>()
    };
    expect(&mut world.slots[0].1, "vm-1", 160);
    assert_eq!(short(&world), [""; 0], "it has not arrived: the slot holds its room");
    world.hosts[0].1.status.as_mut().unwrap().allocation = testing::size("160Gi", "10");
    let text = short(&world);
    assert!(
        text[0].contains("163840 MiB of memory") && text[0].contains("10 of cpu"),
        "somebody else uses it: {text:?}"
    );
    world.hosts[0].1.status.as_mut().unwrap().instances = vec![instance("vm-1")];
    assert_eq!(short(&world), [""; 0], "it is the VM of the slot (U35)");
    expect(&mut world.slots[1].1, "vm-1", 160);
    assert_eq!(short(&world), [""; 0], "it counts in one slot, the other one holds its full size");
}

#[test]
fn document_21_section_9_what_blocks_where() {
    let overbooked = |edit: &dyn Fn(&mut World)| {
        let mut world = sound();
        edit(&mut world);
        let broken = always(&world.snapshot(), &Outside::default());
        broken.into_iter().filter(|one| one.law == Law::HostOverbooked).count()
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
    assert_eq!(overbooked(&|world| add(world, &in_force)), 0, "U5: without a target it is nowhere");
    let moving = |block: &mut Reservation| {
        in_force(block);
        block.spec.target_host = Some("node2".to_owned());
    };
    assert_eq!(overbooked(&|world| add(world, &moving)), 1, "U5: while it moves it is on both");
    let larger = |world: &mut World| expect(&mut world.slots[0].1, "vm-1", 481);
    assert_eq!(overbooked(&larger), 1, "a VM that is larger than its slot needs its own size");
    let physical = |world: &mut World| {
        let status = world.hosts[0].1.status.as_mut().unwrap();
        status.capacity = std::mem::take(&mut status.effective_capacity);
    };
    assert_eq!(overbooked(&physical), 0, "physical capacity counts where there is no effective one");
    let fraction = |world: &mut World| {
        let status = world.hosts[0].1.status.as_mut().unwrap();
        status.effective_capacity.insert(resources::CPU.to_owned(), "59.9".into());
    };
    assert_eq!(overbooked(&fraction), 1, "U20: capacity is rounded down");
}
