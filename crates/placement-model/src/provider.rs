//! One resource provider, as a transaction reads it and as the model holds it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::{ClassName, Inventory, Key, TraitName};

/// The ledger's number of a provider. Numbers grow with creation, the same on every replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProviderId(pub i64);

/// Everything that is known of a provider, usage included.
#[derive(Debug, Clone, PartialEq)]
pub struct ProviderState {
    pub id: ProviderId,
    pub uuid: Key,
    pub name: String,
    pub generation: i64,
    /// The provider above it; `None` for a root.
    pub parent: Option<ProviderId>,
    /// The root of its tree, itself for a root.
    pub root: ProviderId,
    pub created_at: Timestamp,
    /// When it was last changed; `None` when it never was.
    pub updated_at: Option<Timestamp>,
    pub inventories: BTreeMap<ClassName, Held>,
    pub traits: BTreeSet<TraitName>,
    /// Its aggregates: each key once, with the spelling that was sent, in the order of sending.
    pub aggregates: Vec<Aggregate>,
}

/// An aggregate of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aggregate {
    pub key: Key,
    pub sent: String,
}

/// One inventory and how much of it is allocated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Held {
    pub inventory: Inventory,
    pub used: u64,
    pub created_at: Timestamp,
    /// When it was last changed; `None` when it never was.
    pub updated_at: Option<Timestamp>,
}
