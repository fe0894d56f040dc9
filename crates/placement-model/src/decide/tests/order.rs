//! Which of several errors wins. Each request has all errors of its list, which are corrected one after the other.

use super::*;
use crate::command::NewInventories;

/// P has 4 cores, of which A uses 4.
fn world() -> World {
    let mut world = World::with(&[("P", &[("VCPU", PLAIN)])]);
    world.ok(set("A", None, &[("P", &[("VCPU", 4)])]));
    world
}

#[track_caller]
fn says(world: &mut World, command: Command, part: &str) {
    let (_, _, text) = world.refused(command);
    assert!(text.contains(part), "{part:?} was expected, not {text:?}");
}

#[test]
fn bodies_of_inventories_are_checked_in_order() {
    let mut world = world();
    let bad = Inventory { reserved: 5, ..PLAIN };
    says(&mut world, set_inventories("X", 9, &[("CUSTOM_NO", bad)]), "No resource provider");
    says(&mut world, set_inventories("P", 9, &[("CUSTOM_NO", bad)]), "generation conflict");
    says(&mut world, set_inventories("P", 2, &[("CUSTOM_NO", bad)]), "reserved value");
    says(&mut world, set_inventories("P", 2, &[("CUSTOM_NO", PLAIN)]), "No such resource class");
    says(&mut world, set_inventories("P", 2, &[]), "in use");
    says(&mut world, add("P", "CUSTOM_NO", bad), "reserved value");
}

#[test]
fn allocations_are_checked_and_written() {
    let mut world = world();
    let amounts: &[(&str, u64)] = &[("VCPU", 1), ("CUSTOM_NO", 1)];
    let two = |first: Option<i64>, second, at: &[(&str, &[(&str, u64)])]| {
        Command::SetManyAllocations(vec![consumer("A", first, at), consumer("B", second, at)])
    };
    says(&mut world, two(Some(7), Some(8), &[("X", amounts)]), "expected 1 but got 7");
    says(&mut world, two(Some(1), Some(8), &[("X", amounts)]), "expected null but got 8");
    says(&mut world, two(Some(1), None, &[("P", amounts), ("X", amounts)]), "'X' that does not exist");
    says(&mut world, two(Some(1), None, &[("P", amounts)]), "No such resource class CUSTOM_NO.");
    says(
        &mut world,
        two(Some(1), None, &[("P", &[("DISK_GB", 1)])]),
        "Inventory for 'DISK_GB' on resource provider 'P'",
    );
    says(&mut world, two(Some(1), None, &[("P", &[("VCPU", 3), ("DISK_GB", 1)])]), "Inventory for 'DISK_GB'");
    says(&mut world, two(Some(1), None, &[("P", &[("VCPU", 3)])]), "exceed the capacity");
    world.ok(two(Some(1), None, &[("P", &[("VCPU", 2)])]));
}

#[test]
fn the_reshaper_replaces_inventories_and_allocations_at_once() {
    let mut world = world();
    let bad = Inventory { reserved: 5, ..PLAIN };
    let shape = |generation, inventories: &[(&str, Inventory)], writes: Vec<ConsumerWrite>| Command::Reshape {
        inventories: vec![NewInventories { provider: key("P"), generation, inventories: listed(inventories) }],
        allocations: writes,
    };
    let unknown: &[(&str, &[(&str, u64)])] = &[("X", &[("CUSTOM_NO", 1)])];
    let write = |generation, at| vec![consumer("A", generation, at)];
    says(&mut world, shape(9, &[("CUSTOM_N", bad)], write(Some(7), unknown)), "actual: 2, given: 9");
    says(&mut world, shape(2, &[("CUSTOM_N", bad)], write(Some(7), unknown)), "reserved value");
    says(&mut world, shape(2, &[("CUSTOM_N", PLAIN)], write(Some(7), unknown)), "expected 1 but got 7");
    says(&mut world, shape(2, &[("CUSTOM_N", PLAIN)], write(Some(1), unknown)), "'X' that does not exist");
    let no_class: &[(&str, &[(&str, u64)])] = &[("P", &[("CUSTOM_NO", 9)])];
    says(&mut world, shape(2, &[("CUSTOM_N", PLAIN)], write(Some(1), no_class)), "No such resource class CUSTOM_N.");
    says(&mut world, shape(2, &[], write(Some(1), no_class)), "No such resource class CUSTOM_NO.");
    says(&mut world, shape(2, &[], write(Some(1), &[("P", &[("VCPU", 5)])])), "exceed the capacity");
    says(&mut world, shape(2, &[], write(Some(1), &[("P", &[("VCPU", 4)])])), "in use");
    world.ok(shape(2, &[], write(Some(1), &[])));
}
