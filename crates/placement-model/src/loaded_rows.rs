//! The rows that a transaction reads before a write is decided: the read set, and the loaded rows.

use std::collections::{BTreeMap, BTreeSet};

use crate::{ClassName, Key, ProviderId, ProviderState, TraitName};

/// The rows that a command needs, to be locked in the order of the issue: trees, consumers by key, providers by number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is about rows of its own")]
pub struct ReadSet {
    /// Whether shapes of trees change or must not change: the one lock for trees.
    pub trees: bool,
    /// Whether every provider of the trees of `providers` is read. Only with `trees`.
    pub whole_trees: bool,
    /// Providers by UUID. Those that `consumers` have allocations at are read as well.
    pub providers: BTreeSet<Key>,
    /// Whether inventories and usage of providers are read; if not they may be empty in the facts.
    pub inventories: bool,
    /// Whether traits of providers are read; if not they may be empty in the facts. Aggregates and times always may be anything.
    pub provider_traits: bool,
    /// Whether `classes` of the facts has the custom classes of inventories that are read as well, because a text lists them
    /// in order.
    pub class_order: bool,
    /// Providers by name, for names that must be unique.
    pub provider_names: BTreeSet<String>,
    pub consumers: BTreeSet<Key>,
    pub classes: BTreeSet<ClassName>,
    pub traits: BTreeSet<TraitName>,
    /// Whether it matters who uses `classes` (in inventories) and `traits` (of providers).
    pub uses: bool,
}

/// The rows that were read. Rows that are missing here do not exist.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LoadedRows {
    /// Providers, with their inventories and usage.
    pub providers: BTreeMap<ProviderId, ProviderState>,
    pub consumers: BTreeMap<Key, Consumer>,
    /// Those of the wanted custom classes (see also [`ReadSet::class_order`]) that exist, with their number: the order of creation.
    pub classes: BTreeMap<ClassName, i64>,
    /// Those of the wanted custom traits that exist.
    pub traits: BTreeSet<TraitName>,
    /// Those of the wanted classes that are in an inventory.
    pub used_classes: BTreeSet<ClassName>,
    /// Those of the wanted traits that a provider has.
    pub used_traits: BTreeSet<TraitName>,
}

/// A consumer: it exists as long as it has allocations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consumer {
    /// 0 when it is created, one more with each write.
    pub generation: i64,
    pub project: String,
    pub user: String,
    /// Its type, from 1.38 on.
    pub kind: Option<String>,
    pub allocations: BTreeMap<(ProviderId, ClassName), u64>,
}
