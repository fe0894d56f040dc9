//! What the plain second implementation of candidates is asked about.

use std::collections::{BTreeMap, BTreeSet};

use berth_placement_model::{ClassName, ProviderId, ProviderState};

/// Some providers and the names that exist.
#[derive(Debug, Clone, Default)]
pub struct Cloud {
    /// By number.
    pub providers: BTreeMap<ProviderId, ProviderState>,
    /// Classes that exist.
    pub classes: BTreeSet<String>,
    /// Traits that exist.
    pub traits: BTreeSet<String>,
}

pub(super) type Ids = BTreeSet<ProviderId>;
/// What is taken, by provider and class.
pub type Total = BTreeMap<(ProviderId, ClassName), u64>;
/// The providers of each group, by suffix.
pub type Mappings = BTreeMap<String, Ids>;
