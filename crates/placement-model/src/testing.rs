//! A ledger in memory for tests: the plainest implementation of [`ReadSet`] and [`WriteSet`], with the [`invariants`]
//! of any ledger.

pub mod invariants;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::loaded_rows::Consumer;
use crate::write_set::{ConsumerChange, NameChange};
use crate::{
    ClassName, Command, Key, LoadedRows, Outcome, ProviderId, ProviderState, ReadSet, Refusal, TraitName, WriteSet,
    decide,
};

/// The whole content of a ledger.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MemoryState {
    pub providers: BTreeMap<ProviderId, ProviderState>,
    /// Consumers, with the time of their last write.
    pub consumers: BTreeMap<Key, (Consumer, Timestamp)>,
    /// The positions of providers in the last write of each consumer.
    pub positions: BTreeMap<Key, BTreeMap<ProviderId, i64>>,
    pub classes: BTreeMap<ClassName, i64>,
    pub traits: BTreeSet<TraitName>,
    /// The numbers of providers and classes that were ever created.
    numbers: i64,
}

impl MemoryState {
    pub fn write(&mut self, command: &Command, now: Timestamp) -> Result<Outcome, Refusal> {
        let (changes, outcome) = decide(command, &self.load(&command.read_set()))?;
        self.apply(changes, now);
        Ok(outcome)
    }

    pub fn provider(&self, uuid: &Key) -> Option<&ProviderState> {
        self.providers.values().find(|provider| provider.uuid == *uuid)
    }

    pub fn load(&self, read_set: &ReadSet) -> LoadedRows {
        let providers = self.wanted_providers(read_set);
        let mut classes = read_set.classes.clone();
        if read_set.class_order {
            classes.extend(providers.values().flat_map(|provider| provider.inventories.keys().cloned()));
        }
        let consumers =
            read_set.consumers.iter().filter_map(|key| Some((key.clone(), self.consumers.get(key)?.0.clone())));
        LoadedRows {
            consumers: consumers.collect(),
            classes: classes.into_iter().filter_map(|name| self.classes.get(&name).map(|at| (name, *at))).collect(),
            traits: read_set.traits.intersection(&self.traits).cloned().collect(),
            used_classes: if read_set.uses { self.used_classes(&read_set.classes) } else { BTreeSet::new() },
            used_traits: if read_set.uses { self.used_traits(&read_set.traits) } else { BTreeSet::new() },
            providers,
        }
    }

    /// Loads all rows.
    pub fn load_all(&self) -> LoadedRows {
        LoadedRows {
            providers: self.providers.clone(),
            consumers: self.consumers.iter().map(|(key, (consumer, _))| (key.clone(), consumer.clone())).collect(),
            classes: self.classes.clone(),
            traits: self.traits.clone(),
            used_classes: self.used_classes(&self.classes.keys().cloned().collect()),
            used_traits: self.used_traits(&self.traits),
        }
    }

    fn wanted_providers(&self, read_set: &ReadSet) -> BTreeMap<ProviderId, ProviderState> {
        let named = |provider: &&ProviderState| read_set.providers.contains(&provider.uuid);
        let roots: BTreeSet<_> = self.providers.values().filter(named).map(|provider| provider.root).collect();
        let consumers = read_set.consumers.iter().filter_map(|key| self.consumers.get(key));
        let left: BTreeSet<_> =
            consumers.flat_map(|(consumer, _)| consumer.allocations.keys()).map(|(provider, _)| *provider).collect();
        let is_wanted = |provider: &&ProviderState| {
            named(provider)
                || read_set.provider_names.contains(&provider.name)
                || left.contains(&provider.id)
                || (read_set.whole_trees && roots.contains(&provider.root))
        };
        let read = |provider: &ProviderState| {
            let mut read = ProviderState { aggregates: Vec::new(), ..provider.clone() };
            if !read_set.inventories {
                read.inventories.clear();
            }
            if !read_set.provider_traits {
                read.traits.clear();
            }
            (read.id, read)
        };
        self.providers.values().filter(is_wanted).map(read).collect()
    }

    fn used_classes(&self, among: &BTreeSet<ClassName>) -> BTreeSet<ClassName> {
        let held = |name: &&ClassName| self.providers.values().any(|provider| provider.inventories.contains_key(*name));
        among.iter().filter(held).cloned().collect()
    }

    fn used_traits(&self, among: &BTreeSet<TraitName>) -> BTreeSet<TraitName> {
        let held = |name: &&TraitName| self.providers.values().any(|provider| provider.traits.contains(*name));
        among.iter().filter(held).cloned().collect()
    }

    pub fn apply(&mut self, changes: WriteSet, now: Timestamp) {
        if let Some(created) = changes.created {
            let id = ProviderId(self.next_number());
            self.providers.insert(id, created.created(id, now));
        }
        for (id, change) in changes.providers {
            if let Some(provider) = self.providers.get_mut(&id) {
                change.change(provider, now);
            }
        }
        if let Some(deleted) = changes.deleted {
            self.providers.remove(&deleted);
        }
        for (key, change) in changes.consumers {
            self.positions.insert(key.clone(), change.positions.clone());
            self.consumers.insert(key, (consumer(change), now));
        }
        for key in changes.gone {
            self.consumers.remove(&key);
            self.positions.remove(&key);
        }
        for change in changes.classes {
            self.change_class(change);
        }
        for change in changes.traits {
            self.change_trait(change);
        }
    }

    fn next_number(&mut self) -> i64 {
        self.numbers += 1;
        self.numbers
    }

    fn change_class(&mut self, change: NameChange<ClassName>) {
        match change {
            NameChange::Create(name) => {
                let number = self.next_number();
                self.classes.insert(name, number);
            }
            NameChange::Delete(name) => {
                self.classes.remove(&name);
            }
            NameChange::Rename { from, to } => self.rename_class(&from, &to),
        }
    }

    fn rename_class(&mut self, from: &ClassName, to: &ClassName) {
        if let Some(number) = self.classes.remove(from) {
            self.classes.insert(to.clone(), number);
        }
        for provider in self.providers.values_mut() {
            if let Some(held) = provider.inventories.remove(from) {
                provider.inventories.insert(to.clone(), held);
            }
        }
        for (consumer, _) in self.consumers.values_mut() {
            let allocations = std::mem::take(&mut consumer.allocations);
            let renamed = |class| if class == *from { to.clone() } else { class };
            consumer.allocations =
                allocations.into_iter().map(|((at, class), amount)| ((at, renamed(class)), amount)).collect();
        }
    }

    fn change_trait(&mut self, change: NameChange<TraitName>) {
        match change {
            NameChange::Create(name) => {
                self.traits.insert(name);
            }
            NameChange::Delete(name) => {
                self.traits.remove(&name);
            }
            // The API renames classes only.
            NameChange::Rename { from, to } => {
                self.traits.remove(&from);
                self.traits.insert(to);
            }
        }
    }
}

fn consumer(change: ConsumerChange) -> Consumer {
    let ConsumerChange { created: _, generation, project, user, kind, allocations, positions: _ } = change;
    Consumer { generation, project, user, kind, allocations }
}
