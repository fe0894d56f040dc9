//! Worked examples and rules of writes, and properties of all of them. Each write goes through the ledger in memory,
//! and the invariants of ledgers are checked after each.

mod allocations;
mod inventories;
mod names;
mod order;
mod properties;
mod providers;
mod reshape;

use jiff::Timestamp;

use crate::command::{ConsumerGuard, ConsumerWrite, Parent, ReservedRule};
use crate::loaded_rows::Consumer;
use crate::testing::{MemoryState, invariants};
use crate::{ClassName, Command, Inventory, Key, Outcome, ProviderState, Refusal, TraitName};

const PLAIN: Inventory =
    Inventory { total: 4, reserved: 0, min_unit: 1, max_unit: Inventory::LARGEST, step_size: 1, allocation_ratio: 1.0 };

fn total(total: u64) -> Inventory {
    Inventory { total, ..PLAIN }
}

fn key(text: &str) -> Key {
    Key::new(text)
}

fn class(name: &str) -> ClassName {
    ClassName::new(name)
}

fn named(name: &str) -> TraitName {
    TraitName::new(name)
}

/// A ledger with helpers. The names of providers are their keys.
#[derive(Default)]
struct World {
    state: MemoryState,
    writes: i64,
}

#[allow(clippy::needless_pass_by_value, reason = "commands are written where they are sent")]
impl World {
    /// Providers and their inventories at generation 1, or 0 without any.
    fn with(providers: &[(&str, &[(&str, Inventory)])]) -> Self {
        let mut world = Self::default();
        for (name, inventories) in providers {
            world.ok(create(name, None));
            if !inventories.is_empty() {
                world.ok(set_inventories(name, 0, inventories));
            }
        }
        world
    }

    fn write(&mut self, command: &Command) -> Result<Outcome, Refusal> {
        let before = self.state.clone();
        self.writes += 1;
        let result = self.state.write(command, Timestamp::from_second(self.writes).unwrap());
        let wrong =
            [invariants::violations(&self.state), invariants::violations_of_change(&before, &self.state)].concat();
        assert!(wrong.is_empty(), "{command:?} broke {wrong:#?}");
        if result.is_err() {
            assert_eq!(self.state, before, "{command:?} was refused and changed something");
        }
        result
    }

    fn ok(&mut self, command: Command) -> Outcome {
        self.write(&command).unwrap_or_else(|refusal| panic!("{command:?}: {refusal}"))
    }

    /// The status, the code without `placement.`, and the text of a refusal.
    fn refused(&mut self, command: Command) -> (u16, &'static str, String) {
        let refusal = self.write(&command).expect_err("must be refused");
        let status = match refusal.kind {
            crate::refusal::Kind::Invalid => 400,
            crate::refusal::Kind::NotFound => 404,
            crate::refusal::Kind::Conflict => 409,
        };
        (status, refusal.code.as_str().trim_start_matches("placement."), refusal.text)
    }

    fn provider(&self, name: &str) -> &ProviderState {
        self.state.provider(&key(name)).unwrap_or_else(|| panic!("no provider {name}"))
    }

    fn consumer(&self, name: &str) -> Option<&Consumer> {
        self.state.consumers.get(&key(name)).map(|(consumer, _)| consumer)
    }

    fn generations<const N: usize>(&self, providers: [&str; N]) -> [i64; N] {
        providers.map(|name| self.provider(name).generation)
    }

    fn used(&self, provider: &str, class: &str) -> u64 {
        self.provider(provider).inventories[class].used
    }

    fn root(&self, provider: &str) -> &str {
        self.state.providers[&self.provider(provider).root].name.as_str()
    }

    /// The generation of a consumer, 0 without one.
    fn consumer_generation(&self, name: &str) -> i64 {
        self.consumer(name).map_or(0, |consumer| consumer.generation)
    }
}

const CONFLICT: &str = "concurrent_update";
const NONE: &str = "undefined_code";

fn refusal(status: u16, code: &'static str, text: &str) -> (u16, &'static str, String) {
    (status, code, text.to_owned())
}

fn create(name: &str, parent: Option<&str>) -> Command {
    Command::CreateProvider { uuid: key(name), name: name.to_owned(), parent: parent.map(key) }
}

fn put(name: &str, parent: Parent, reparents: bool) -> Command {
    Command::UpdateProvider { uuid: key(name), name: name.to_owned(), parent, reparents }
}

fn below(parent: &str) -> Parent {
    Parent::Set(Some(key(parent)))
}

fn add(provider: &str, name: &str, inventory: Inventory) -> Command {
    let reserved = ReservedRule::UpToTotal;
    Command::AddInventory { provider: key(provider), class: class(name), inventory, reserved }
}

fn listed(inventories: &[(&str, Inventory)]) -> Vec<(ClassName, Inventory)> {
    inventories.iter().map(|(name, inventory)| (class(name), *inventory)).collect()
}

fn set_inventories(provider: &str, generation: i64, inventories: &[(&str, Inventory)]) -> Command {
    let reserved = ReservedRule::UpToTotal;
    Command::SetInventories { provider: key(provider), generation, inventories: listed(inventories), reserved }
}

/// A write from 1.38 of type INSTANCE; a `generation` of `None` is null.
fn consumer(name: &str, generation: Option<i64>, at: &[(&str, &[(&str, u64)])]) -> ConsumerWrite {
    let amounts = |amounts: &[(&str, u64)]| amounts.iter().map(|(name, amount)| (class(name), *amount)).collect();
    ConsumerWrite {
        consumer: key(name),
        project: "alpha".to_owned(),
        user: "someone".to_owned(),
        kind: Some("INSTANCE".to_owned()),
        generation: ConsumerGuard::Expected(generation),
        allocations: at.iter().map(|(provider, of)| (key(provider), amounts(of))).collect(),
    }
}

fn set(name: &str, generation: Option<i64>, at: &[(&str, &[(&str, u64)])]) -> Command {
    Command::SetAllocations(consumer(name, generation, at))
}
