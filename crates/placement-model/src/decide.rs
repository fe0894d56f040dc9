//! What a write does, or why it is refused (document 51 sections 4 to 9 and 11). It decides the order of checks, which says
//! which of several errors wins, and leaves locks, numbers, times and the transaction to the ledger.

mod allocations;
mod associations;
mod consumers;
mod decision;
mod inventories;
mod names;
mod providers;
mod reshape;
mod usage;
mod view;

#[cfg(test)]
mod tests;

use crate::{Command, Facts};
use decision::Decision;
use view::View;

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
            associations::set_aggregates(view, provider, *generation, aggregates)
        }
        Command::SetTraits { provider, generation, traits } => {
            associations::set_traits(view, provider, *generation, traits)
        }
        Command::DeleteTraits { provider } => associations::delete_traits(view, provider),
        Command::EnsureTrait { name } => names::ensure_trait(view, name),
        Command::DeleteTrait { name } => names::delete_trait(view, name),
        Command::CreateClass { name } => names::create_class(view, name),
        Command::EnsureClass { name } => names::ensure_class(view, name),
        Command::RenameClass { from, to } => names::rename_class(view, from, to),
        Command::DeleteClass { name } => names::delete_class(view, name),
        Command::SetAllocations(write) => allocations::set_one(view, write),
        Command::SetManyAllocations(writes) => allocations::set_many(view, writes),
        Command::DeleteAllocations { consumer } => allocations::delete(view, consumer),
        Command::Reshape { inventories, allocations } => reshape::reshape(view, inventories, allocations),
    }
}
