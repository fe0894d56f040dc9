//! What reads ask of the model, as values: request groups of allocation candidates and filters of the provider list. It
//! decides nothing; how query strings become questions is in `parse`, what the answer is in `candidates` and `listing`.

use std::collections::BTreeSet;

use crate::{ClassName, Key, TraitName, Version};

/// GET `/allocation_candidates`, after all checks of document 51 section 12.1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CandidatesQuestion {
    /// Groups by suffix, in the order of their first parameter; the suffix of the unsuffixed group is empty.
    pub groups: Vec<(String, Group)>,
    /// `group_policy=isolate`.
    pub isolate: bool,
    /// The most requests to answer.
    pub limit: Option<usize>,
    /// What roots must and must not have, from 1.35.
    pub root_required: Option<RootTraits>,
    /// Groups whose providers must be in one subtree, from 1.36.
    pub same_subtree: Vec<BTreeSet<String>>,
    /// Whose form the answer has.
    pub version: Version,
}

/// What anchors must be like.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RootTraits {
    /// All of them.
    pub required: BTreeSet<TraitName>,
    /// None of them.
    pub forbidden: BTreeSet<TraitName>,
}

/// One request group, or the filters of the provider list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Group {
    /// Amounts by class, each class once, in the order of the query. `None`: more than 64 bits, which never fits.
    pub resources: Vec<(ClassName, Option<u64>)>,
    /// Required sets: of each at least one.
    pub required: Vec<BTreeSet<TraitName>>,
    /// None of them.
    pub forbidden: BTreeSet<TraitName>,
    /// Sets of aggregates: member of at least one of each set.
    pub member_of: Vec<BTreeSet<Key>>,
    /// Member of none of them.
    pub forbidden_aggregates: BTreeSet<Key>,
    /// In the tree of this provider.
    pub in_tree: Option<Key>,
}

/// GET `/resource_providers`; document 51 section 4.3.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProvidersQuestion {
    /// Has this name.
    pub name: Option<String>,
    /// Has this UUID.
    pub uuid: Option<Key>,
    /// Everything else.
    pub group: Group,
}

/// How candidates are generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GenerationOptions {
    /// A seed that draws the order of anchors; `None`: in the order of creation.
    pub shuffle: Option<u64>,
    /// One request of each anchor in turn instead of all of one anchor.
    pub breadth_first: bool,
    /// Generation stops after so many distinct requests.
    pub most_requests: usize,
    /// Generation stops after so many combinations were tried.
    pub most_combinations: usize,
}
