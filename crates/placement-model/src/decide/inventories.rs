//! Writes of inventories: inventories in use cannot be removed, and no more can be reserved than the total; an
//! inventory may shrink below its usage.

use std::collections::{BTreeMap, BTreeSet};

use super::decision::{Decision, only, raised};
use super::view::{View, describe_missing_class};
use crate::command::ReservedRule;
use crate::refusal::Code;
use crate::write_set::ProviderChange;
use crate::{ClassName, Inventory, Key, Outcome, ProviderState, Refusal};

pub(super) fn add(
    view: &View<'_>,
    provider: &Key,
    (class, inventory): (&ClassName, &Inventory),
    rule: ReservedRule,
) -> Decision {
    let provider = view.provider(provider)?;
    check_reserved("create", provider, class, inventory, rule)?;
    if !view.has_class(class) {
        let cause = describe_missing_class(class);
        let text = format!("Unable to create inventory for resource provider {}: {cause}", provider.uuid);
        return Err(Refusal::invalid(text));
    }
    if provider.inventories.contains_key(class) {
        let text = format!("Update conflict: {} has an inventory of class {class}; PUT replaces it", provider.uuid);
        return Err(Refusal::concurrent(text));
    }
    let change = ProviderChange { inventories: [(class.clone(), *inventory)].into(), ..raised() };
    Ok((only(provider.id, change), Outcome::Created))
}

pub(super) fn set_one(
    view: &View<'_>,
    provider: &Key,
    generation: i64,
    (class, inventory): (&ClassName, &Inventory),
    rule: ReservedRule,
) -> Decision {
    let provider = view.provider(provider)?;
    check_generation(provider, generation)?;
    check_reserved("update", provider, class, inventory, rule)?;
    if !view.has_class(class) {
        return Err(Refusal::not_found(describe_missing_class(class)));
    }
    if !provider.inventories.contains_key(class) {
        return Err(Refusal::invalid(format!(
            "No inventory record with resource class for resource provider {}: No inventory of class {class} found.",
            provider.uuid
        )));
    }
    let change = ProviderChange { inventories: [(class.clone(), *inventory)].into(), ..raised() };
    Ok((only(provider.id, change), Outcome::Done))
}

pub(super) fn set_all(
    view: &View<'_>,
    provider: &Key,
    generation: i64,
    inventories: &[(ClassName, Inventory)],
    rule: ReservedRule,
) -> Decision {
    let provider = view.provider(provider)?;
    check_generation(provider, generation)?;
    for (class, inventory) in inventories {
        check_reserved("update", provider, class, inventory, rule)?;
    }
    if let Some(class) = view.unknown_class(inventories.iter().map(|(class, _)| class)) {
        return Err(Refusal::invalid(format!(
            "Unknown resource class in inventory for resource provider {}: {}",
            provider.uuid,
            describe_missing_class(class)
        )));
    }
    let change = exactly(view, provider, inventories, raised()).map_err(|in_use| in_use.after("update conflict: "))?;
    Ok((only(provider.id, change), Outcome::Done))
}

pub(super) fn delete_one(view: &View<'_>, provider: &Key, class: &ClassName) -> Decision {
    let provider = view.provider(provider)?;
    let missing = |cause| Refusal::not_found(format!("No inventory of class {class} found for delete: {cause}"));
    if !view.has_class(class) {
        return Err(missing(describe_missing_class(class)));
    }
    let held = provider
        .inventories
        .get(class)
        .ok_or_else(|| missing(format!("{} has no inventory of class {class}.", provider.uuid)))?;
    if held.used > 0 {
        let cause = InUse::new(view, provider, [class]);
        return Err(Refusal::concurrent(format!("Unable to delete inventory of class {class}: {}", cause.0)));
    }
    let change = ProviderChange { without: [class.clone()].into(), ..raised() };
    Ok((only(provider.id, change), Outcome::Done))
}

pub(super) fn delete_all(view: &View<'_>, provider: &Key) -> Decision {
    let provider = view.provider(provider)?;
    let change = exactly(view, provider, &[], raised()).map_err(|in_use| in_use.after(""))?;
    Ok((only(provider.id, change), Outcome::Done))
}

/// Sets the inventories of the provider in `change`. Inventories in use after the change must stay.
pub(super) fn exactly(
    view: &View<'_>,
    provider: &ProviderState,
    inventories: &[(ClassName, Inventory)],
    mut change: ProviderChange,
) -> Result<ProviderChange, InUse> {
    let inventories: BTreeMap<_, _> = inventories.iter().cloned().collect();
    let without: BTreeSet<_> =
        provider.inventories.keys().filter(|class| !inventories.contains_key(*class)).cloned().collect();
    let used = |class: &ClassName| {
        change.used.get(class).copied().or_else(|| provider.inventories.get(class).map(|held| held.used)).unwrap_or(0)
    };
    let in_use: Vec<_> = without.iter().filter(|class| used(class) > 0).collect();
    if !in_use.is_empty() {
        return Err(InUse::new(view, provider, in_use));
    }
    change.used.retain(|class, _| !without.contains(class));
    Ok(ProviderChange { inventories, without, ..change })
}

/// Inventories with allocations would disappear.
pub(super) struct InUse(String);

impl InUse {
    fn new<'a>(view: &View<'_>, provider: &ProviderState, classes: impl IntoIterator<Item = &'a ClassName>) -> Self {
        let classes = view.in_order(classes).join(", ");
        Self(format!("Inventory for '{classes}' on resource provider '{}' in use.", provider.uuid))
    }

    /// 409, with these words before it.
    pub(super) fn after(&self, words: &str) -> Refusal {
        Refusal::conflict(format!("{words}{}", self.0)).with(Code::InventoryInUse)
    }
}

fn check_generation(provider: &ProviderState, generation: i64) -> Result<(), Refusal> {
    if provider.generation == generation {
        return Ok(());
    }
    Err(Refusal::concurrent("resource provider generation conflict"))
}

/// The capacity rule; `action` is the verb of its text.
pub(super) fn check_reserved(
    action: &str,
    provider: &ProviderState,
    class: &ClassName,
    inventory: &Inventory,
    rule: ReservedRule,
) -> Result<(), Refusal> {
    let capacity = inventory.capacity();
    let cause = match rule {
        ReservedRule::BelowTotal if capacity <= 0 => "greater than or equal to total",
        ReservedRule::UpToTotal if capacity < 0 => "greater than total",
        _ => return Ok(()),
    };
    let uuid = &provider.uuid;
    Err(Refusal::invalid(format!(
        "Unable to {action} inventory for resource provider {uuid}: Invalid inventory for '{class}' on resource \
         provider '{uuid}'. The reserved value is {cause}."
    )))
}
