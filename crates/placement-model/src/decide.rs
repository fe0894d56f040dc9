//! What a write does, or why it is refused. It decides the order of checks, which says which of several errors wins,
//! and leaves locks, numbers, times and the transaction to the ledger.

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

use crate::changes::{NameChange, ProviderChange};
use crate::command::{ConsumerWrite, NewInventories, ReservedRule};
use crate::names::is_custom;
use crate::provider::Aggregate;
use crate::refusal::Code;
use crate::{Changes, ClassName, Command, Facts, Key, Outcome, ProviderState, Refusal, TraitName, standard};
use allocations::{Interim, Request};
use decision::{Decision, only, raised};
use view::{View, no_such_class};

/// What `command` does to what was read, all of it or nothing. `facts` has at least what [`Command::wants`] names; more
/// changes nothing.
pub fn decide(command: &Command, facts: &Facts) -> Decision {
    let view = &View::new(facts);
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

/// The generation tells others that something changed, so an equal set leaves it.
fn with_traits(provider: &ProviderState, traits: BTreeSet<TraitName>) -> Changes {
    if traits == provider.traits {
        return Changes::default();
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

// The reshaper: inventories and allocations of several providers move in one step. It decides in
// three: what is new is there as well, allocations move, what is old goes.

fn reshape(view: &View<'_>, news: &[NewInventories], writes: &[ConsumerWrite]) -> Decision {
    let shapes = shapes(view, news)?;
    consumers::check(view, writes)?;
    let request = Request::read(view, writes)?;
    let classes = news.iter().flat_map(|new| &new.inventories).map(|(class, _)| class);
    if let Some(class) = view.unknown_class(classes) {
        return Err(Refusal::invalid(malformed(class)));
    }
    let changes = request.grant(view, &interim(&shapes), |_, class| malformed(class))?;
    Ok((exactly(view, &shapes, changes)?, Outcome::Done))
}

fn malformed(class: &crate::ClassName) -> String {
    format!("malformed reshaper data: {}", no_such_class(class))
}

/// A provider and what it is to have.
type Shape<'a> = (&'a ProviderState, &'a NewInventories);

fn shapes<'a>(view: &View<'a>, news: &'a [NewInventories]) -> Result<Vec<Shape<'a>>, Refusal> {
    let mut seen = BTreeSet::new();
    let shapes = news.iter().map(|new| {
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

fn exactly(view: &View<'_>, shapes: &[Shape<'_>], mut changes: Changes) -> Result<Changes, Refusal> {
    for (provider, new) in shapes {
        let mut change = changes.providers.remove(&provider.id).unwrap_or_default();
        // The interim step shows in the generation, and there is none where nothing was added.
        change.raised += if new.inventories.is_empty() { 1 } else { 2 };
        change.touched = true;
        let change = inventories::exactly(view, provider, &new.inventories, change)
            .map_err(|in_use| in_use.after("update conflict: "))?;
        changes.providers.insert(provider.id, change);
    }
    Ok(changes)
}

// Custom classes and traits. It decides that standard names stay as they are, that names are
// unique, and that nothing that is used is deleted.

fn ensure_trait(view: &View<'_>, name: &TraitName) -> Decision {
    if !is_custom(name.as_str()) {
        return Err(Refusal::invalid(
            "The trait is invalid. A valid trait must be no longer than 255 characters, start with the prefix \
             \"CUSTOM_\" and use following characters: \"A\"-\"Z\", \"0\"-\"9\" and \"_\"",
        ));
    }
    if view.has_trait(name) {
        return Ok((Changes::default(), Outcome::Existed));
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
    if view.facts.used_traits.contains(name) {
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
        return Ok((Changes::default(), Outcome::Existed));
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
        return Ok((Changes::default(), Outcome::Done));
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
    if view.facts.used_classes.contains(name) {
        return Err(Refusal::conflict(refused(&format!("resource class {name}. Class is in use in inventory."))));
    }
    Ok((of_class(NameChange::Delete(name.clone())), Outcome::Done))
}

fn check_exists(view: &View<'_>, name: &ClassName) -> Result<(), Refusal> {
    if view.has_class(name) { Ok(()) } else { Err(Refusal::not_found(no_such_class(name))) }
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

fn of_class(change: NameChange<ClassName>) -> Changes {
    Changes { classes: vec![change], ..Changes::default() }
}

fn of_trait(change: NameChange<TraitName>) -> Changes {
    Changes { traits: vec![change], ..Changes::default() }
}
