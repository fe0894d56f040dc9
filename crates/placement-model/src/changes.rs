//! What a write does, as values. It decides nothing; the ledger applies all of it in the transaction that read the facts, or
//! nothing.

use std::collections::{BTreeMap, BTreeSet};

use crate::command::NOBODY;
use crate::provider::Aggregate;
use crate::{ClassName, Facts, Inventory, Key, ProviderId, TraitName};

/// Everything that a write changes. Times are the ledger's.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Changes {
    /// A provider to create; its number is the ledger's.
    pub created: Option<NewProvider>,
    /// Providers that change.
    pub providers: BTreeMap<ProviderId, ProviderChange>,
    /// A provider to delete, with its inventories, traits and aggregates.
    pub deleted: Option<ProviderId>,
    /// Consumers that exist afterwards, with everything they have.
    pub consumers: BTreeMap<Key, ConsumerChange>,
    /// Consumers that have nothing any more.
    pub gone: BTreeSet<Key>,
    /// Custom classes.
    pub classes: Vec<NameChange<ClassName>>,
    /// Custom traits.
    pub traits: Vec<NameChange<TraitName>>,
}

/// A provider to create, with generation 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewProvider {
    /// Its UUID.
    pub uuid: Key,
    /// Its name.
    pub name: String,
    /// Its parent and the root of the parent; `None`: it is a root itself.
    pub above: Option<(ProviderId, ProviderId)>,
}

/// What changes of a provider; `None` leaves it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProviderChange {
    /// By how much the generation grows.
    pub raised: i64,
    /// The new name.
    pub name: Option<String>,
    /// The new parent; the inner `None` makes it a root.
    pub parent: Option<Option<ProviderId>>,
    /// The new root.
    pub root: Option<ProviderId>,
    /// Whether `updated_at` is set.
    pub touched: bool,
    /// Inventories that are written: replaced, or created.
    pub inventories: BTreeMap<ClassName, Inventory>,
    /// Inventories that are deleted.
    pub without: BTreeSet<ClassName>,
    /// What `used` becomes, of inventories that exist afterwards. It is 0 for a new one that is not in here.
    pub used: BTreeMap<ClassName, u64>,
    /// All traits.
    pub traits: Option<BTreeSet<TraitName>>,
    /// All aggregates.
    pub aggregates: Option<Vec<Aggregate>>,
}

impl Changes {
    /// Consumers that had an owner and lose it to a request that named none.
    pub fn disowned(&self, facts: &Facts) -> Vec<Key> {
        let had_owner = |key: &Key| facts.consumers.get(key).is_some_and(|before| before.project != NOBODY);
        let lost = self.consumers.iter().filter(|(key, after)| after.project == NOBODY && had_owner(key));
        lost.map(|(key, _)| key.clone()).collect()
    }

    /// Whether of providers nothing changes but what is used, generations and times.
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
    /// Whether it is new.
    pub created: bool,
    /// Its generation.
    pub generation: i64,
    /// Its project.
    pub project: String,
    /// Its user.
    pub user: String,
    /// Its type.
    pub kind: Option<String>,
    /// All that it has.
    pub allocations: BTreeMap<(ProviderId, ClassName), u64>,
}

/// What becomes of a custom name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameChange<N> {
    /// It exists.
    Create(N),
    /// It is called otherwise, wherever it is used.
    Rename {
        /// As it was.
        from: N,
        /// As it is.
        to: N,
    },
    /// It exists no more.
    Delete(N),
}

/// What the answer to a write that was done has to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was done.
    Done,
    /// Something exists that did not.
    Created,
    /// It existed already.
    Existed,
}
