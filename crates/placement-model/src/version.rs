//! The microversion of a request, 1.0 to 1.39.

use std::fmt;

/// A microversion; the major number is always 1, and without a header it is 1.0.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(u8);

impl Version {
    /// 1.0.
    pub const OLDEST: Self = Self(0);
    /// 1.39.
    pub const NEWEST: Self = Self(39);

    /// 1.`minor`, if it is one that is served.
    pub const fn new(minor: u8) -> Option<Self> {
        if minor <= Self::NEWEST.0 { Some(Self(minor)) } else { None }
    }

    pub const fn minor(self) -> u8 {
        self.0
    }

    /// Whether what came with that version is there.
    pub const fn has(self, what: Self) -> bool {
        self.0 >= what.0
    }
}

/// The additions of each microversion, for [`Version::has`].
impl Version {
    /// 1.1: aggregates of providers.
    pub const AGGREGATES: Self = Self(1);
    /// 1.2: resource classes that people create.
    pub const CLASSES: Self = Self(2);
    /// 1.3: `member_of` in the list of providers.
    pub const PROVIDERS_BY_AGGREGATE: Self = Self(3);
    /// 1.4: `resources` in the list of providers.
    pub const PROVIDERS_BY_RESOURCES: Self = Self(4);
    /// 1.5: DELETE of all inventories of a provider.
    pub const DELETE_INVENTORIES: Self = Self(5);
    /// 1.6: traits.
    pub const TRAITS: Self = Self(6);
    /// 1.7: PUT of a class creates it, and has no body.
    pub const CLASS_WITHOUT_BODY: Self = Self(7);
    /// 1.8: A consumer has a project and a user.
    pub const CONSUMER_OWNERS: Self = Self(8);
    /// 1.9: usages of a project.
    pub const USAGES: Self = Self(9);
    /// 1.10: allocation candidates.
    pub const CANDIDATES: Self = Self(10);
    /// 1.11: providers link to their allocations.
    pub const ALLOCATIONS_LINK: Self = Self(11);
    /// 1.12: allocations are an object by provider.
    pub const ALLOCATIONS_BY_PROVIDER: Self = Self(12);
    /// 1.13: allocations of many consumers at once.
    pub const MANY_ALLOCATIONS: Self = Self(13);
    /// 1.14: providers have parents and roots.
    pub const NESTED_PROVIDERS: Self = Self(14);
    /// 1.15: answers say how old they are.
    pub const LAST_MODIFIED: Self = Self(15);
    /// 1.16: `limit` of candidates.
    pub const LIMIT: Self = Self(16);
    /// 1.17: `required` in candidates.
    pub const REQUIRED_TRAITS: Self = Self(17);
    /// 1.18: `required` in the list of providers.
    pub const PROVIDERS_BY_TRAITS: Self = Self(18);
    /// 1.19: aggregates are guarded by the generation of their provider.
    pub const AGGREGATE_GENERATIONS: Self = Self(19);
    /// 1.20: POST of a provider returns the created provider.
    pub const PROVIDER_SHOWN: Self = Self(20);
    /// 1.21: `member_of` in candidates.
    pub const CANDIDATES_BY_AGGREGATE: Self = Self(21);
    /// 1.22: traits that a provider must not have.
    pub const FORBIDDEN_TRAITS: Self = Self(22);
    /// 1.23: errors have codes.
    pub const ERROR_CODES: Self = Self(23);
    /// 1.24: `member_of` more than once.
    pub const REPEATED_MEMBER_OF: Self = Self(24);
    /// 1.25: groups of resources with suffixes.
    pub const GRANULAR_GROUPS: Self = Self(25);
    /// 1.26: all of an inventory may be reserved.
    pub const ALL_RESERVED: Self = Self(26);
    /// 1.27: summaries have all classes of a provider.
    pub const ALL_CLASSES_SUMMARIZED: Self = Self(27);
    /// 1.28: consumers have generations.
    pub const CONSUMER_GENERATIONS: Self = Self(28);
    /// 1.29: candidates use several providers of a tree.
    pub const NESTED_CANDIDATES: Self = Self(29);
    /// 1.30: inventories and allocations change at once.
    pub const RESHAPER: Self = Self(30);
    /// 1.31: `in_tree` in candidates.
    pub const CANDIDATES_IN_TREE: Self = Self(31);
    /// 1.32: aggregates that a provider must not be in.
    pub const FORBIDDEN_AGGREGATES: Self = Self(32);
    /// 1.33: suffixes of groups are words.
    pub const GROUP_NAMES: Self = Self(33);
    /// 1.34: candidates and allocations say which provider serves which group.
    pub const MAPPINGS: Self = Self(34);
    /// 1.35: `root_required` in candidates.
    pub const ROOT_REQUIRED: Self = Self(35);
    /// 1.36: `same_subtree` in candidates.
    pub const SAME_SUBTREE: Self = Self(36);
    /// 1.37: providers may change their parent.
    pub const REPARENTING: Self = Self(37);
    /// 1.38: consumers have types.
    pub const CONSUMER_TYPES: Self = Self(38);
    /// 1.39: `required` may name several traits of which one is enough.
    pub const ANY_TRAITS: Self = Self(39);
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "1.{}", self.0)
    }
}
