//! All providers in memory, with the indexes that questions need.
//!
//! A model is a value. A copy shares everything with the original until one of them changes, and a change copies a few
//! chunks, so a reader holds a copy and sees one state while the writer continues. A write costs as much as the
//! provider that it changes.

mod column;
mod known;
mod names;
mod record;
mod register;
mod slot;
mod sorted;
mod view;

use std::sync::Arc;

pub use known::KnownName;
pub(crate) use record::{Record, capacity};
pub(crate) use register::{Number, Register};
pub(crate) use slot::{Slot, Tree};
pub use view::Provider;

use crate::{ClassName, Key, ProviderId, ProviderState, TraitName};
use column::Column;
use known::Names;
use sorted::Sorted;

/// All providers, and the names of classes and traits.
#[derive(Debug, Clone, Default)]
pub struct Model {
    records: Column<Arc<Record>>,
    free: Arc<Vec<Slot>>,
    by_id: Sorted<ProviderId, Slot>,
    by_uuid: Sorted<Key, Slot>,
    trees: Sorted<ProviderId, Tree>,
    names: Names,
}

impl Model {
    /// A model with nothing but standard names, in their order.
    pub fn new(classes: &[&str], traits: &[&str]) -> Self {
        let mut model = Self::default();
        for (place, name) in classes.iter().enumerate() {
            model.names.classes.set_data(&ClassName::new(name), Some(KnownName::standard(place)));
        }
        for (place, name) in traits.iter().enumerate() {
            model.names.traits.set_data(&TraitName::new(name), Some(KnownName::standard(place)));
        }
        model
    }

    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn put(&mut self, state: &ProviderState) {
        let slot = self.slot_for(state.id);
        let record = Record::new(&mut self.names, state);
        let old = self.records.get(slot.place()).cloned();
        self.reindex(slot, old.as_deref(), Some(&record));
        self.records.set(slot.place(), Some(Arc::new(record)));
    }

    pub fn remove(&mut self, id: ProviderId) {
        let Some(slot) = self.by_id.remove(&id) else { return };
        let old = self.records.get(slot.place()).cloned();
        self.records.set(slot.place(), None);
        self.reindex(slot, old.as_deref(), None);
        Arc::make_mut(&mut self.free).push(slot);
    }

    fn slot_for(&mut self, id: ProviderId) -> Slot {
        if let Some(slot) = self.by_id.get(&id) {
            return *slot;
        }
        let slot = Arc::make_mut(&mut self.free).pop().unwrap_or_else(|| Slot::new(self.records.add()));
        self.by_id.insert(id, slot);
        slot
    }

    fn reindex(&mut self, slot: Slot, old: Option<&Record>, new: Option<&Record>) {
        let classes = |record: Option<&Record>| -> Vec<Number> {
            record.iter().flat_map(|record| record.inventories.iter().map(|held| held.0)).collect()
        };
        self.names.classes.hold(slot, &classes(old), &classes(new));
        self.names.traits.hold(slot, old.map_or(&[], |old| &old.traits), new.map_or(&[], |new| &new.traits));
        self.names.aggregates.hold(
            slot,
            old.map_or(&[], |old| &old.aggregates),
            new.map_or(&[], |new| &new.aggregates),
        );
        if old.map(|old| &old.uuid) != new.map(|new| &new.uuid) {
            // Another provider may have the UUID by now: it was deleted and created again.
            if let Some(old) = old.filter(|old| self.by_uuid.get(&old.uuid) == Some(&slot)) {
                self.by_uuid.remove(&old.uuid);
            }
            if let Some(new) = new {
                self.by_uuid.insert(new.uuid.clone(), slot);
            }
        }
        if old.map(|old| old.root) != new.map(|new| new.root) {
            if let Some(old) = old {
                self.leave_tree(old.root, old.id);
            }
            if let Some(new) = new {
                self.enter_tree(new.root, (new.id, slot));
            }
        }
    }

    fn enter_tree(&mut self, root: ProviderId, member: (ProviderId, Slot)) {
        let others = self.trees.get(&root).map_or(&[][..], |tree| &tree.members);
        let place = others.partition_point(|other| other.0 < member.0);
        let members = others[..place].iter().chain([&member]).chain(&others[place..]).copied().collect();
        self.trees.insert(root, Tree { root, members });
    }

    fn leave_tree(&mut self, root: ProviderId, id: ProviderId) {
        let Some(tree) = self.trees.get(&root) else { return };
        let members: Arc<[_]> = tree.members.iter().filter(|member| member.0 != id).copied().collect();
        if members.is_empty() {
            self.trees.remove(&root);
        } else {
            self.trees.insert(root, Tree { root, members });
        }
    }
}

/// The indexes of questions.
impl Model {
    pub(crate) fn record(&self, slot: Slot) -> Option<&Record> {
        self.records.get(slot.place()).map(|record| &**record)
    }

    /// How many slots there are, used or not.
    pub(crate) fn slots(&self) -> usize {
        self.records.len()
    }

    pub(crate) fn slot(&self, id: ProviderId) -> Option<Slot> {
        self.by_id.get(&id).copied()
    }

    /// Trees in the order in which their roots were created.
    pub(crate) fn trees(&self) -> &Sorted<ProviderId, Tree> {
        &self.trees
    }

    pub(crate) fn class_register(&self) -> &Register<ClassName, KnownName> {
        &self.names.classes
    }

    pub(crate) fn trait_register(&self) -> &Register<TraitName, KnownName> {
        &self.names.traits
    }

    pub(crate) fn aggregate_register(&self) -> &Register<Key, ()> {
        &self.names.aggregates
    }
}

#[cfg(test)]
mod tests;
