//! One resource provider as a transaction reads it and as the model holds it. It decides nothing.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::{ClassName, Inventory, Key, TraitName};

/// The ledger's number of a provider. Numbers grow with creation, the same on every replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProviderId(pub i64);

/// Everything that is known of a provider, usage included.
#[derive(Debug, Clone, PartialEq)]
pub struct ProviderState {
    /// The ledger's number.
    pub id: ProviderId,
    /// The UUID of the API.
    pub uuid: Key,
    /// Unique among providers.
    pub name: String,
    /// Raised as document 51 section 2 says.
    pub generation: i64,
    /// The provider above it; `None` for a root.
    pub parent: Option<ProviderId>,
    /// The root of its tree, itself for a root.
    pub root: ProviderId,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was last changed; `None` when it never was.
    pub updated_at: Option<Timestamp>,
    /// What it has.
    pub inventories: BTreeMap<ClassName, Held>,
    /// Its traits.
    pub traits: BTreeSet<TraitName>,
    /// Its aggregates: each key once, with the spelling that was sent, in the order of sending.
    pub aggregates: Vec<Aggregate>,
}

/// An aggregate of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aggregate {
    /// What it is compared by.
    pub key: Key,
    /// What is shown.
    pub sent: String,
}

/// One inventory and how much of it is allocated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Held {
    /// The record.
    pub inventory: Inventory,
    /// The sum of all allocations.
    pub used: u64,
    /// When it was first written.
    pub created_at: Timestamp,
    /// When it was last changed; `None` when it never was.
    pub updated_at: Option<Timestamp>,
}
