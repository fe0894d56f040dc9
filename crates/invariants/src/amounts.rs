//! Amounts in resource maps, and how they are formatted.

use std::collections::BTreeMap;

use berth_core::Quantity;
use berth_crds::{self as crds, CommittedResourceSpec, ResourceType, resources};

const MIB: i128 = 1 << 20;

pub(crate) const RESOURCES: [&str; 2] = [resources::MEMORY, resources::CPU];

/// A used amount, rounded up; 0 if it is absent, invalid or negative.
pub(crate) fn used(map: &BTreeMap<String, crds::Quantity>, resource: &str) -> i128 {
    map.get(resource).map_or(0, amount)
}

pub(crate) fn amount(quantity: &crds::Quantity) -> i128 {
    sensible(quantity).map_or(0, |quantity| quantity.round_up().into())
}

/// An available amount, rounded down, if it is present and valid.
pub(crate) fn offered(map: &BTreeMap<String, crds::Quantity>, resource: &str) -> Option<i128> {
    sensible(map.get(resource)?).map(|quantity| quantity.round_down().into())
}

/// The bytes that a commitment holds in slots; cores hold none.
pub(crate) fn memory_of(spec: &CommittedResourceSpec) -> i128 {
    if spec.resource_type == ResourceType::Memory { amount(&spec.amount) } else { 0 }
}

fn sensible(quantity: &crds::Quantity) -> Option<Quantity> {
    let quantity = Quantity::parse(quantity.as_str()).ok()?;
    (!quantity.is_negative()).then_some(quantity)
}

pub(crate) fn mib_up(bytes: i128) -> i128 {
    (bytes + MIB - 1).div_euclid(MIB)
}

/// `512 MiB of memory`, `3 of cpu`.
pub(crate) fn format_amount(amount: i128, resource: &str) -> String {
    let memory = resource == resources::MEMORY;
    let unit = if memory { " MiB" } else { "" };
    format!("{}{unit} of {resource}", if memory { mib_up(amount) } else { amount })
}
