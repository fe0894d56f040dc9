//! The contents of a model, and change sets that add up.

use std::collections::BTreeMap;

use berth_placement_model::{ClassName, ProviderId, ProviderState, TraitName};
use jiff::Timestamp;

/// A whole database, without consumers and their allocations.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Contents {
    pub providers: Vec<ProviderState>,
    pub names: CustomNames,
}

/// The custom names that exist.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CustomNames {
    pub classes: Vec<CustomClass>,
    pub traits: BTreeMap<TraitName, Timestamp>,
}

/// A custom class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CustomClass {
    pub name: ClassName,
    pub number: i64,
    pub modified: Timestamp,
}

/// The changes of the contents.
#[derive(Debug, Default)]
pub(super) struct ChangeSet {
    pub providers: BTreeMap<ProviderId, ProviderUpdate>,
    /// The custom names, if one of them has changed.
    pub names: Option<CustomNames>,
}

/// The change of a provider.
#[derive(Debug)]
pub(super) enum ProviderUpdate {
    Whole(Box<ProviderState>),
    /// It is this now, except that its traits and aggregates are not known and have not changed.
    Amounts(Box<ProviderState>),
    /// Only this has changed.
    Used(Used),
    Gone,
}

/// The changes of a provider by claims.
#[derive(Debug, Default)]
pub(super) struct Used {
    pub generation: i64,
    pub updated_at: Option<Timestamp>,
    pub amounts: Vec<(ClassName, u64)>,
}

impl Used {
    pub fn change(&self, state: &mut ProviderState) {
        state.generation = self.generation;
        state.updated_at = self.updated_at;
        for (class, used) in &self.amounts {
            if let Some(held) = state.inventories.get_mut(class) {
                held.used = *used;
            }
        }
    }
}

impl ChangeSet {
    pub fn is_empty(&self) -> bool {
        self.providers.is_empty() && self.names.is_none()
    }

    pub fn add(&mut self, id: ProviderId, change: ProviderUpdate) {
        let change = match (self.providers.remove(&id), change) {
            (Some(ProviderUpdate::Whole(before)), ProviderUpdate::Amounts(now)) => {
                let ProviderState { traits, aggregates, .. } = *before;
                ProviderUpdate::Whole(Box::new(ProviderState { traits, aggregates, ..*now }))
            }
            (Some(ProviderUpdate::Whole(mut before)), ProviderUpdate::Used(now)) => {
                now.change(&mut before);
                ProviderUpdate::Whole(before)
            }
            (Some(ProviderUpdate::Amounts(mut before)), ProviderUpdate::Used(now)) => {
                now.change(&mut before);
                ProviderUpdate::Amounts(before)
            }
            (_, change) => change,
        };
        self.providers.insert(id, change);
    }
}
