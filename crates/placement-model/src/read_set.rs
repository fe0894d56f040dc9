//! The read set of a write: which rows the ledger reads and locks before [`crate::decide()`]. It is as small as
//! possible, because other writes wait for these locks.

use std::collections::BTreeSet;

use crate::command::{ConsumerWrite, Parent};
use crate::{ClassName, Command, Key, ReadSet, TraitName, standard};

impl Command {
    /// The rows that must be loaded before this command can be decided.
    pub fn read_set(&self) -> ReadSet {
        match self {
            Self::CreateProvider { uuid, name, parent } => created(uuid, name, parent.as_ref()),
            Self::UpdateProvider { uuid, name, parent, .. } => updated(uuid, name, parent),
            Self::DeleteProvider { uuid } => ReadSet { trees: true, whole_trees: true, ..inventories_of([uuid]) },
            Self::AddInventory { provider, class, .. }
            | Self::SetInventory { provider, class, .. }
            | Self::DeleteInventory { provider, class } => {
                ReadSet { classes: custom_classes([class]), ..inventories_of([provider]) }
            }
            Self::SetInventories { provider, inventories, .. } => ReadSet {
                classes: custom_classes(inventories.iter().map(|(class, _)| class)),
                class_order: true,
                ..inventories_of([provider])
            },
            Self::DeleteInventories { provider } => ReadSet { class_order: true, ..inventories_of([provider]) },
            Self::SetAggregates { provider, .. } => providers([provider]),
            Self::SetTraits { provider, traits, .. } => {
                ReadSet { traits: custom_traits(traits), provider_traits: true, ..providers([provider]) }
            }
            Self::DeleteTraits { provider } => ReadSet { provider_traits: true, ..providers([provider]) },
            Self::EnsureTrait { name } => ReadSet { traits: custom_traits([name]), ..ReadSet::default() },
            Self::DeleteTrait { name } => ReadSet { traits: custom_traits([name]), uses: true, ..ReadSet::default() },
            Self::CreateClass { name } | Self::EnsureClass { name } => {
                ReadSet { classes: custom_classes([name]), ..ReadSet::default() }
            }
            Self::RenameClass { from, to } => ReadSet { classes: custom_classes([from, to]), ..ReadSet::default() },
            Self::DeleteClass { name } => ReadSet { classes: custom_classes([name]), uses: true, ..ReadSet::default() },
            Self::SetAllocations(write) => allocations(std::slice::from_ref(write)),
            Self::SetManyAllocations(writes) => allocations(writes),
            Self::DeleteAllocations { consumer } => {
                ReadSet { consumers: BTreeSet::from([consumer.clone()]), inventories: true, ..ReadSet::default() }
            }
            Self::Reshape { inventories, allocations: writes } => {
                let mut read_set = ReadSet { class_order: true, ..allocations(writes) };
                read_set.providers.extend(inventories.iter().map(|new| new.provider.clone()));
                let classes = inventories.iter().flat_map(|new| &new.inventories).map(|(class, _)| class);
                read_set.classes.append(&mut custom_classes(classes));
                read_set
            }
        }
    }
}

fn created(uuid: &Key, name: &str, parent: Option<&Key>) -> ReadSet {
    let named = [Some(uuid), parent].into_iter().flatten();
    ReadSet { trees: parent.is_some(), provider_names: BTreeSet::from([name.to_owned()]), ..providers(named) }
}

fn updated(uuid: &Key, name: &str, parent: &Parent) -> ReadSet {
    let (moves, above) = match parent {
        Parent::Unchanged => (false, None),
        Parent::Set(above) => (true, above.as_ref()),
    };
    let named = [Some(uuid), above].into_iter().flatten();
    let provider_names = BTreeSet::from([name.to_owned()]);
    ReadSet { trees: moves, whole_trees: moves, provider_names, ..providers(named) }
}

fn providers<'a>(keys: impl IntoIterator<Item = &'a Key>) -> ReadSet {
    ReadSet { providers: keys.into_iter().cloned().collect(), ..ReadSet::default() }
}

fn inventories_of<'a>(keys: impl IntoIterator<Item = &'a Key>) -> ReadSet {
    ReadSet { inventories: true, ..providers(keys) }
}

fn allocations(writes: &[ConsumerWrite]) -> ReadSet {
    let named = || writes.iter().flat_map(|write| &write.allocations);
    ReadSet {
        consumers: writes.iter().map(|write| write.consumer.clone()).collect(),
        classes: custom_classes(named().flat_map(|(_, amounts)| amounts).map(|(class, _)| class)),
        ..inventories_of(named().map(|(provider, _)| provider))
    }
}

/// All names that are not standard: the ledger knows which of them exist.
fn custom_classes<'a>(names: impl IntoIterator<Item = &'a ClassName>) -> BTreeSet<ClassName> {
    names.into_iter().filter(|name| !standard::is_standard_class(name.as_str())).cloned().collect()
}

fn custom_traits<'a>(names: impl IntoIterator<Item = &'a TraitName>) -> BTreeSet<TraitName> {
    names.into_iter().filter(|name| !standard::is_standard_trait(name.as_str())).cloned().collect()
}
