//! Which classes and traits exist, and when they were last changed. It decides their order in lists (document 51 sections 6
//! and 7).

use std::sync::Arc;

use jiff::Timestamp;

use super::{Model, Record, register::Entry};
use crate::{ClassName, TraitName};

/// What is known of a name that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// `false` for standard names.
    pub is_custom: bool,
    /// Its place among standard names, or the ledger's number of a custom class.
    pub number: i64,
    /// When it was created or renamed; `None` for standard names.
    pub modified: Option<Timestamp>,
}

impl Known {
    pub(super) fn standard(place: usize) -> Self {
        Self { is_custom: false, number: i64::try_from(place).unwrap_or(i64::MAX), modified: None }
    }

    fn custom(number: i64, modified: Timestamp) -> Self {
        Self { is_custom: true, number, modified: Some(modified) }
    }

    /// A standard name of a newer binary that a provider uses.
    const NEWER: Self = Self { is_custom: false, number: i64::MAX, modified: None };
}

/// What a name is to questions: a name that is no custom one exists when a provider uses it, because a newer binary on the same
/// ledger may know more standard names.
fn known<N: AsRef<str>>(entry: &Entry<N, Known>) -> Option<Known> {
    entry.mark.or_else(|| (entry.is_held() && !entry.name.as_ref().starts_with("CUSTOM_")).then_some(Known::NEWER))
}

impl Model {
    /// What is known of a class; `None`: it does not exist.
    pub fn class(&self, name: &ClassName) -> Option<Known> {
        known(self.classes.entry(self.classes.find(name)?)?)
    }

    /// What is known of a trait; `None`: it does not exist.
    pub fn a_trait(&self, name: &TraitName) -> Option<Known> {
        known(self.traits.entry(self.traits.find(name)?)?)
    }

    /// All classes: standard ones in their order, then custom ones in the order of creation.
    pub fn all_classes(&self) -> Vec<(&ClassName, Known)> {
        let mut all: Vec<_> = self.classes.iter().filter_map(|entry| Some((&entry.name, known(entry)?))).collect();
        all.sort_by_key(|class| (class.1.is_custom, class.1.number));
        all
    }

    /// All traits, ascending, with whether a provider has them.
    pub fn all_traits(&self) -> Vec<(&TraitName, Known, bool)> {
        self.traits.iter().filter_map(|entry| Some((&entry.name, known(entry)?, entry.is_held()))).collect()
    }

    /// Takes a custom class in, new or changed. `number` is the ledger's and grows with creation.
    pub fn put_class(&mut self, name: &ClassName, number: i64, modified: Timestamp) {
        self.classes.mark(name, Some(Known::custom(number, modified)));
    }

    /// Takes a custom trait in.
    pub fn put_trait(&mut self, name: &TraitName, created_at: Timestamp) {
        self.traits.mark(name, Some(Known::custom(0, created_at)));
    }

    /// Forgets a custom class.
    pub fn remove_class(&mut self, name: &ClassName) {
        self.classes.mark(name, None);
    }

    /// Forgets a custom trait.
    pub fn remove_trait(&mut self, name: &TraitName) {
        self.traits.mark(name, None);
    }

    /// Calls a custom class otherwise, wherever it is used.
    pub fn rename_class(&mut self, from: &ClassName, to: &ClassName, modified: Timestamp) {
        let Some(number) = self.classes.rename(from, to) else { return };
        if let Some(known) = self.class(to) {
            self.put_class(to, known.number, modified);
        }
        for slot in self.classes.holders(number).to_vec() {
            let Some(state) = self.record(slot).map(|record| self.view(record).state()) else { continue };
            let record = Record::new(self, &state);
            self.records.set(slot.place(), Some(Arc::new(record)));
        }
    }
}
