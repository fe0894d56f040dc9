//! The reshaper.

use super::*;
use crate::command::NewInventories;

/// P2 at generation 3 with 3 of its 4 cores in use by C, and its empty child P3 at generation 0.
fn world() -> World {
    let mut world = World::with(&[("P2", &[("VCPU", PLAIN)])]);
    world.ok(create("P3", Some("P2")));
    world.ok(set_inventories("P2", 1, &[("VCPU", PLAIN)]));
    world.ok(set("C", None, &[("P2", &[("VCPU", 3)])]));
    assert_eq!(world.generations(["P2", "P3"]), [3, 0]);
    world
}

fn new(provider: &str, generation: i64, inventories: &[(&str, Inventory)]) -> NewInventories {
    NewInventories { provider: key(provider), generation, inventories: listed(inventories) }
}

fn reshape(inventories: Vec<NewInventories>, allocations: Vec<ConsumerWrite>) -> Command {
    Command::Reshape { inventories, allocations }
}

fn moved() -> Vec<NewInventories> {
    vec![new("P2", 3, &[]), new("P3", 0, &[("VCPU", PLAIN)])]
}

#[test]
fn inventory_and_allocation_move_to_the_child() {
    let mut world = world();
    world.ok(reshape(moved(), vec![consumer("C", Some(1), &[("P3", &[("VCPU", 3)])])]));
    assert_eq!(world.generations(["P2", "P3"]), [4, 3]);
    assert_eq!(world.consumer_generation("C"), 2);
    assert!(world.provider("P2").inventories.is_empty());
    assert_eq!(world.used("P3", "VCPU"), 3);
}

#[test]
fn what_keeps_a_set_and_gets_allocations_moves_by_three() {
    let mut world = world();
    let kept = vec![new("P2", 3, &[("VCPU", total(8))])];
    world.ok(reshape(kept, vec![consumer("C", Some(1), &[("P2", &[("VCPU", 8)])])]));
    assert_eq!(world.generations(["P2"]), [6]);
    world.ok(reshape(vec![new("P3", 0, &[])], Vec::new()));
    assert_eq!(world.generations(["P2", "P3"]), [6, 1]);
}

#[test]
fn what_is_in_use_must_move() {
    let mut world = world();
    let text = "update conflict: Inventory for 'VCPU' on resource provider 'P2' in use.";
    assert_eq!(world.refused(reshape(moved(), Vec::new())), refusal(409, "inventory.inuse", text));
}

#[test]
fn smaller_new_inventory_counts_while_allocations_move() {
    let mut world = world();
    let smaller = || vec![new("P2", 3, &[("VCPU", total(2))])];
    let (status, _, text) = world.refused(reshape(smaller(), vec![consumer("D", None, &[("P2", &[("VCPU", 1)])])]));
    assert_eq!(status, 409);
    assert!(text.ends_with("would exceed the capacity."), "{text}");
    world.ok(reshape(smaller(), Vec::new()));
    assert_eq!(world.used("P2", "VCPU"), 3, "less than is in use is allowed");
}

#[test]
fn an_old_inventory_is_there_until_the_end() {
    let mut world = world();
    // D may claim cores of P2 before they are removed, so the error is that they are in use.
    let (_, code, _) = world.refused(reshape(moved(), vec![consumer("D", None, &[("P2", &[("VCPU", 1)])])]));
    assert_eq!(code, "inventory.inuse");
}

#[test]
fn providers_are_checked_one_after_the_other() {
    let mut world = world();
    let unknown = vec![new("P2", 3, &[]), new("nowhere", 0, &[])];
    let text = "Resource provider nowhere in inventories not found: No resource provider with uuid nowhere found";
    assert_eq!(world.refused(reshape(unknown, Vec::new())), refusal(400, "resource_provider.not_found", text));
    let late = vec![new("P2", 2, &[]), new("nowhere", 0, &[])];
    let text = "resource provider generation conflict for provider P2: actual: 3, given: 2";
    assert_eq!(world.refused(reshape(late, Vec::new())), refusal(409, CONFLICT, text));
    let twice = vec![new("P3", 0, &[]), new("P3", 0, &[])];
    assert_eq!(world.refused(reshape(twice, Vec::new())).0, 400);
}

#[test]
fn unknown_classes_and_providers_of_a_reshape() {
    let mut world = world();
    let text = "malformed reshaper data: No such resource class CUSTOM_NO.";
    let new_class = vec![new("P3", 0, &[("CUSTOM_NO", PLAIN)])];
    assert_eq!(world.refused(reshape(new_class, Vec::new())), refusal(400, NONE, text));
    let asked = vec![consumer("D", None, &[("P2", &[("CUSTOM_NO", 1)])])];
    assert_eq!(world.refused(reshape(moved(), asked)), refusal(400, NONE, text));
    let text = "Allocation for resource provider 'nowhere' that does not exist.";
    let nowhere = vec![consumer("D", None, &[("nowhere", &[("VCPU", 1)])])];
    assert_eq!(world.refused(reshape(moved(), nowhere)), refusal(400, NONE, text));
}

#[test]
fn the_capacity_rule_holds_in_a_reshape() {
    let mut world = world();
    let reserved = Inventory { reserved: 5, ..PLAIN };
    let text = "Unable to update inventory for resource provider P3: Invalid inventory for 'VCPU' on resource provider \
                'P3'. The reserved value is greater than total.";
    let command = reshape(vec![new("P3", 0, &[("VCPU", reserved)])], Vec::new());
    assert_eq!(world.refused(command), refusal(400, NONE, text));
    world.ok(reshape(vec![new("P3", 0, &[("VCPU", Inventory { reserved: 4, ..PLAIN })])], Vec::new()));
}

#[test]
fn a_class_that_goes_and_is_given_back_in_one_reshape_leaves_no_usage() {
    let mut world = world();
    let command = reshape(vec![new("P2", 3, &[])], vec![consumer("C", Some(1), &[])]);
    let (changes, _) = crate::decide(&command, &world.state.load(&command.read_set())).unwrap();
    let change = &changes.providers[&world.provider("P2").id];
    assert!(change.used.is_empty(), "a ledger would update the inventory that it just deleted: {change:?}");
    world.ok(command);
    assert_eq!(world.consumer("C"), None);
    assert!(world.provider("P2").inventories.is_empty());
    assert_eq!(world.generations(["P2"]), [5], "the final step, and the allocations of C that are listed with 0");
}
