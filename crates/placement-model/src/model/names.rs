//! Which classes and traits exist, and in which order they are listed.

use std::sync::Arc;

use jiff::Timestamp;

use super::Model;
use super::known::{KnownName, known};
use super::record::Record;
use crate::{ClassName, TraitName};

impl Model {
    /// The properties of a class; `None` if it does not exist.
    pub fn class(&self, name: &ClassName) -> Option<KnownName> {
        known(self.names.classes.entry(self.names.classes.find(name)?)?)
    }

    /// The properties of a trait; `None` if it does not exist.
    pub fn a_trait(&self, name: &TraitName) -> Option<KnownName> {
        known(self.names.traits.entry(self.names.traits.find(name)?)?)
    }

    /// All classes: standard ones in their order, then custom ones in the order of creation.
    pub fn all_classes(&self) -> Vec<(&ClassName, KnownName)> {
        let mut all: Vec<_> =
            self.names.classes.iter().filter_map(|entry| Some((&entry.name, known(entry)?))).collect();
        all.sort_by_key(|class| (class.1.is_custom, class.1.number));
        all
    }

    /// All traits, ascending, with whether a provider has them.
    pub fn all_traits(&self) -> Vec<(&TraitName, KnownName, bool)> {
        self.names.traits.iter().filter_map(|entry| Some((&entry.name, known(entry)?, entry.is_held()))).collect()
    }

    /// Takes a custom class in, new or changed. `number` is the ledger's and grows with creation.
    pub fn put_class(&mut self, name: &ClassName, number: i64, modified: Timestamp) {
        self.names.classes.set_data(name, Some(KnownName::custom(number, modified)));
    }

    pub fn put_trait(&mut self, name: &TraitName, created_at: Timestamp) {
        self.names.traits.set_data(name, Some(KnownName::custom(0, created_at)));
    }

    pub fn remove_class(&mut self, name: &ClassName) {
        self.names.classes.set_data(name, None);
    }

    pub fn remove_trait(&mut self, name: &TraitName) {
        self.names.traits.set_data(name, None);
    }

    /// Calls a custom class otherwise, wherever it is used.
    pub fn rename_class(&mut self, from: &ClassName, to: &ClassName, modified: Timestamp) {
        let Some(number) = self.names.classes.rename(from, to) else { return };
        if let Some(known) = self.class(to) {
            self.put_class(to, known.number, modified);
        }
        for slot in self.names.classes.holders(number).to_vec() {
            let Some(state) = self.record(slot).map(|record| self.view(record).state()) else { continue };
            let record = Record::new(&mut self.names, &state);
            self.records.set(slot.place(), Some(Arc::new(record)));
        }
    }
}
