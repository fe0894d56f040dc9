//! Questions that are written as query strings are parsed into the same questions, in every microversion that has their
//! parameters; one version earlier the parameter is unknown.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};

use berth_placement_model::question::{CandidatesQuestion, Group, ProvidersQuestion, RootTraits};
use berth_placement_model::{ClassName, Key, TraitName, Version, parse};
use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

const CLASSES: [&str; 4] = ["VCPU", "MEMORY_MB", "DISK_GB", "CUSTOM_GOLD"];
const WANTED: [&str; 3] = ["HW_CPU_X86_AVX2", "STORAGE_DISK_SSD", "CUSTOM_FAST"];
const UNWANTED: [&str; 2] = ["HW_NUMA_ROOT", "CUSTOM_SLOW"];
const AGGREGATES: [&str; 4] = [
    "00000002-0000-4000-8000-000000000000",
    "00000002-0000-4000-8000-000000000001",
    "00000002-0000-4000-8000-000000000002",
    "00000002-0000-4000-8000-00000000000f",
];
const PROVIDER: &str = "00000001-0000-4000-8000-000000000007";

type Pairs = Vec<(String, String)>;

fn version(minor: u8) -> Version {
    Version::new(minor).unwrap()
}

fn traits(names: impl IntoIterator<Item = &'static str>) -> BTreeSet<TraitName> {
    names.into_iter().map(TraitName::new).collect()
}

fn keys(names: impl IntoIterator<Item = &'static str>) -> BTreeSet<Key> {
    names.into_iter().map(Key::new).collect()
}

fn any_group() -> impl Strategy<Value = Group> {
    let resources = btree_map(select(CLASSES.to_vec()), 1_u64..100_000, 1..4);
    let required = vec(btree_set(select(WANTED.to_vec()), 1..3), 0..3);
    let member_of = vec(btree_set(select(AGGREGATES[..2].to_vec()), 1..3), 0..3);
    let forbidden = (subsequence(UNWANTED.to_vec(), 0..3), subsequence(AGGREGATES[2..].to_vec(), 0..3));
    (resources, required, member_of, forbidden, any::<bool>()).prop_map(
        |(resources, required, member_of, (forbidden, forbidden_aggregates), is_in_tree)| Group {
            resources: resources.into_iter().map(|(class, amount)| (ClassName::new(class), Some(amount))).collect(),
            required: required.into_iter().map(traits).collect(),
            forbidden: traits(forbidden),
            member_of: member_of.into_iter().map(keys).collect(),
            forbidden_aggregates: keys(forbidden_aggregates),
            in_tree: is_in_tree.then(|| Key::new(PROVIDER)),
        },
    )
}

/// Removes the members that a version does not have yet.
fn known_to(mut group: Group, version: Version, is_list: bool) -> Group {
    let since = |of_list, of_candidates| version.has(if is_list { of_list } else { of_candidates });
    if !since(Version::PROVIDERS_BY_TRAITS, Version::REQUIRED_TRAITS) {
        group.required.clear();
    }
    if !version.has(Version::ANY_TRAITS) {
        group.required.retain(|set| set.len() == 1);
        // One parameter has each trait once.
        group.required.sort();
        group.required.dedup();
    }
    if !version.has(Version::FORBIDDEN_TRAITS) || !since(Version::PROVIDERS_BY_TRAITS, Version::REQUIRED_TRAITS) {
        group.forbidden.clear();
    }
    if !since(Version::PROVIDERS_BY_AGGREGATE, Version::CANDIDATES_BY_AGGREGATE) {
        group.member_of.clear();
    }
    if !version.has(Version::REPEATED_MEMBER_OF) {
        group.member_of.truncate(1);
    }
    if !version.has(Version::FORBIDDEN_AGGREGATES) {
        group.forbidden_aggregates.clear();
    }
    if !since(Version::NESTED_PROVIDERS, Version::CANDIDATES_IN_TREE) {
        group.in_tree = None;
    }
    if is_list && !version.has(Version::PROVIDERS_BY_RESOURCES) {
        group.resources.clear();
    }
    group
}

fn joined<T: ToString>(all: impl IntoIterator<Item = T>) -> String {
    all.into_iter().map(|one| one.to_string()).collect::<Vec<_>>().join(",")
}

/// A set of alternatives: `a`, or `in:a,b`.
fn any_of<T: ToString>(set: &BTreeSet<T>) -> String {
    let text = joined(set.iter().map(T::to_string));
    if set.len() > 1 { format!("in:{text}") } else { text }
}

fn write_group(group: &Group, suffix: &str, pairs: &mut Pairs) {
    let mut add = |family: &str, value: String| pairs.push((format!("{family}{suffix}"), value));
    if !group.resources.is_empty() {
        add("resources", joined(group.resources.iter().map(|(class, amount)| format!("{class}:{}", amount.unwrap()))));
    }
    let (one, any): (Vec<_>, Vec<_>) = group.required.iter().partition(|set| set.len() == 1);
    let forbidden = group.forbidden.iter().map(|name| format!("!{name}"));
    let plain: Vec<String> = one.into_iter().map(any_of).chain(forbidden).collect();
    if !plain.is_empty() {
        add("required", plain.join(","));
    }
    for set in any {
        add("required", any_of(set));
    }
    group.member_of.iter().for_each(|set| add("member_of", any_of(set)));
    group.forbidden_aggregates.iter().for_each(|key| add("member_of", format!("!{key}")));
    group.in_tree.iter().for_each(|key| add("in_tree", key.to_string()));
}

/// Sorts everything whose order does not matter.
fn in_order(mut group: Group) -> Group {
    group.resources.sort();
    group.required.sort();
    group.required.dedup();
    group.member_of.sort();
    group
}

fn suffixes(version: Version) -> Vec<&'static str> {
    match () {
        () if !version.has(Version::GRANULAR_GROUPS) => vec![""],
        () if version.has(Version::GROUP_NAMES) => vec!["", "_NIC", "b-2", "3"],
        () => vec!["", "1", "2", "30"],
    }
}

fn any_candidates() -> impl Strategy<Value = CandidatesQuestion> {
    let parts = (10_u8..40).prop_flat_map(|minor| {
        let suffixes = suffixes(version(minor));
        let count = suffixes.len();
        (Just(minor), subsequence(suffixes, 1..=count), vec(any_group(), count))
    });
    let others = (prop::option::of(1_usize..50), any::<[bool; 3]>(), subsequence(WANTED.to_vec(), 1..3));
    (parts, others).prop_map(|((minor, suffixes, groups), (limit, [isolate, has_roots, is_nested], roots))| {
        let version = version(minor);
        let granular: BTreeSet<String> =
            suffixes.iter().filter(|suffix| !suffix.is_empty()).map(|suffix| (*suffix).to_owned()).collect();
        let groups = suffixes.into_iter().zip(groups);
        let roots = RootTraits { required: traits(roots), forbidden: traits(UNWANTED) };
        CandidatesQuestion {
            isolate: isolate && !granular.is_empty() && version.has(Version::GRANULAR_GROUPS),
            limit: limit.filter(|_| version.has(Version::LIMIT)),
            root_required: (has_roots && version.has(Version::ROOT_REQUIRED)).then_some(roots),
            same_subtree: if is_nested && version.has(Version::SAME_SUBTREE) && !granular.is_empty() {
                vec![granular]
            } else {
                Vec::new()
            },
            groups: groups.map(|(suffix, group)| (suffix.to_owned(), known_to(group, version, false))).collect(),
            version,
        }
    })
}

fn write_candidates(question: &CandidatesQuestion) -> Pairs {
    let mut pairs = Pairs::new();
    for (suffix, group) in &question.groups {
        write_group(group, suffix, &mut pairs);
    }
    let mut add = |key: &str, value: String| pairs.push((key.to_owned(), value));
    if question.isolate {
        add("group_policy", "isolate".to_owned());
    } else if question.groups.iter().filter(|(suffix, _)| !suffix.is_empty()).count() > 1 {
        add("group_policy", "none".to_owned());
    }
    question.limit.iter().for_each(|limit| add("limit", limit.to_string()));
    if let Some(roots) = &question.root_required {
        let forbidden = roots.forbidden.iter().map(|name| format!("!{name}"));
        add("root_required", joined(roots.required.iter().map(ToString::to_string).chain(forbidden)));
    }
    question.same_subtree.iter().for_each(|suffixes| add("same_subtree", joined(suffixes)));
    pairs
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn questions_about_candidates_are_read_as_they_were_written(question in any_candidates()) {
        let pairs = write_candidates(&question);
        let mut read = parse::candidates(&pairs, question.version).unwrap();
        let mut question = question;
        for groups in [&mut read.groups, &mut question.groups] {
            for (_, group) in groups {
                *group = in_order(std::mem::take(group));
            }
        }
        prop_assert_eq!(read, question, "{:?}", pairs);
    }

    #[test]
    fn questions_about_providers_are_read_as_they_were_written(
        group in any_group(),
        name in prop::option::of("[a-z]{1,8}"),
        is_one in any::<bool>(),
        minor in 0_u8..40,
    ) {
        let (version, mut pairs) = (version(minor), Pairs::new());
        let group = known_to(group, version, true);
        write_group(&group, "", &mut pairs);
        pairs.extend(name.iter().map(|name| ("name".to_owned(), name.clone())));
        if is_one {
            pairs.push(("uuid".to_owned(), PROVIDER.to_owned()));
        }
        let read = parse::providers(&pairs, version).unwrap();
        let read = ProvidersQuestion { group: in_order(read.group), ..read };
        let uuid = is_one.then(|| Key::new(PROVIDER));
        prop_assert_eq!(read, ProvidersQuestion { name, uuid, group: in_order(group) }, "{:?}", pairs);
    }
}

#[test]
fn each_parameter_is_unknown_one_version_before_it_comes() {
    let known: BTreeMap<&str, (&str, u8)> = BTreeMap::from([
        ("limit", ("3", Version::LIMIT.minor())),
        ("required", ("CUSTOM_FAST", Version::REQUIRED_TRAITS.minor())),
        ("member_of", (AGGREGATES[0], Version::CANDIDATES_BY_AGGREGATE.minor())),
        ("group_policy", ("none", Version::GRANULAR_GROUPS.minor())),
        ("resources1", ("VCPU:1", Version::GRANULAR_GROUPS.minor())),
        ("in_tree", (PROVIDER, Version::CANDIDATES_IN_TREE.minor())),
        ("resources_A", ("VCPU:1", Version::GROUP_NAMES.minor())),
        ("root_required", ("CUSTOM_FAST", Version::ROOT_REQUIRED.minor())),
    ]);
    let resources = ("resources".to_owned(), "VCPU:1".to_owned());
    for (key, (value, minor)) in known {
        let pairs = vec![resources.clone(), (key.to_owned(), value.to_owned())];
        assert!(parse::candidates(&pairs, version(minor)).is_ok(), "{key} at 1.{minor}");
        assert!(parse::candidates(&pairs, version(minor - 1)).is_err(), "{key} at 1.{}", minor - 1);
    }
    for (key, value, minor) in [
        ("member_of", AGGREGATES[0], 3),
        ("resources", "VCPU:1", 4),
        ("in_tree", PROVIDER, 14),
        ("required", "CUSTOM_FAST", 18),
    ] {
        let pairs = vec![(key.to_owned(), value.to_owned())];
        assert!(parse::providers(&pairs, version(minor)).is_ok(), "{key} at 1.{minor}");
        assert!(parse::providers(&pairs, version(minor - 1)).is_err(), "{key} at 1.{}", minor - 1);
    }
}
