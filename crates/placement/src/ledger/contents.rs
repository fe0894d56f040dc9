//! Everything that a model is made of, and what changes of it. It decides how the news of several writes add up to one.

use std::collections::BTreeMap;

use berth_placement_model::{ClassName, ProviderId, ProviderState, TraitName};
use jiff::Timestamp;

/// A whole database, without consumers and their allocations.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Contents {
    /// Providers in the order of creation.
    pub providers: Vec<ProviderState>,
    /// Custom names.
    pub names: CustomNames,
}

/// The custom names that exist.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CustomNames {
    /// Classes in the order of creation.
    pub classes: Vec<CustomClass>,
    /// Traits with the time of their creation.
    pub traits: BTreeMap<TraitName, Timestamp>,
}

/// A custom class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CustomClass {
    /// What it is called.
    pub name: ClassName,
    /// The ledger's number.
    pub number: i64,
    /// When it was created or renamed.
    pub modified: Timestamp,
}

/// What has changed of the contents.
#[derive(Debug, Default)]
pub(super) struct News {
    /// Providers by number.
    pub providers: BTreeMap<ProviderId, Change>,
    /// The custom names, if one of them has changed.
    pub names: Option<CustomNames>,
}

/// What has become of a provider.
#[derive(Debug)]
pub(super) enum Change {
    /// It is this now.
    Whole(Box<ProviderState>),
    /// It is this now, except that its traits and aggregates are not known and have not changed.
    Amounts(Box<ProviderState>),
    /// Only this has changed.
    Used(Used),
    /// It is gone.
    Gone,
}

/// What claims change of a provider.
#[derive(Debug, Default)]
pub(super) struct Used {
    pub generation: i64,
    pub updated_at: Option<Timestamp>,
    /// Of every class that it has.
    pub amounts: Vec<(ClassName, u64)>,
}

impl Used {
    /// Writes it over what was before.
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

impl News {
    /// Whether nothing has changed.
    pub fn is_empty(&self) -> bool {
        self.providers.is_empty() && self.names.is_none()
    }

    /// Adds what happened later.
    pub fn add(&mut self, id: ProviderId, change: Change) {
        let change = match (self.providers.remove(&id), change) {
            (Some(Change::Whole(before)), Change::Amounts(now)) => {
                let ProviderState { traits, aggregates, .. } = *before;
                Change::Whole(Box::new(ProviderState { traits, aggregates, ..*now }))
            }
            (Some(Change::Whole(mut before)), Change::Used(now)) => {
                now.change(&mut before);
                Change::Whole(before)
            }
            (Some(Change::Amounts(mut before)), Change::Used(now)) => {
                now.change(&mut before);
                Change::Amounts(before)
            }
            (_, change) => change,
        };
        self.providers.insert(id, change);
    }
}
