//! The split of free capacity equals a second, plain one in random worlds.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

use std::collections::BTreeMap;

use berth_core::capacity::{SharingGroup, split, times};
use berth_core::{Bytes, Cores, Resources};
use berth_testkit::{PlainGroup, PlainSize, split_plainly};
use proptest::prelude::*;

/// Names in neither ascending nor descending order.
fn name(of: &str, at: usize) -> String {
    format!("{of}-{:02}", at * 37 % 41)
}

/// Few sizes, so that ties are frequent; resources that a host does not name are zero.
fn free() -> impl Strategy<Value = BTreeMap<String, PlainSize>> {
    let resource = |most: u64| prop_oneof![1 => Just(0), 9 => 0..most];
    prop::collection::vec((resource(40), resource(12)), 0..9)
        .prop_map(|all| all.into_iter().enumerate().map(|(at, size)| (name("host", at), size)).collect())
}

/// Some hosts of a group may not exist.
fn groups() -> impl Strategy<Value = Vec<PlainGroup>> {
    let need = (prop_oneof![1 => Just(0), 9 => 1..12_u64], 0..5_u64);
    let hosts = prop::collection::btree_set(0..10_usize, 0..10);
    prop::collection::vec((need, hosts), 0..6).prop_map(|all| {
        let group = |(at, (need, hosts)): (usize, (PlainSize, std::collections::BTreeSet<usize>))| PlainGroup {
            name: name("group", at),
            need,
            hosts: hosts.into_iter().map(|host| name("host", host)).collect(),
        };
        all.into_iter().enumerate().map(group).collect()
    })
}

fn resources((memory, cores): PlainSize) -> Resources {
    Resources::new(Bytes::new(memory.try_into().unwrap()), Cores::new(cores.try_into().unwrap()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn both_splits_are_equal_and_nothing_is_attributed_twice(plain in groups(), free in free()) {
        let names: Vec<&String> = free.keys().collect();
        let group = |plain: &PlainGroup| SharingGroup {
            name: plain.name.as_str().into(),
            need: resources(plain.need),
            candidates: plain.hosts.iter().filter_map(|host| names.binary_search(&host).ok()).collect(),
        };
        let groups: Vec<SharingGroup> = plain.iter().map(group).collect();
        let all: Vec<Resources> = free.values().copied().map(resources).collect();
        let result = split(&groups, &all);

        let (slots, left) = split_plainly(&plain, &free);
        let shown: BTreeMap<String, u64> = plain.iter().map(|group| group.name.clone()).zip(result.slots.clone()).collect();
        prop_assert_eq!(shown, slots);
        prop_assert_eq!(&result.left, &left.into_values().map(resources).collect::<Vec<_>>());

        let attributed: Resources = groups.iter().zip(&result.slots).map(|(group, slots)| times(group.need, *slots)).sum();
        let sum = |all: Vec<Resources>| all.into_iter().sum::<Resources>();
        prop_assert_eq!(attributed + sum(result.left), sum(all));
    }
}
