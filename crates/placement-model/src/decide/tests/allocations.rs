//! Allocations.

use super::*;

const EXCEED: &str = "Unable to allocate inventory: Unable to create allocation for 'VCPU' on resource provider 'P1'. The \
                      requested amount would exceed the capacity.";

fn world() -> World {
    let cores = Inventory { total: 4, reserved: 1, allocation_ratio: 2.0, ..PLAIN };
    let memory = Inventory { total: 1000, min_unit: 64, max_unit: 512, step_size: 64, ..PLAIN };
    World::with(&[("P1", &[("VCPU", cores), ("MEMORY_MB", memory)]), ("P2", &[("VCPU", PLAIN)])])
}

fn after_step_8() -> World {
    let mut world = world();
    world.ok(set("C1", None, &[("P1", &[("VCPU", 4)])]));
    world.ok(set("C2", None, &[("P1", &[("VCPU", 2)])]));
    world.ok(set("C1", Some(1), &[]));
    world.ok(set("C1", None, &[("P1", &[("VCPU", 4)])]));
    world.ok(set("Y", None, &[("P1", &[("MEMORY_MB", 128)])]));
    world.ok(set("Z", None, &[("P1", &[("MEMORY_MB", 512)])]));
    world
}

fn many(writes: Vec<ConsumerWrite>) -> Command {
    Command::SetManyAllocations(writes)
}

fn migration(write: ConsumerWrite) -> ConsumerWrite {
    ConsumerWrite { kind: Some("MIGRATION".to_owned()), ..write }
}

#[test]
fn an_instance_is_created_and_deleted() {
    let mut world = world();
    assert_eq!(world.generations(["P1", "P2"]), [1, 1]);
    world.ok(set("C1", None, &[("P1", &[("VCPU", 4)])]));
    assert_eq!(world.generations(["P1", "P2"]), [2, 1]);
    assert_eq!(world.refused(set("C2", None, &[("P1", &[("VCPU", 3)])])), refusal(409, NONE, EXCEED));
    assert_eq!(world.generations(["P1", "P2"]), [2, 1]);
    world.ok(set("C2", None, &[("P1", &[("VCPU", 2)])]));
    assert_eq!(world.generations(["P1", "P2"]), [3, 1]);
    let text = "consumer generation conflict - expected 1 but got 0";
    assert_eq!(world.refused(set("C1", Some(0), &[("P1", &[("VCPU", 4)])])), refusal(409, CONFLICT, text));
    world.ok(set("C1", Some(1), &[]));
    assert_eq!((world.consumer("C1"), world.used("P1", "VCPU")), (None, 2));
    assert_eq!(world.generations(["P1", "P2"]), [4, 1]);
    world.ok(set("C1", None, &[("P1", &[("VCPU", 4)])]));
    assert_eq!((world.consumer_generation("C1"), world.generations(["P1", "P2"])), (1, [5, 1]));
}

#[test]
fn an_instance_is_resized() {
    let mut world = world();
    let text = "Unable to allocate inventory: Unable to create allocation for 'MEMORY_MB' on resource provider 'P1'. The \
                requested amount would violate inventory constraints.";
    for amount in [32, 100, 576, 513, u64::MAX] {
        let command = set("X", None, &[("P1", &[("MEMORY_MB", amount)])]);
        assert_eq!(world.refused(command), refusal(409, NONE, text), "{amount}");
    }
    world.ok(set("Y", None, &[("P1", &[("MEMORY_MB", 128)])]));
    world.ok(set("Z", None, &[("P1", &[("MEMORY_MB", 512)])]));
    assert_eq!(world.generations(["P1", "P2"]), [3, 1]);
}

#[test]
fn an_instance_migrates_and_comes_back() {
    let mut world = after_step_8();
    assert_eq!(world.generations(["P1", "P2"]), [7, 1]);
    let m1 = migration(consumer("M1", None, &[("P1", &[("VCPU", 4)])]));
    world.ok(many(vec![m1, consumer("C1", Some(1), &[("P2", &[("VCPU", 4)])])]));
    assert_eq!(world.generations(["P1", "P2"]), [8, 2]);
    assert_eq!((world.consumer_generation("C1"), world.consumer_generation("M1")), (2, 1));
    assert_eq!(world.consumer("M1").unwrap().kind.as_deref(), Some("MIGRATION"));
    assert_eq!((world.used("P1", "VCPU"), world.used("P1", "MEMORY_MB"), world.used("P2", "VCPU")), (6, 640, 4));

    let m1 = migration(consumer("M1", Some(1), &[]));
    world.ok(many(vec![m1, consumer("C1", Some(2), &[("P1", &[("VCPU", 4)])])]));
    assert_eq!((world.consumer_generation("C1"), world.consumer("M1")), (3, None));
    assert_eq!(world.generations(["P1", "P2"]), [9, 2], "P2 only releases");

    world.ok(Command::DeleteAllocations { consumer: key("C1") });
    assert_eq!((world.consumer("C1"), world.generations(["P1", "P2"])), (None, [9, 2]));
    assert_eq!((world.used("P1", "VCPU"), world.used("P2", "VCPU")), (2, 0));
}

#[test]
fn the_sum_of_a_request_counts() {
    let mut world = world();
    let both =
        || vec![consumer("C3", None, &[("P2", &[("VCPU", 3)])]), consumer("C4", None, &[("P2", &[("VCPU", 2)])])];
    assert_eq!(world.refused(many(both())), refusal(409, NONE, &EXCEED.replace("P1", "P2")));
    assert_eq!((world.consumer("C3"), world.consumer("C4")), (None, None));
    world.ok(many(both().split_off(1)));
    assert_eq!(world.used("P2", "VCPU"), 2);
}

#[test]
fn an_inventory_may_shrink_below_its_usage() {
    let mut world = World::with(&[("P1", &[("VCPU", total(8))])]);
    let cores = |name, generation, amount| set(name, generation, &[("P1", &[("VCPU", amount)])]);
    world.ok(cores("A", None, 8));
    world.ok(set_inventories("P1", 2, &[("VCPU", total(4))]));
    world.ok(cores("A", Some(1), 8));
    world.ok(cores("A", Some(2), 7));
    assert_eq!(world.refused(cores("A", Some(3), 8)), refusal(409, NONE, EXCEED), "7 is the usage now");
    assert_eq!(world.refused(cores("B", None, 1)), refusal(409, NONE, EXCEED));
    world.ok(many(vec![consumer("A", Some(3), &[]), consumer("B", None, &[("P1", &[("VCPU", 7)])])]));
    assert_eq!((world.consumer("A"), world.used("P1", "VCPU")), (None, 7));
}

#[test]
fn generations_of_consumers() {
    let mut world = world();
    let text = "consumer generation conflict - expected null but got 3";
    assert_eq!(world.refused(set("C", Some(3), &[("P1", &[("VCPU", 1)])])), refusal(409, CONFLICT, text));
    world.ok(set("C", None, &[("P1", &[("VCPU", 1)])]));
    let text = "consumer generation conflict - expected 1 but got None";
    assert_eq!(world.refused(set("C", None, &[("P1", &[("VCPU", 1)])])), refusal(409, CONFLICT, text));
    // Before 1.28 there is no consumer generation, and before 1.38 the type is kept.
    let old = ConsumerWrite {
        generation: ConsumerGuard::Unchecked,
        kind: None,
        project: "beta".to_owned(),
        user: "other".to_owned(),
        ..consumer("C", None, &[("P1", &[("VCPU", 2)])])
    };
    world.ok(Command::SetAllocations(old.clone()));
    let after = world.consumer("C").unwrap();
    assert_eq!((after.generation, after.kind.as_deref()), (2, Some("INSTANCE")));
    assert_eq!((after.project.as_str(), after.user.as_str()), ("beta", "other"));
    world.ok(Command::SetAllocations(ConsumerWrite { consumer: key("D"), ..old }));
    assert_eq!(world.consumer("D").unwrap().kind, None);
}

#[test]
fn a_failure_leaves_no_consumer_behind() {
    let mut world = world();
    let text = "Allocation for resource provider 'nowhere' that does not exist.";
    for _ in 0..2 {
        let named = set("C", None, &[("P1", &[("VCPU", 1)]), ("nowhere", &[("VCPU", 1)])]);
        assert_eq!(world.refused(named), refusal(400, NONE, text));
    }
    for _ in 0..2 {
        assert_eq!(world.ok(set("C", None, &[])), Outcome::Done);
        assert_eq!(world.consumer("C"), None);
    }
    assert_eq!(world.generations(["P1", "P2"]), [1, 1]);
}

#[test]
fn allocations_of_unknown_classes_are_refused() {
    let mut world = world();
    let write = || consumer("C", None, &[("P1", &[("VCPU", 1), ("CUSTOM_NO", 1)])]);
    let put = "Unable to allocate inventory for consumer C: No such resource class CUSTOM_NO.";
    assert_eq!(world.refused(Command::SetAllocations(write())), refusal(400, NONE, put));
    let post = "Unable to allocate inventory No such resource class CUSTOM_NO.";
    assert_eq!(world.refused(many(vec![write()])), refusal(400, NONE, post));
}

#[test]
fn amounts_of_custom_classes_are_given_up_without_naming_them() {
    let mut world = world();
    world.ok(Command::CreateClass { name: class("CUSTOM_A") });
    world.ok(add("P1", "CUSTOM_A", PLAIN));
    world.ok(set("C", None, &[("P1", &[("CUSTOM_A", 1)])]));
    world.ok(set("C", Some(1), &[]));
    assert_eq!((world.consumer("C"), world.used("P1", "CUSTOM_A"), world.generations(["P1"])), (None, 0, [4]));
}

#[test]
fn inventories_that_are_missing() {
    let mut world = world();
    world.ok(create("P3", None));
    // P3 has none of the classes; in P2, which has only VCPU, only the class is wrong.
    let text = "Unable to allocate inventory: Inventory for 'MEMORY_MB, VCPU' on resource provider 'P3' invalid.";
    let none = set("C", None, &[("P1", &[("MEMORY_MB", 64)]), ("P3", &[("VCPU", 1)])]);
    assert_eq!(world.refused(none), refusal(409, NONE, text));
    let text = "Unable to allocate inventory: Inventory for 'MEMORY_MB' on resource provider 'P2' invalid.";
    let other = set("C", None, &[("P1", &[("VCPU", 1)]), ("P2", &[("MEMORY_MB", 64)])]);
    assert_eq!(world.refused(other), refusal(409, NONE, text));
    let own = set("C", None, &[("P2", &[("VCPU", 1), ("MEMORY_MB", 64)])]);
    assert_eq!(world.refused(own), refusal(409, NONE, text));
}

#[test]
fn the_first_amount_that_does_not_fit_is_named() {
    let mut world = world();
    let bad = [("MEMORY_MB", 63), ("VCPU", 7)];
    let (_, _, text) = world.refused(set("C", None, &[("P1", &bad)]));
    assert!(text.contains("'MEMORY_MB'") && text.contains("violate inventory constraints"), "{text}");
    let bad = [("VCPU", 7), ("MEMORY_MB", 63)];
    assert_eq!(world.refused(set("C", None, &[("P1", &bad)])).2, EXCEED);
}

#[test]
fn what_a_consumer_had_makes_capacity_for_it() {
    let mut world = world();
    world.ok(set("C", None, &[("P1", &[("VCPU", 6)])]));
    world.ok(set("C", Some(1), &[("P1", &[("VCPU", 5)]), ("P2", &[("VCPU", 4)])]));
    assert_eq!((world.used("P1", "VCPU"), world.used("P2", "VCPU")), (5, 4));
    world.ok(set("C", Some(2), &[("P2", &[("VCPU", 1)])]));
    assert_eq!((world.used("P1", "VCPU"), world.used("P2", "VCPU")), (0, 1));
    assert_eq!(world.generations(["P1", "P2"]), [3, 3], "P1 only releases the second time");
}

#[test]
fn the_product_is_compared_before_it_is_cut() {
    let tight = Inventory { total: 10, allocation_ratio: 0.29, ..PLAIN };
    assert_eq!(tight.capacity(), 2);
    let mut world = World::with(&[("P1", &[("VCPU", tight)])]);
    world.ok(set("A", None, &[("P1", &[("VCPU", 2)])]));
    assert_eq!(world.refused(set("B", None, &[("P1", &[("VCPU", 1)])])), refusal(409, NONE, EXCEED));
}

#[test]
fn nothing_to_delete() {
    let mut world = world();
    let text = "No allocations for consumer 'C'";
    assert_eq!(world.refused(Command::DeleteAllocations { consumer: key("C") }), refusal(404, NONE, text));
}

#[test]
fn two_spellings_of_one_consumer_or_provider_lose_nothing() {
    let (plain, dashed) = ("6b1e5f3a00004000800000000000abcd", "6b1e5f3a-0000-4000-8000-00000000abcd");
    let mut world = World::with(&[(dashed, &[("VCPU", PLAIN)])]);
    let twice = vec![consumer(plain, None, &[]), consumer(dashed, None, &[(dashed, &[("VCPU", 1)])])];
    let text = format!("Consumer {dashed} is named more than once; name each consumer once");
    assert_eq!(world.refused(many(twice)), refusal(400, NONE, &text));
    world.ok(set("C", None, &[(plain, &[("VCPU", 1)]), (dashed, &[("VCPU", 2)])]));
    assert_eq!((world.used(dashed, "VCPU"), world.generations([dashed])), (3, [2]));
}
