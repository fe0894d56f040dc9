//! The view of decisions: standard names always exist, all other things exist if they were loaded.

use crate::{ClassName, Key, LoadedRows, ProviderState, Refusal, TraitName, standard};

/// The facts of one write.
pub(super) struct View<'a> {
    pub rows: &'a LoadedRows,
    /// Ascending, so that a request for many providers finds each in logarithmic time.
    by_uuid: Vec<&'a ProviderState>,
}

impl<'a> View<'a> {
    pub(super) fn new(rows: &'a LoadedRows) -> Self {
        let mut by_uuid: Vec<_> = rows.providers.values().collect();
        by_uuid.sort_unstable_by_key(|provider| &provider.uuid);
        Self { rows, by_uuid }
    }

    pub(super) fn find(&self, uuid: &Key) -> Option<&'a ProviderState> {
        let place = self.by_uuid.binary_search_by_key(&uuid, |provider| &provider.uuid).ok()?;
        self.by_uuid.get(place).copied()
    }

    pub(super) fn provider(&self, uuid: &Key) -> Result<&'a ProviderState, Refusal> {
        self.find(uuid).ok_or_else(|| Refusal::not_found(format!("No resource provider with uuid {uuid} found")))
    }

    pub(super) fn named(&self, name: &str) -> Option<&'a ProviderState> {
        self.rows.providers.values().find(|provider| provider.name == name)
    }

    pub(super) fn has_class(&self, class: &ClassName) -> bool {
        standard::is_standard_class(class.as_str()) || self.rows.classes.contains_key(class)
    }

    pub(super) fn has_trait(&self, name: &TraitName) -> bool {
        standard::is_standard_trait(name.as_str()) || self.rows.traits.contains(name)
    }

    /// The first of them that does not exist.
    pub(super) fn unknown_class<'b>(&self, classes: impl IntoIterator<Item = &'b ClassName>) -> Option<&'b ClassName> {
        classes.into_iter().find(|class| !self.has_class(class))
    }

    /// Standard classes first, in the order of Placement.
    pub(super) fn in_order<'b>(&self, classes: impl IntoIterator<Item = &'b ClassName>) -> Vec<&'b str> {
        let mut names: Vec<_> = classes.into_iter().collect();
        names.sort_by_key(|class| standard::class_order(class.as_str(), self.rows.classes.get(*class).copied()));
        names.into_iter().map(ClassName::as_str).collect()
    }
}

/// The common part of all texts about an unknown class.
pub(super) fn describe_missing_class(class: &ClassName) -> String {
    format!("No such resource class {class}.")
}
