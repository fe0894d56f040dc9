//! What is tried with the content of the Knowledge object, by the fuzzer and by a test of `berth-crds`: the flavor groups that
//! can be read are sorted and complete, each is there once, and slots can be planned with them; what cannot be read is said
//! in a line.

use std::collections::{BTreeMap, BTreeSet};

use berth_core::flavor::{Flavor, FlavorGroup, FlavorGroups, Ratio};
use berth_core::planner::{PlanError, SlotPlan, Target, World, plan};
use berth_core::{Bytes, HostName, Resources};
use berth_crds::flavor_group::FlavorGroupFeatures;
use serde_json::Value;

/// Longest line about a group.
const LINE: usize = 500;

/// Groups that are tried, so that a long list takes no long time.
const GROUPS: usize = 8;

const SLOTS: u64 = 500;

/// Tries a content.
pub fn flavor_groups(raw: &[u8]) {
    let Ok(raw) = serde_json::from_slice::<Value>(raw) else { return };
    match FlavorGroups::parse(&raw) {
        Err(error) => line(&error.to_string()),
        Ok(parsed) => {
            parsed.skipped.iter().for_each(|reason| line(reason));
            let features = raw["features"].as_array().map_or(0, Vec::len);
            assert!(parsed.groups.len() + parsed.skipped.len() <= features, "there are {features} groups");
            parsed.groups.iter().take(GROUPS).for_each(|group| good(group, &parsed.groups));
            written_again(&raw, &parsed.groups);
        }
    }
}

fn line(text: &str) {
    assert!(text.len() < LINE && !text.contains(char::is_control), "{} bytes: {text:?}", text.len());
}

fn good(group: &FlavorGroup, groups: &FlavorGroups) {
    assert_eq!(groups.get(&group.name), Some(group));
    assert!(group.flavors.iter().all(|flavor| flavor.memory_mib > 0));
    assert!(group.flavors.is_sorted_by_key(|flavor| std::cmp::Reverse((flavor.memory_mib, flavor.vcpus))));
    if let Ratio::Variable(least, most) = group.ratio {
        assert!(least < most);
    }
    for flavor in &group.flavors {
        let first = groups.group_of(&flavor.name).map(|group| &group.name);
        assert!(first <= Some(&group.name) && first.is_some());
        let size = flavor.size().memory;
        for memory in [size, size - Bytes::new(1)] {
            assert_eq!(group.largest_within(memory).map(rank), largest(group, memory), "within {memory}");
        }
    }
    let memory = group.smallest().map_or(Bytes::MIB, |flavor| flavor.size().memory);
    for wanted in [Bytes::MIB, memory + Bytes::MIB, Bytes::from_mib(1 << 24)] {
        // The largest number is no whole MiB.
        planned(group, groups, wanted.min(Bytes::from_mib(1 << 40)));
    }
}

/// As they are written: in bytes, the largest are all the same.
fn rank(flavor: &Flavor) -> (u64, u32) {
    (flavor.memory_mib, flavor.vcpus)
}

/// By a look at each of them.
fn largest(group: &FlavorGroup, memory: Bytes) -> Option<(u64, u32)> {
    group.flavors.iter().filter(|flavor| flavor.size().memory <= memory).map(rank).max()
}

/// New slots are exactly what is wanted, each of a flavor of the group and not larger than it.
fn planned(group: &FlavorGroup, groups: &FlavorGroups, memory: Bytes) {
    match plan(&target(group, memory), &world(groups)) {
        Ok(SlotPlan { create, .. }) => {
            assert_eq!(create.iter().map(|slot| slot.size.memory).sum::<Bytes>(), memory, "{group:?}");
            for slot in &create {
                assert!(group.flavors.contains(&slot.flavor) && slot.size.fits(slot.flavor.size()), "{slot:?}");
            }
            let names: BTreeSet<_> = create.iter().map(|slot| &slot.name).collect();
            assert_eq!(names.len(), create.len());
        }
        Err(PlanError::SlotLimit { count, limit }) => assert!(count > limit && limit == SLOTS),
        Err(PlanError::GroupWithoutFlavors(name)) => assert!(name == group.name && group.flavors.is_empty()),
        Err(PlanError::GroupNotFound { group, .. }) => panic!("{group} is there"),
    }
}

fn target(group: &FlavorGroup, memory: Bytes) -> Target {
    Target {
        commitment: "uuid-1".into(),
        project: "project".into(),
        domain: "domain".into(),
        group: group.name.clone(),
        zone: "az".into(),
        memory,
        start: None,
        end: None,
        generation: 1,
        prefix: "commitment-uuid-1-".to_owned(),
    }
}

fn world(groups: &FlavorGroups) -> World<'_> {
    static NO_ROOM: BTreeMap<HostName, Resources> = BTreeMap::new();
    World { groups, slots: &[], room: &NO_ROOM, taken: &|_| false, max_new_slots: Some(SLOTS) }
}

/// What is read as it is written says the same to the domain when it is written again.
fn written_again(raw: &Value, groups: &FlavorGroups) {
    let Ok(features) = FlavorGroupFeatures::from_raw(Some(raw)) else { return };
    let written = serde_json::to_value(&features).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(FlavorGroupFeatures::from_raw(Some(&written)).ok().as_ref(), Some(&features));
    let again = FlavorGroups::parse(&written).unwrap_or_else(|error| panic!("{error}: {written}"));
    assert_eq!(again.groups, *groups, "{written}");
}
