//! The questions of reads as values: request groups of allocation candidates, and filters of the provider list.

use std::collections::BTreeSet;

use crate::{ClassName, Key, TraitName, Version};

/// GET `/allocation_candidates`, after all checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CandidatesQuestion {
    /// Groups by suffix, in the order of their first parameter; the suffix of the unsuffixed group is empty.
    pub groups: Vec<(String, Group)>,
    pub isolate: bool,
    pub limit: Option<usize>,
    /// The required and forbidden traits of roots, from 1.35.
    pub root_required: Option<RootTraits>,
    /// Groups whose providers must be in one subtree, from 1.36.
    pub same_subtree: Vec<BTreeSet<String>>,
    pub version: Version,
}

/// The required and forbidden traits of anchors.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RootTraits {
    pub required: BTreeSet<TraitName>,
    pub forbidden: BTreeSet<TraitName>,
}

/// One request group, or the filters of the provider list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Group {
    /// Amounts by class, each class once, in the order of the query. `None`: more than 64 bits, which never fits.
    pub resources: Vec<(ClassName, Option<u64>)>,
    pub required: Vec<BTreeSet<TraitName>>,
    pub forbidden: BTreeSet<TraitName>,
    /// Sets of aggregates: member of at least one of each set.
    pub member_of: Vec<BTreeSet<Key>>,
    pub forbidden_aggregates: BTreeSet<Key>,
    pub in_tree: Option<Key>,
}

/// GET `/resource_providers`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProvidersQuestion {
    pub name: Option<String>,
    pub uuid: Option<Key>,
    pub group: Group,
}

/// How candidates are generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GenerationOptions {
    /// A seed that draws the order of anchors; `None`: in the order of creation.
    pub shuffle: Option<u64>,
    /// One request of each anchor in turn instead of all of one anchor.
    pub breadth_first: bool,
    pub most_requests: usize,
    /// Generation stops after so many combinations were tried.
    pub most_combinations: usize,
}
