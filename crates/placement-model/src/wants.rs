//! Which rows a write is about. It decides what the ledger reads and locks before [`crate::decide()`]: enough to decide, and
//! for allocations nothing more, because everybody waits for those locks.

use std::collections::BTreeSet;

use crate::command::{ConsumerWrite, Parent};
use crate::{ClassName, Command, Key, TraitName, Wants, standard};

impl Command {
    /// What has to be read before this can be decided.
    pub fn wants(&self) -> Wants {
        match self {
            Self::CreateProvider { uuid, name, parent } => created(uuid, name, parent.as_ref()),
            Self::UpdateProvider { uuid, name, parent, .. } => updated(uuid, name, parent),
            Self::DeleteProvider { uuid } => Wants { trees: true, whole_trees: true, ..inventories_of([uuid]) },
            Self::AddInventory { provider, class, .. }
            | Self::SetInventory { provider, class, .. }
            | Self::DeleteInventory { provider, class } => {
                Wants { classes: custom_classes([class]), ..inventories_of([provider]) }
            }
            Self::SetInventories { provider, inventories, .. } => Wants {
                classes: custom_classes(inventories.iter().map(|(class, _)| class)),
                class_order: true,
                ..inventories_of([provider])
            },
            Self::DeleteInventories { provider } => Wants { class_order: true, ..inventories_of([provider]) },
            Self::SetAggregates { provider, .. } => providers([provider]),
            Self::SetTraits { provider, traits, .. } => {
                Wants { traits: custom_traits(traits), provider_traits: true, ..providers([provider]) }
            }
            Self::DeleteTraits { provider } => Wants { provider_traits: true, ..providers([provider]) },
            Self::EnsureTrait { name } => Wants { traits: custom_traits([name]), ..Wants::default() },
            Self::DeleteTrait { name } => Wants { traits: custom_traits([name]), uses: true, ..Wants::default() },
            Self::CreateClass { name } | Self::EnsureClass { name } => {
                Wants { classes: custom_classes([name]), ..Wants::default() }
            }
            Self::RenameClass { from, to } => Wants { classes: custom_classes([from, to]), ..Wants::default() },
            Self::DeleteClass { name } => Wants { classes: custom_classes([name]), uses: true, ..Wants::default() },
            Self::SetAllocations(write) => allocations(std::slice::from_ref(write)),
            Self::SetManyAllocations(writes) => allocations(writes),
            Self::DeleteAllocations { consumer } => {
                Wants { consumers: BTreeSet::from([consumer.clone()]), inventories: true, ..Wants::default() }
            }
            Self::Reshape { inventories, allocations: writes } => {
                let mut wants = Wants { class_order: true, ..allocations(writes) };
                wants.providers.extend(inventories.iter().map(|new| new.provider.clone()));
                let classes = inventories.iter().flat_map(|new| &new.inventories).map(|(class, _)| class);
                wants.classes.append(&mut custom_classes(classes));
                wants
            }
        }
    }
}

fn created(uuid: &Key, name: &str, parent: Option<&Key>) -> Wants {
    let named = [Some(uuid), parent].into_iter().flatten();
    Wants { trees: parent.is_some(), provider_names: BTreeSet::from([name.to_owned()]), ..providers(named) }
}

fn updated(uuid: &Key, name: &str, parent: &Parent) -> Wants {
    let (moves, above) = match parent {
        Parent::Unchanged => (false, None),
        Parent::Set(above) => (true, above.as_ref()),
    };
    let named = [Some(uuid), above].into_iter().flatten();
    let provider_names = BTreeSet::from([name.to_owned()]);
    Wants { trees: moves, whole_trees: moves, provider_names, ..providers(named) }
}

fn providers<'a>(keys: impl IntoIterator<Item = &'a Key>) -> Wants {
    Wants { providers: keys.into_iter().cloned().collect(), ..Wants::default() }
}

fn inventories_of<'a>(keys: impl IntoIterator<Item = &'a Key>) -> Wants {
    Wants { inventories: true, ..providers(keys) }
}

fn allocations(writes: &[ConsumerWrite]) -> Wants {
    let named = || writes.iter().flat_map(|write| &write.allocations);
    Wants {
        consumers: writes.iter().map(|write| write.consumer.clone()).collect(),
        classes: custom_classes(named().flat_map(|(_, amounts)| amounts).map(|(class, _)| class)),
        ..inventories_of(named().map(|(provider, _)| provider))
    }
}

/// Everything that is not standard: the ledger says which of them exist.
fn custom_classes<'a>(names: impl IntoIterator<Item = &'a ClassName>) -> BTreeSet<ClassName> {
    names.into_iter().filter(|name| !standard::is_standard_class(name.as_str())).cloned().collect()
}

fn custom_traits<'a>(names: impl IntoIterator<Item = &'a TraitName>) -> BTreeSet<TraitName> {
    names.into_iter().filter(|name| !standard::is_standard_trait(name.as_str())).cloned().collect()
}
