//! Names inside of a model.

use jiff::Timestamp;

use super::register::{Entry, Register};
use crate::{ClassName, Key, TraitName};

/// The properties of a name that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownName {
    /// `false` for standard names.
    pub is_custom: bool,
    /// Its place among standard names, or the ledger's number of a custom class.
    pub number: i64,
    /// When it was created or renamed; `None` for standard names.
    pub modified: Option<Timestamp>,
}

impl KnownName {
    pub(super) fn standard(place: usize) -> Self {
        Self { is_custom: false, number: i64::try_from(place).unwrap_or(i64::MAX), modified: None }
    }

    pub(super) fn custom(number: i64, modified: Timestamp) -> Self {
        Self { is_custom: true, number, modified: Some(modified) }
    }

    /// A standard name of a newer binary that a provider uses.
    const NEWER: Self = Self { is_custom: false, number: i64::MAX, modified: None };
}

/// All names of a model, with their numbers.
#[derive(Debug, Clone, Default)]
pub struct Names {
    pub classes: Register<ClassName, KnownName>,
    pub traits: Register<TraitName, KnownName>,
    pub aggregates: Register<Key, ()>,
}

/// A standard name also exists if a provider uses it, because a newer binary on the same ledger may know more standard
/// names.
pub(super) fn known<N: AsRef<str>>(entry: &Entry<N, KnownName>) -> Option<KnownName> {
    entry.data.or_else(|| (entry.is_held() && !entry.name.as_ref().starts_with("CUSTOM_")).then_some(KnownName::NEWER))
}
