//! The data of the naive implementation of candidates.

use std::collections::{BTreeMap, BTreeSet};

use berth_placement_model::{ClassName, ProviderId, ProviderState};

/// Some providers and the names that exist.
#[derive(Debug, Clone, Default)]
pub struct Cloud {
    pub providers: BTreeMap<ProviderId, ProviderState>,
    pub classes: BTreeSet<String>,
    pub traits: BTreeSet<String>,
}

pub(super) type Ids = BTreeSet<ProviderId>;
/// The amounts, by provider and class.
pub type Total = BTreeMap<(ProviderId, ClassName), u64>;
/// The providers of each group, by suffix.
pub type Mappings = BTreeMap<String, Ids>;
