//! Decides what a write does, or why it is refused. The order of the checks decides which error is reported; locks,
//! times and the transaction belong to the ledger.

mod allocations;
mod consumers;
mod decision;
mod inventories;
mod providers;
mod usage;
mod view;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use crate::command::{ConsumerWrite, NewInventories, ReservedRule};
use crate::names::is_custom;
use crate::provider::Aggregate;
use crate::refusal::Code;
use crate::write_set::{NameChange, ProviderChange};
use crate::{ClassName, Command, Key, LoadedRows, Outcome, ProviderState, Refusal, TraitName, WriteSet, standard};
use allocations::{Interim, Request};
use decision::{Decision, only, raised};
use view::{View, describe_missing_class};

/// Decides `command` on the loaded rows, as a whole or not at all. `rows` has at least the rows of
/// [`Command::read_set`]; more rows change nothing.
pub fn decide(command: &Command, rows: &LoadedRows) -> Decision {
    let view = &View::new(rows);
    match command {
        Command::CreateProvider { uuid, name, parent } => providers::create(view, uuid, name, parent.as_ref()),
        Command::UpdateProvider { uuid, name, parent, reparents } => {
            providers::update(view, uuid, name, parent, *reparents)
        }
        Command::DeleteProvider { uuid } => providers::delete(view, uuid),
        Command::AddInventory { provider, class, inventory, reserved } => {
            inventories::add(view, provider, (class, inventory), *reserved)
        }
        Command::SetInventories { provider, generation, inventories, reserved } => {
            inventories::set_all(view, provider, *generation, inventories, *reserved)
        }
        Command::SetInventory { provider, generation, class, inventory, reserved } => {
            inventories::set_one(view, provider, *generation, (class, inventory), *reserved)
        }
        Command::DeleteInventory { provider, class } => inventories::delete_one(view, provider, class),
        Command::DeleteInventories { provider } => inventories::delete_all(view, provider),
        Command::SetAggregates { provider, generation, aggregates } => {
            set_aggregates(view, provider, *generation, aggregates)
        }
        Command::SetTraits { provider, generation, traits } => set_traits(view, provider, *generation, traits),
        Command::DeleteTraits { provider } => delete_traits(view, provider),
        Command::EnsureTrait { name } => ensure_trait(view, name),
        Command::DeleteTrait { name } => delete_trait(view, name),
        Command::CreateClass { name } => create_class(view, name),
        Command::EnsureClass { name } => ensure_class(view, name),
        Command::RenameClass { from, to } => rename_class(view, from, to),
        Command::DeleteClass { name } => delete_class(view, name),
        Command::SetAllocations(write) => allocations::set_one(view, write),
        Command::SetManyAllocations(writes) => allocations::set_many(view, writes),
        Command::DeleteAllocations { consumer } => allocations::delete(view, consumer),
        Command::Reshape { inventories, allocations } => reshape(view, inventories, allocations),
    }
}

// Traits and aggregates of a provider. It decides which of those writes raise its
// generation.

fn set_aggregates(view: &View<'_>, provider: &Key, generation: Option<i64>, sent: &[String]) -> Decision {
    let provider = view.provider(provider)?;
    let change = match generation {
        Some(generation) => {
            check_generation(provider, generation)?;
            raised()
        }
        None => ProviderChange::default(),
    };
    let mut seen = BTreeSet::new();
    let aggregates = sent.iter().map(|sent| Aggregate { key: Key::new(sent), sent: sent.clone() });
    let aggregates = aggregates.filter(|aggregate| seen.insert(aggregate.key.clone())).collect();
    Ok((only(provider.id, ProviderChange { aggregates: Some(aggregates), ..change }), Outcome::Done))
}

fn set_traits(view: &View<'_>, provider: &Key, generation: i64, traits: &[TraitName]) -> Decision {
    let provider = view.provider(provider)?;
    check_generation(provider, generation)?;
    let wanted: BTreeSet<_> = traits.iter().cloned().collect();
    let unknown: Vec<_> = wanted.iter().filter(|name| !view.has_trait(name)).map(TraitName::as_str).collect();
    if !unknown.is_empty() {
        return Err(Refusal::invalid(format!("No such trait {}", unknown.join(", "))));
    }
    Ok((with_traits(provider, wanted), Outcome::Done))
}

fn delete_traits(view: &View<'_>, provider: &Key) -> Decision {
    Ok((with_traits(view.provider(provider)?, BTreeSet::new()), Outcome::Done))
}

/// The generation shows clients that something changed, so an equal set leaves it.
fn with_traits(provider: &ProviderState, traits: BTreeSet<TraitName>) -> WriteSet {
    if traits == provider.traits {
        return WriteSet::default();
    }
    only(provider.id, ProviderChange { traits: Some(traits), ..raised() })
}

fn check_generation(provider: &ProviderState, generation: i64) -> Result<(), Refusal> {
    if provider.generation == generation {
        return Ok(());
    }
    Err(Refusal::concurrent(
        "Resource provider's generation already changed. Please update the generation and try again.",
    ))
}

// The reshaper moves inventories and allocations of several providers in one step. It decides in three stages: new
// inventories are added, allocations move, old inventories are removed.

fn reshape(view: &View<'_>, new_inventories: &[NewInventories], writes: &[ConsumerWrite]) -> Decision {
    let shapes = shapes(view, new_inventories)?;
    consumers::check(view, writes)?;
    let request = Request::read(view, writes)?;
    let classes = new_inventories.iter().flat_map(|new| &new.inventories).map(|(class, _)| class);
    if let Some(class) = view.unknown_class(classes) {
        return Err(Refusal::invalid(describe_malformed_class(class)));
    }
    let changes = request.grant(view, &interim(&shapes), |_, class| describe_malformed_class(class))?;
    Ok((exactly(view, &shapes, changes)?, Outcome::Done))
}

fn describe_malformed_class(class: &crate::ClassName) -> String {
    format!("malformed reshaper data: {}", describe_missing_class(class))
}

/// A provider and its new inventories.
type Shape<'a> = (&'a ProviderState, &'a NewInventories);

fn shapes<'a>(view: &View<'a>, new_inventories: &'a [NewInventories]) -> Result<Vec<Shape<'a>>, Refusal> {
    let mut seen = BTreeSet::new();
    let shapes = new_inventories.iter().map(|new| {
        if !seen.insert(&new.provider) {
            let text = format!("Resource provider {} is named more than once; name each provider once", new.provider);
            return Err(Refusal::invalid(text));
        }
        shape(view, new)
    });
    shapes.collect()
}

fn shape<'a>(view: &View<'a>, new: &'a NewInventories) -> Result<Shape<'a>, Refusal> {
    let uuid = &new.provider;
    let provider = view.find(uuid).ok_or_else(|| {
        let cause = format!("No resource provider with uuid {uuid} found");
        let text = format!("Resource provider {uuid} in inventories not found: {cause}");
        Refusal::invalid(text).with(Code::ProviderNotFound)
    })?;
    if provider.generation != new.generation {
        return Err(Refusal::concurrent(format!(
            "resource provider generation conflict for provider {uuid}: actual: {}, given: {}",
            provider.generation, new.generation
        )));
    }
    for (class, inventory) in &new.inventories {
        inventories::check_reserved("update", provider, class, inventory, ReservedRule::UpToTotal)?;
    }
    Ok((provider, new))
}

/// The new inventories of each provider; while allocations move, its old ones are there too.
fn interim<'a>(shapes: &[Shape<'a>]) -> Interim<'a> {
    let of = |new: &'a NewInventories| new.inventories.iter().map(|(class, inventory)| (class, inventory)).collect();
    shapes.iter().map(|(provider, new)| (provider.id, of(new))).collect()
}

fn exactly(view: &View<'_>, shapes: &[Shape<'_>], mut changes: WriteSet) -> Result<WriteSet, Refusal> {
    for (provider, new) in shapes {
        let mut change = changes.providers.remove(&provider.id).unwrap_or_default();
        // The generation also counts the interim step, which only exists if something was added.
        change.raised += if new.inventories.is_empty() { 1 } else { 2 };
        change.touched = true;
        let change = inventories::exactly(view, provider, &new.inventories, change)
            .map_err(|in_use| in_use.after("update conflict: "))?;
        changes.providers.insert(provider.id, change);
    }
    Ok(changes)
}

// Custom classes and traits. Standard names do not change, names are unique, and names in use are not deleted.

fn ensure_trait(view: &View<'_>, name: &TraitName) -> Decision {
    if !is_custom(name.as_str()) {
        return Err(Refusal::invalid(
            "The trait is invalid. A valid trait must be no longer than 255 characters, start with the prefix \
             \"CUSTOM_\" and use following characters: \"A\"-\"Z\", \"0\"-\"9\" and \"_\"",
        ));
    }
    if view.has_trait(name) {
        return Ok((WriteSet::default(), Outcome::Existed));
    }
    Ok((of_trait(NameChange::Create(name.clone())), Outcome::Created))
}

fn delete_trait(view: &View<'_>, name: &TraitName) -> Decision {
    if !view.has_trait(name) {
        return Err(Refusal::not_found(format!("No such trait(s): {name}.")));
    }
    if standard::is_standard_trait(name.as_str()) {
        return Err(Refusal::invalid(format!("Cannot delete standard trait {name}.")));
    }
    if view.rows.used_traits.contains(name) {
        return Err(Refusal::conflict(format!("The trait {name} is in use by a resource provider.")));
    }
    Ok((of_trait(NameChange::Delete(name.clone())), Outcome::Done))
}

fn create_class(view: &View<'_>, name: &ClassName) -> Decision {
    if view.has_class(name) {
        return Err(Refusal::conflict(format!("Conflicting resource class already exists: {name}")));
    }
    ensure_class(view, name)
}

fn ensure_class(view: &View<'_>, name: &ClassName) -> Decision {
    if view.has_class(name) {
        return Ok((WriteSet::default(), Outcome::Existed));
    }
    check_custom(name)?;
    Ok((of_class(NameChange::Create(name.clone())), Outcome::Created))
}

fn rename_class(view: &View<'_>, from: &ClassName, to: &ClassName) -> Decision {
    check_exists(view, from)?;
    if standard::is_standard_class(from.as_str()) {
        return Err(Refusal::invalid(format!("Cannot update standard resource class {from}")));
    }
    if from == to {
        return Ok((WriteSet::default(), Outcome::Done));
    }
    if view.has_class(to) {
        return Err(Refusal::conflict(format!("Resource class already exists: {to}")));
    }
    check_custom(to)?;
    Ok((of_class(NameChange::Rename { from: from.clone(), to: to.clone() }), Outcome::Done))
}

fn delete_class(view: &View<'_>, name: &ClassName) -> Decision {
    check_exists(view, name)?;
    let refused = |cause: &str| format!("Error in delete resource class: Cannot delete {cause}");
    if standard::is_standard_class(name.as_str()) {
        return Err(Refusal::invalid(refused(&format!("standard resource class {name}."))));
    }
    if view.rows.used_classes.contains(name) {
        return Err(Refusal::conflict(refused(&format!("resource class {name}. Class is in use in inventory."))));
    }
    Ok((of_class(NameChange::Delete(name.clone())), Outcome::Done))
}

fn check_exists(view: &View<'_>, name: &ClassName) -> Result<(), Refusal> {
    if view.has_class(name) { Ok(()) } else { Err(Refusal::not_found(describe_missing_class(name))) }
}

/// The protocol validates names with the words of its schemas; here only nothing else may ever be stored.
fn check_custom(name: &ClassName) -> Result<(), Refusal> {
    if is_custom(name.as_str()) {
        return Ok(());
    }
    let text = format!(
        "The resource class {name} is invalid: it must start with CUSTOM_, use A-Z, 0-9 and _, and have at most 255 \
         characters"
    );
    Err(Refusal::invalid(text))
}

fn of_class(change: NameChange<ClassName>) -> WriteSet {
    WriteSet { classes: vec![change], ..WriteSet::default() }
}

fn of_trait(change: NameChange<TraitName>) -> WriteSet {
    WriteSet { traits: vec![change], ..WriteSet::default() }
}
