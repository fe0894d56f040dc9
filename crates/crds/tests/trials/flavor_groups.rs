//! The property of `flavor_groups`, for the fuzzer and for a test of `berth-crds`: parsed flavor groups of the
//! Knowledge object are sorted, complete and unique, and slots can be planned with them; a parse error is one line.

use std::collections::{BTreeMap, BTreeSet};

use berth_core::flavor::{Flavor, FlavorGroup, FlavorGroups, Ratio};
use berth_core::planner::{PlanError, PlannerInput, SlotPlan, Target, plan};
use berth_core::{Bytes, HostName, Resources};
use berth_crds::flavor_group::FlavorGroupFeatures;
use serde_json::Value;

const LINE: usize = 500;

/// The maximum of tested groups, so that a long list does not take long.
const GROUPS: usize = 8;

const SLOTS: u64 = 500;

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
        // The largest number is not a multiple of a MiB.
        planned(group, groups, wanted.min(Bytes::from_mib(1 << 40)));
    }
}

/// In the unit of the data, bytes: the largest values are all equal.
fn rank(flavor: &Flavor) -> (u64, u32) {
    (flavor.memory_mib, flavor.vcpus)
}

fn largest(group: &FlavorGroup, memory: Bytes) -> Option<(u64, u32)> {
    group.flavors.iter().filter(|flavor| flavor.size().memory <= memory).map(rank).max()
}

/// New slots have exactly the wanted size, each of a flavor of the group and not larger than it.
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
        Err(PlanError::GroupNotFound { group, .. }) => panic!("{group} is missing"),
        Err(PlanError::ZoneWithoutHosts(zone)) => panic!("{zone} has hosts"),
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

fn world(groups: &FlavorGroups) -> PlannerInput<'_> {
    static NO_CAPACITY: BTreeMap<HostName, Resources> = BTreeMap::new();
    PlannerInput {
        groups,
        slots: &[],
        free_capacity: &NO_CAPACITY,
        taken: &|_| false,
        vms: &[],
        max_new_slots: Some(SLOTS),
        change: None,
    }
}

/// Groups that are written and parsed again are equal for the domain.
fn written_again(raw: &Value, groups: &FlavorGroups) {
    let Ok(features) = FlavorGroupFeatures::from_raw(Some(raw)) else { return };
    let written = serde_json::to_value(&features).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(FlavorGroupFeatures::from_raw(Some(&written)).ok().as_ref(), Some(&features));
    let again = FlavorGroups::parse(&written).unwrap_or_else(|error| panic!("{error}: {written}"));
    assert_eq!(again.groups, *groups, "{written}");
}
