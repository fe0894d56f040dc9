//! Read access to one provider of a model.

use jiff::Timestamp;

use super::Model;
use super::record::Record;
use super::slot::Slot;
use crate::provider::{Aggregate, Held};
use crate::{ClassName, Key, ProviderId, ProviderState, TraitName};

impl Model {
    pub fn provider(&self, uuid: &Key) -> Option<Provider<'_>> {
        Some(self.view(self.record(*self.by_uuid.get(uuid)?)?))
    }

    pub fn by_number(&self, id: ProviderId) -> Option<Provider<'_>> {
        Some(self.view(self.record(*self.by_id.get(&id)?)?))
    }

    pub fn providers(&self) -> impl Iterator<Item = Provider<'_>> {
        self.by_id.values().filter_map(|slot| Some(self.view(self.record(*slot)?)))
    }

    pub(crate) fn at(&self, slot: Slot) -> Option<Provider<'_>> {
        Some(self.view(self.record(slot)?))
    }

    pub(super) fn view<'m>(&'m self, record: &'m Record) -> Provider<'m> {
        Provider { model: self, record }
    }
}

/// A provider of a model, with names instead of numbers.
#[derive(Debug, Clone, Copy)]
pub struct Provider<'m> {
    pub(crate) model: &'m Model,
    pub(crate) record: &'m Record,
}

impl<'m> Provider<'m> {
    pub fn id(&self) -> ProviderId {
        self.record.id
    }

    pub fn uuid(&self) -> &'m Key {
        &self.record.uuid
    }

    pub fn name(&self) -> &'m str {
        &self.record.name
    }

    pub fn generation(&self) -> i64 {
        self.record.generation
    }

    /// The provider above it; `None` for a root.
    pub fn parent(&self) -> Option<Provider<'m>> {
        self.model.by_number(self.record.parent?)
    }

    /// The root of its tree, itself for a root and for one whose root is not known.
    pub fn root(&self) -> Provider<'m> {
        self.model.by_number(self.record.root).unwrap_or(*self)
    }

    pub fn created_at(&self) -> Timestamp {
        self.record.created_at
    }

    pub fn updated_at(&self) -> Option<Timestamp> {
        self.record.updated_at
    }

    /// The inventories, by name of the class.
    pub fn inventories(&self) -> Vec<(&'m ClassName, &'m Held)> {
        let named = |held: &'m (u32, Held)| Some((&self.model.names.classes.entry(held.0)?.name, &held.1));
        let mut all: Vec<_> = self.record.inventories.iter().filter_map(named).collect();
        all.sort_unstable_by_key(|held| held.0);
        all
    }

    pub fn inventory(&self, class: &ClassName) -> Option<&'m Held> {
        self.record.held(self.model.names.classes.find(class)?)
    }

    pub fn traits(&self) -> Vec<&'m TraitName> {
        let named = |number: &u32| Some(&self.model.names.traits.entry(*number)?.name);
        let mut all: Vec<_> = self.record.traits.iter().filter_map(named).collect();
        all.sort_unstable();
        all
    }

    /// Its aggregates, in the order in which they were sent.
    pub fn aggregates(&self) -> &'m [Aggregate] {
        &self.record.sent
    }

    /// Everything of it, as it was taken in.
    pub fn state(&self) -> ProviderState {
        ProviderState {
            id: self.id(),
            uuid: self.uuid().clone(),
            name: self.name().to_owned(),
            generation: self.generation(),
            parent: self.record.parent,
            root: self.record.root,
            created_at: self.created_at(),
            updated_at: self.updated_at(),
            inventories: self.inventories().into_iter().map(|(class, held)| (class.clone(), *held)).collect(),
            traits: self.traits().into_iter().cloned().collect(),
            aggregates: self.aggregates().to_vec(),
        }
    }
}
