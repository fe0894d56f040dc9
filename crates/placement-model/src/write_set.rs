//! The changes of a write, as values. The ledger applies all of them in one transaction, or none.

use std::collections::{BTreeMap, BTreeSet};

use crate::command::UNKNOWN_OWNER;
use crate::provider::Aggregate;
use crate::{ClassName, Inventory, Key, LoadedRows, ProviderId, TraitName};

/// Everything that a write changes. Times are the ledger's.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WriteSet {
    /// A provider to create; its number is the ledger's.
    pub created: Option<NewProvider>,
    pub providers: BTreeMap<ProviderId, ProviderChange>,
    /// A provider to delete, with its inventories, traits and aggregates.
    pub deleted: Option<ProviderId>,
    /// Consumers that exist afterwards, with everything they have.
    pub consumers: BTreeMap<Key, ConsumerChange>,
    pub gone: BTreeSet<Key>,
    pub classes: Vec<NameChange<ClassName>>,
    pub traits: Vec<NameChange<TraitName>>,
}

/// A provider to create, with generation 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewProvider {
    pub uuid: Key,
    pub name: String,
    /// Its parent and the root of the parent; `None`: it is a root itself.
    pub above: Option<(ProviderId, ProviderId)>,
}

/// The changes of a provider; `None` leaves a value as it is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProviderChange {
    pub raised: i64,
    pub name: Option<String>,
    /// The new parent; the inner `None` makes it a root.
    pub parent: Option<Option<ProviderId>>,
    pub root: Option<ProviderId>,
    pub touched: bool,
    pub inventories: BTreeMap<ClassName, Inventory>,
    pub without: BTreeSet<ClassName>,
    /// The new `used` of inventories that exist after the write. It is 0 for a new inventory without an entry.
    pub used: BTreeMap<ClassName, u64>,
    pub traits: Option<BTreeSet<TraitName>>,
    pub aggregates: Option<Vec<Aggregate>>,
}

impl WriteSet {
    /// Consumers that had an owner and lose it to a request that named none.
    pub fn disowned(&self, rows: &LoadedRows) -> Vec<Key> {
        let had_owner = |key: &Key| rows.consumers.get(key).is_some_and(|before| before.project != UNKNOWN_OWNER);
        let lost = self.consumers.iter().filter(|(key, after)| after.project == UNKNOWN_OWNER && had_owner(key));
        lost.map(|(key, _)| key.clone()).collect()
    }

    /// Whether only usage, generations and times of providers change.
    pub fn is_usage(&self) -> bool {
        let is_same = self.created.is_none() && self.deleted.is_none();
        is_same
            && self.classes.is_empty()
            && self.traits.is_empty()
            && self.providers.values().all(ProviderChange::is_usage)
    }
}

impl ProviderChange {
    fn is_usage(&self) -> bool {
        let Self { raised: _, name, parent, root, touched: _, inventories, without, used: _, traits, aggregates } =
            self;
        let is_same = name.is_none() && parent.is_none() && root.is_none();
        is_same && inventories.is_empty() && without.is_empty() && traits.is_none() && aggregates.is_none()
    }
}

/// A consumer as it is afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsumerChange {
    pub created: bool,
    pub generation: i64,
    pub project: String,
    pub user: String,
    pub kind: Option<String>,
    pub allocations: BTreeMap<(ProviderId, ClassName), u64>,
    /// The position of each provider in the write; reads list them in this order.
    pub positions: BTreeMap<ProviderId, i64>,
}

/// The change of a custom name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameChange<N> {
    Create(N),
    /// It is called otherwise, wherever it is used.
    Rename {
        from: N,
        to: N,
    },
    Delete(N),
}

/// The content of the response to a write that succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Done,
    Created,
    Existed,
}
