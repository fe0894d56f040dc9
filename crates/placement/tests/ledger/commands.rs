//! Random writes over few names, so that they meet.

use berth_placement_model::command::{ConsumerGuard, ConsumerWrite, NewInventories, Parent, ReservedRule};
use berth_placement_model::testing::MemoryState;
use berth_placement_model::{ClassName, Command, Inventory, Key, TraitName};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

pub const CONSUMERS: [&str; 4] = ["consumer-a", "consumer-b", "consumer-c", "consumer-d"];
const PROVIDERS: [&str; 4] = ["p1", "p2", "p3", "p4"];
const CLASSES: [&str; 4] = ["VCPU", "MEMORY_MB", "CUSTOM_A", "CUSTOM_B"];
const TRAITS: [&str; 3] = ["HW_NUMA_ROOT", "CUSTOM_A", "CUSTOM_B"];

fn provider() -> impl Strategy<Value = Key> {
    select(&PROVIDERS[..]).prop_map(Key::new)
}

fn class() -> impl Strategy<Value = ClassName> {
    prop_oneof![3 => select(&CLASSES[..2]), 1 => select(&CLASSES[..])].prop_map(ClassName::new)
}

fn a_trait() -> impl Strategy<Value = TraitName> {
    select(&TRAITS[..]).prop_map(TraitName::new)
}

fn inventory() -> impl Strategy<Value = Inventory> {
    (4..20_u64, 0..3_u64, prop_oneof![Just(1.0), 0.1..3.0_f64]).prop_map(|(total, reserved, allocation_ratio)| {
        Inventory { total, reserved, min_unit: 1, max_unit: 16, step_size: 1, allocation_ratio }
    })
}

fn inventories() -> impl Strategy<Value = Vec<(ClassName, Inventory)>> {
    proptest::collection::btree_map(class(), inventory(), 0..3).prop_map(|all| all.into_iter().collect())
}

fn write() -> impl Strategy<Value = ConsumerWrite> {
    let amounts = proptest::collection::btree_map(class(), 1..6_u64, 1..3);
    let allocations = proptest::collection::btree_map(select(&PROVIDERS[..]), amounts, 0..3);
    let allocations = allocations.prop_map(Vec::from_iter).prop_shuffle();
    let guard = prop_oneof![
        3 => Just(ConsumerGuard::Unchecked),
        1 => option::of(0..3_i64).prop_map(ConsumerGuard::Expected),
    ];
    (select(&CONSUMERS[..]), guard, option::of(Just("INSTANCE".to_owned())), allocations).prop_map(
        |(consumer, generation, kind, allocations)| ConsumerWrite {
            consumer: Key::new(consumer),
            project: format!("project of {consumer}"),
            user: "user".to_owned(),
            kind,
            generation,
            allocations: allocations
                .into_iter()
                .map(|(provider, amounts)| (Key::new(provider), amounts.into_iter().collect()))
                .collect(),
        },
    )
}

fn of_providers() -> impl Strategy<Value = Command> {
    let parent = prop_oneof![Just(Parent::Unchanged), option::of(provider()).prop_map(Parent::Set)];
    prop_oneof![
        3 => (provider(), option::of(provider()))
            .prop_map(|(uuid, parent)| Command::CreateProvider { name: uuid.to_string(), uuid, parent }),
        2 => (provider(), select(&["p1", "other"][..]), parent, any::<bool>()).prop_map(
            |(uuid, name, parent, reparents)| Command::UpdateProvider { name: name.to_owned(), uuid, parent, reparents }
        ),
        1 => provider().prop_map(|uuid| Command::DeleteProvider { uuid }),
    ]
}

fn of_inventories() -> impl Strategy<Value = Command> {
    let reserved = ReservedRule::UpToTotal;
    prop_oneof![
        2 => (provider(), class(), inventory()).prop_map(move |(provider, class, inventory)| {
            Command::AddInventory { provider, class, inventory, reserved }
        }),
        3 => (provider(), inventories()).prop_map(move |(provider, inventories)| {
            Command::SetInventories { provider, generation: 0, inventories, reserved }
        }),
        1 => (provider(), class(), inventory()).prop_map(move |(provider, class, inventory)| {
            Command::SetInventory { provider, generation: 0, class, inventory, reserved }
        }),
        1 => (provider(), class()).prop_map(|(provider, class)| Command::DeleteInventory { provider, class }),
        1 => provider().prop_map(|provider| Command::DeleteInventories { provider }),
    ]
}

fn of_names() -> impl Strategy<Value = Command> {
    let aggregates =
        vec(select(&["A1", "a1", "6B1E5F3A-0000-4000-8000-00000000ABCD"][..]).prop_map(String::from), 0..3);
    prop_oneof![
        (provider(), option::of(Just(0)), aggregates)
            .prop_map(|(provider, generation, aggregates)| Command::SetAggregates { provider, generation, aggregates }),
        (provider(), vec(a_trait(), 0..3)).prop_map(|(provider, traits)| Command::SetTraits {
            provider,
            generation: 0,
            traits
        }),
        provider().prop_map(|provider| Command::DeleteTraits { provider }),
        a_trait().prop_map(|name| Command::EnsureTrait { name }),
        a_trait().prop_map(|name| Command::DeleteTrait { name }),
        class().prop_map(|name| Command::CreateClass { name }),
        class().prop_map(|name| Command::EnsureClass { name }),
        (class(), class()).prop_map(|(from, to)| Command::RenameClass { from, to }),
        class().prop_map(|name| Command::DeleteClass { name }),
    ]
}

fn of_allocations() -> impl Strategy<Value = Command> {
    let new = (provider(), inventories()).prop_map(|(provider, inventories)| NewInventories {
        provider,
        generation: 0,
        inventories,
    });
    prop_oneof![
        6 => write().prop_map(Command::SetAllocations),
        2 => vec(write(), 1..4).prop_map(|writes| Command::SetManyAllocations(each_once(writes))),
        1 => select(&CONSUMERS[..]).prop_map(|name| Command::DeleteAllocations { consumer: Key::new(name) }),
        1 => (new, vec(write(), 0..2)).prop_map(|(new, writes)| {
            Command::Reshape { inventories: vec![new], allocations: each_once(writes) }
        }),
    ]
}

/// A JSON object has each consumer once.
fn each_once(mut writes: Vec<ConsumerWrite>) -> Vec<ConsumerWrite> {
    writes.sort_by(|a, b| a.consumer.cmp(&b.consumer));
    writes.dedup_by(|a, b| a.consumer == b.consumer);
    writes
}

pub fn command() -> impl Strategy<Value = Command> {
    prop_oneof![2 => of_providers(), 3 => of_inventories(), 2 => of_names(), 5 => of_allocations()]
}

/// Uses the generation that the provider has, because otherwise most writes would be refused.
pub fn with_right_generation(command: Command, state: &MemoryState) -> Command {
    let actual = |uuid: &Key| state.provider(uuid).map_or(0, |provider| provider.generation);
    match command {
        Command::SetInventories { provider, inventories, reserved, .. } => {
            Command::SetInventories { generation: actual(&provider), provider, inventories, reserved }
        }
        Command::SetInventory { provider, class, inventory, reserved, .. } => {
            Command::SetInventory { generation: actual(&provider), provider, class, inventory, reserved }
        }
        Command::SetTraits { provider, traits, .. } => {
            Command::SetTraits { generation: actual(&provider), provider, traits }
        }
        Command::SetAggregates { provider, generation: Some(_), aggregates } => {
            Command::SetAggregates { generation: Some(actual(&provider)), provider, aggregates }
        }
        Command::Reshape { mut inventories, allocations } => {
            for new in &mut inventories {
                new.generation = actual(&new.provider);
            }
            Command::Reshape { inventories, allocations }
        }
        other => other,
    }
}
