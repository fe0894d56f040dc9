//! One provider in the model: compact, with numbers instead of names, and with its part of answers prepared.

use jiff::Timestamp;

use super::known::Names;
use super::register::Number;
use crate::names::SHARES;
use crate::provider::{Aggregate, Held};
use crate::{ClassName, Key, ProviderId, ProviderState, json};

/// A provider.
#[derive(Debug, Clone)]
pub struct Record {
    pub id: ProviderId,
    pub parent: Option<ProviderId>,
    pub root: ProviderId,
    pub shares: bool,
    pub inventories: Box<[(Number, Held)]>,
    /// The free amount of each class, in the same order: for most providers a search needs nothing else.
    remaining: Box<[RemainingCapacity]>,
    pub traits: Box<[Number]>,
    pub aggregates: Box<[Number]>,
    summary: Box<str>,
    /// How much of it is the UUID with its quotes.
    quoted: usize,
    pub uuid: Key,
    pub name: Box<str>,
    pub generation: i64,
    pub created_at: Timestamp,
    pub updated_at: Option<Timestamp>,
    pub sent: Box<[Aggregate]>,
}

/// [`Inventory::fits`](crate::Inventory::fits) for the present usage, in as few bytes as possible: a search reads it
/// for every provider and is bound by memory.
#[derive(Debug, Clone, Copy)]
struct RemainingCapacity {
    class: Number,
    least: u32,
    most: u32,
    step: u32,
}

impl RemainingCapacity {
    fn new(class: Number, held: &Held) -> Self {
        let Held { inventory, used, .. } = held;
        let left = u64::try_from(inventory.capacity()).unwrap_or(0).saturating_sub(*used);
        let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let most = narrow(left.min(inventory.max_unit));
        Self { class, least: narrow(inventory.min_unit), most, step: narrow(inventory.step_size) }
    }

    fn has(self, amount: u64) -> bool {
        let Ok(amount) = u32::try_from(amount) else { return false };
        self.least <= amount && amount <= self.most && (self.step == 1 || amount.is_multiple_of(self.step))
    }
}

/// The numbers of the names of a provider.
struct Numbers {
    inventories: Box<[(Number, Held)]>,
    traits: Box<[Number]>,
    aggregates: Box<[Number]>,
}

impl Record {
    /// Takes a provider in; names that are new get numbers.
    pub fn new(names: &mut Names, state: &ProviderState) -> Self {
        let numbers = Numbers::new(names, state);
        let (summary, quoted) = summary(state);
        Self {
            id: state.id,
            parent: state.parent,
            root: state.root,
            shares: state.traits.contains(SHARES),
            remaining: numbers.inventories.iter().map(|(class, held)| RemainingCapacity::new(*class, held)).collect(),
            inventories: numbers.inventories,
            traits: numbers.traits,
            aggregates: numbers.aggregates,
            summary,
            quoted,
            uuid: state.uuid.clone(),
            name: state.name.as_str().into(),
            generation: state.generation,
            created_at: state.created_at,
            updated_at: state.updated_at,
            sent: state.aggregates.as_slice().into(),
        }
    }

    pub fn held(&self, class: Number) -> Option<&Held> {
        self.inventories.iter().find(|held| held.0 == class).map(|held| &held.1)
    }

    /// Whether it has free capacity for an amount.
    pub fn fits(&self, class: Number, amount: u64) -> bool {
        self.remaining.iter().find(|remaining| remaining.class == class).is_some_and(|remaining| remaining.has(amount))
    }

    /// Whether it has one of these traits, ascending.
    pub fn has_trait(&self, any: &[Number]) -> bool {
        meet(&self.traits, any)
    }

    /// Whether it is in one of these aggregates, ascending.
    pub fn is_member(&self, any: &[Number]) -> bool {
        meet(&self.aggregates, any)
    }

    pub fn quoted(&self) -> &str {
        &self.summary[..self.quoted]
    }

    /// Its summary from 1.27 on, without what 1.29 added and without the closing brace.
    pub fn summary(&self) -> &str {
        &self.summary
    }
}

/// Whether two ascending lists have something in common.
fn meet(own: &[Number], asked: &[Number]) -> bool {
    asked.iter().any(|number| own.binary_search(number).is_ok())
}

impl Numbers {
    fn new(names: &mut Names, state: &ProviderState) -> Self {
        let mut inventories: Vec<_> =
            state.inventories.iter().map(|(class, held)| (names.classes.number(class), *held)).collect();
        inventories.sort_unstable_by_key(|held| held.0);
        let mut traits: Vec<_> = state.traits.iter().map(|one| names.traits.number(one)).collect();
        traits.sort_unstable();
        let mut aggregates: Vec<_> = state.aggregates.iter().map(|one| names.aggregates.number(&one.key)).collect();
        aggregates.sort_unstable();
        aggregates.dedup();
        Self { inventories: inventories.into(), traits: traits.into(), aggregates: aggregates.into() }
    }
}

fn summary(state: &ProviderState) -> (Box<str>, usize) {
    let mut out = Vec::with_capacity(512);
    json::string(&mut out, state.uuid.as_str());
    let quoted = out.len();
    json::raw(&mut out, ":{\"resources\":{");
    json::joined(&mut out, &state.inventories, |out, (class, held)| capacity(out, class, held));
    json::raw(&mut out, "},\"traits\":[");
    // As Placement numbers them: its own tests compare lists.
    let (custom, standard): (Vec<_>, Vec<_>) =
        state.traits.iter().partition(|name| name.as_str().starts_with("CUSTOM_"));
    json::joined(&mut out, standard.into_iter().chain(custom), |out, name| json::string(out, name.as_str()));
    out.push(b']');
    (String::from_utf8_lossy(&out).into(), quoted)
}

pub fn capacity(out: &mut Vec<u8>, class: &ClassName, held: &Held) {
    json::string(out, class.as_str());
    json::raw(out, ":{\"capacity\":");
    json::number(out, held.inventory.capacity());
    json::raw(out, ",\"used\":");
    json::unsigned(out, held.used);
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Inventory;

    fn inventory() -> impl Strategy<Value = Inventory> {
        let number = || prop_oneof![1..20_u64, 1..=Inventory::LARGEST];
        let ratio = prop_oneof![Just(1.0), 0.0..4.0_f64, 0.5..1e6_f64];
        (number(), number(), number(), number(), number(), ratio).prop_map(
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

    proptest! {
        #[test]
        fn a_capacity_reports_what_its_inventory_reports(
            inventory in inventory(),
            used in prop_oneof![0..20_u64, 0..=Inventory::LARGEST],
            amount in prop_oneof![1..20_u64, 1..=2 * Inventory::LARGEST, any::<u64>()],
        ) {
            let held = Held { inventory, used, created_at: Timestamp::UNIX_EPOCH, updated_at: None };
            let last = u64::try_from(inventory.capacity()).unwrap_or(0).saturating_sub(used);
            for amount in [amount.max(1), last.max(1), last + 1, inventory.max_unit, inventory.min_unit] {
                prop_assert_eq!(RemainingCapacity::new(0, &held).has(amount), inventory.fits(used, amount), "{}", amount);
            }
        }
    }
}
