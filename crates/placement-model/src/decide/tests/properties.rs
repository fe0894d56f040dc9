//! Properties of any sequence of writes: the invariants of ledgers hold, a refused write changes nothing, the read set
//! of `wants` is sufficient, and no write panics, whatever was read.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::command::NewInventories;
use crate::{LoadedRows, decide};

const PROVIDERS: [&str; 5] = ["P1", "P2", "P3", "P4", "P5"];
const CONSUMERS: [&str; 4] = ["A", "B", "C", "D"];
const CLASSES: [&str; 5] = ["VCPU", "MEMORY_MB", "CUSTOM_A", "CUSTOM_B", "CUSTOM_C"];
const TRAITS: [&str; 4] = ["HW_NUMA_ROOT", "STORAGE_DISK_SSD", "CUSTOM_A", "CUSTOM_B"];

fn provider() -> impl Strategy<Value = Key> {
    select(&PROVIDERS[..]).prop_map(Key::new)
}

fn any_class() -> impl Strategy<Value = ClassName> {
    // Mostly classes that exist from the start.
    prop_oneof![4 => select(&CLASSES[..2]), 1 => select(&CLASSES[..])].prop_map(ClassName::new)
}

fn class_name() -> impl Strategy<Value = ClassName> {
    select(&CLASSES[1..]).prop_map(ClassName::new)
}

fn any_trait() -> impl Strategy<Value = TraitName> {
    select(&TRAITS[..]).prop_map(TraitName::new)
}

fn generation() -> impl Strategy<Value = i64> {
    0..8_i64
}

fn inventory() -> impl Strategy<Value = Inventory> {
    let ratio = prop_oneof![4 => Just(1.0), 1 => 0.1..3.0_f64, 1 => Just(-1.0)];
    (1..12_u64, 0..4_u64, 1..3_u64, 3..12_u64, 1..3_u64, ratio).prop_map(
        |(total, reserved, min_unit, max_unit, step_size, allocation_ratio)| Inventory {
            total,
            reserved,
            min_unit,
            max_unit,
            step_size,
            allocation_ratio,
        },
    )
}

fn inventories() -> impl Strategy<Value = Vec<(ClassName, Inventory)>> {
    vec((any_class(), inventory()), 0..4)
}

fn guard() -> impl Strategy<Value = ConsumerGuard> {
    prop_oneof![
        3 => Just(ConsumerGuard::Unchecked),
        1 => option::of(0..4_i64).prop_map(ConsumerGuard::Expected),
    ]
}

fn amount() -> impl Strategy<Value = u64> {
    prop_oneof![20 => 1..9_u64, 1 => Just(u64::MAX), 1 => Just(0)]
}

fn write() -> impl Strategy<Value = ConsumerWrite> {
    let allocations = vec((provider(), vec((any_class(), amount()), 1..3)), 0..3);
    (select(&CONSUMERS[..]), guard(), option::of(Just("INSTANCE".to_owned())), allocations).prop_map(
        |(name, generation, kind, allocations)| ConsumerWrite {
            kind,
            generation,
            allocations,
            ..consumer(name, None, &[])
        },
    )
}

fn reserved() -> impl Strategy<Value = ReservedRule> {
    select(&[ReservedRule::BelowTotal, ReservedRule::UpToTotal][..])
}

fn of_trees() -> impl Strategy<Value = Command> {
    let parent = prop_oneof![Just(Parent::Unchanged), option::of(provider()).prop_map(Parent::Set)];
    prop_oneof![
        3 => (provider(), select(&PROVIDERS[..]), option::of(provider())).prop_map(|(uuid, name, parent)| {
            // Mostly the provider's own name: otherwise nearly every creation would meet a taken one.
            let name = if name == "P5" { name.to_owned() } else { uuid.to_string() };
            Command::CreateProvider { uuid, name, parent }
        }),
        2 => (provider(), parent, any::<bool>()).prop_map(|(uuid, parent, reparents)| {
            Command::UpdateProvider { name: uuid.to_string(), uuid, parent, reparents }
        }),
        1 => provider().prop_map(|uuid| Command::DeleteProvider { uuid }),
    ]
}

fn of_inventories() -> impl Strategy<Value = Command> {
    prop_oneof![
        (provider(), any_class(), inventory(), reserved()).prop_map(|(provider, class, inventory, reserved)| {
            Command::AddInventory { provider, class, inventory, reserved }
        }),
        (provider(), generation(), inventories(), reserved()).prop_map(
            |(provider, generation, inventories, reserved)| Command::SetInventories {
                provider,
                generation,
                inventories,
                reserved
            }
        ),
        (provider(), generation(), any_class(), inventory(), reserved()).prop_map(
            |(provider, generation, class, inventory, reserved)| Command::SetInventory {
                provider,
                generation,
                class,
                inventory,
                reserved
            }
        ),
        (provider(), any_class()).prop_map(|(provider, class)| Command::DeleteInventory { provider, class }),
        provider().prop_map(|provider| Command::DeleteInventories { provider }),
    ]
}

fn of_names() -> impl Strategy<Value = Command> {
    prop_oneof![
        (provider(), option::of(generation()), vec(select(&PROVIDERS[..]).prop_map(String::from), 0..3))
            .prop_map(|(provider, generation, aggregates)| Command::SetAggregates { provider, generation, aggregates }),
        (provider(), generation(), vec(any_trait(), 0..3))
            .prop_map(|(provider, generation, traits)| { Command::SetTraits { provider, generation, traits } }),
        provider().prop_map(|provider| Command::DeleteTraits { provider }),
        any_trait().prop_map(|name| Command::EnsureTrait { name }),
        any_trait().prop_map(|name| Command::DeleteTrait { name }),
        class_name().prop_map(|name| Command::CreateClass { name }),
        class_name().prop_map(|name| Command::EnsureClass { name }),
        (class_name(), class_name()).prop_map(|(from, to)| Command::RenameClass { from, to }),
        class_name().prop_map(|name| Command::DeleteClass { name }),
    ]
}

fn of_allocations() -> impl Strategy<Value = Command> {
    let new = (provider(), generation(), inventories())
        .prop_map(|(provider, generation, inventories)| NewInventories { provider, generation, inventories });
    prop_oneof![
        6 => write().prop_map(Command::SetAllocations),
        3 => vec(write(), 1..4).prop_map(Command::SetManyAllocations),
        1 => select(&CONSUMERS[..]).prop_map(|name| Command::DeleteAllocations { consumer: key(name) }),
        2 => (vec(new, 1..3), vec(write(), 0..3)).prop_map(|(inventories, allocations)| {
            Command::Reshape { inventories, allocations }
        }),
    ]
}

fn command() -> impl Strategy<Value = Command> {
    prop_oneof![2 => of_trees(), 3 => of_inventories(), 1 => of_names(), 5 => of_allocations()]
}

/// Most random generations would be wrong, and a run in which all writes fail shows little.
fn with_right_generations(command: Command, state: &MemoryState) -> Command {
    let actual = |uuid: &Key, given: i64| match state.provider(uuid) {
        Some(provider) if given > 1 => provider.generation,
        _ => given,
    };
    match command {
        Command::SetInventories { provider, generation, inventories, reserved } => {
            let generation = actual(&provider, generation);
            Command::SetInventories { provider, generation, inventories, reserved }
        }
        Command::SetInventory { provider, generation, class, inventory, reserved } => {
            let generation = actual(&provider, generation);
            Command::SetInventory { provider, generation, class, inventory, reserved }
        }
        Command::SetTraits { provider, generation, traits } => {
            let generation = actual(&provider, generation);
            Command::SetTraits { provider, generation, traits }
        }
        Command::Reshape { mut inventories, allocations } => {
            for new in &mut inventories {
                new.generation = actual(&new.provider, new.generation);
            }
            Command::Reshape { inventories, allocations }
        }
        other => other,
    }
}

/// Three providers with free capacity, and custom names.
fn start() -> World {
    let remaining = Inventory { total: 10, allocation_ratio: 1.5, ..PLAIN };
    let both = [("VCPU", remaining), ("MEMORY_MB", remaining)];
    let mut world = World::with(&["P1", "P2", "P3"].map(|name| (name, &both[..])));
    world.ok(Command::CreateClass { name: class("CUSTOM_A") });
    world.ok(Command::EnsureTrait { name: named("CUSTOM_A") });
    world
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn invariants_hold_after_every_write_and_what_is_refused_changes_nothing(commands in vec(command(), 1..60)) {
        let mut world = start();
        for command in commands {
            let command = with_right_generations(command, &world.state);
            let before = world.state.clone();
            let rows = before.load(&command.read_set());
            // More rows change nothing, so the read set is sufficient.
            prop_assert_eq!(decide(&command, &rows), decide(&command, &before.load_all()), "{:?}", command);
            // A ledger that lost rows causes a wrong answer and no panic.
            let _ = decide(&command, &LoadedRows::default());
            let _ = decide(&command, &LoadedRows { providers: BTreeMap::new(), ..rows.clone() });
            let _ = decide(&command, &LoadedRows { consumers: BTreeMap::new(), ..rows });
            let _ = world.write(&command);
        }
    }

    #[test]
    fn a_write_of_the_same_allocations_again_is_granted(writes in vec(write(), 1..20), again in write()) {
        let mut world = start();
        for write in writes {
            let _ = world.write(&Command::SetAllocations(write));
        }
        let again = ConsumerWrite { generation: ConsumerGuard::Unchecked, ..again };
        let before = world.state.clone();
        if world.write(&Command::SetAllocations(again.clone())).is_ok() {
            let once = world.state.clone();
            world.ok(Command::SetAllocations(again.clone()));
            let amounts = |state: &MemoryState| state.consumers.get(&again.consumer).map(|(it, _)| it.allocations.clone());
            prop_assert_eq!(amounts(&once), amounts(&world.state));
        } else {
            prop_assert_eq!(before, world.state);
        }
    }
}

/// The property would show nothing if nearly everything were refused.
#[test]
fn random_writes_of_every_kind_are_granted_now_and_then() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;

    let mut runner = TestRunner::deterministic();
    let mut granted = BTreeMap::<String, (u32, u32)>::new();
    for _ in 0..200 {
        let mut world = start();
        for command in vec(command(), 40).new_tree(&mut runner).unwrap().current() {
            let command = with_right_generations(command, &world.state);
            let kind = format!("{command:?}").split(['(', ' ']).next().unwrap().to_owned();
            let counts = granted.entry(kind).or_default();
            if world.write(&command).is_ok() { counts.0 += 1 } else { counts.1 += 1 }
        }
    }
    assert_eq!(granted.len(), 21, "{granted:?}");
    assert!(granted.values().all(|&(done, refused)| done >= 5 && done + refused >= 20), "{granted:#?}");
}
