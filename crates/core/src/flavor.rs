//! Flavor groups as published in the Knowledge object `flavor-groups`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

use crate::ids::{FlavorName, GroupName};
use crate::quoted::quoted;
use crate::text::escape_line;
use crate::units::{Bytes, Cores, Resources, scale_cores};

/// A flavor: the shape of a VM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flavor {
    pub name: FlavorName,
    pub vcpus: u32,
    pub memory_mib: u64,
    /// The root disk in GiB. No placement reads it; the usage report shows it.
    pub disk_gib: u64,
    /// The extra specs, unchanged; the scheduler reads capabilities and traits from them.
    pub extra_specs: BTreeMap<String, String>,
}

impl Flavor {
    /// The size of a VM of this flavor.
    pub fn size(&self) -> Resources {
        Resources::new(Bytes::from_mib(self.memory_mib), Cores::new(self.vcpus.into()))
    }

    /// The size of a slot of this flavor that holds only `memory`.
    pub fn part(&self, memory: Bytes) -> Resources {
        let whole = self.size();
        Resources::new(memory, scale_cores(whole.cpu, memory, whole.memory))
    }
}

/// MiB per vCPU of a group's flavors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ratio {
    Fixed(u64),
    Variable(u64, u64),
    None,
}

/// The ratio members of a group as they were given, in MiB per vCPU: the service info repeats them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RatioMembers {
    pub ratio: Option<u64>,
    pub min: Option<u64>,
    pub max: Option<u64>,
}

/// A named list of flavors on the same hardware.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlavorGroup {
    /// Its name, part of the LIQUID resource names.
    pub name: GroupName,
    /// Memory descending, vCPUs descending, name ascending; without those that have no memory.
    pub flavors: Vec<Flavor>,
    /// Flavors that no slot can have, in the same order. VMs of them exist and are listed for users.
    pub without_memory: Vec<Flavor>,
    pub ratio: Ratio,
    pub ratio_members: RatioMembers,
}

impl FlavorGroup {
    pub fn flavor(&self, name: &FlavorName) -> Option<&Flavor> {
        self.flavors.iter().find(|flavor| flavor.name == *name)
    }

    /// All flavors in the order of the group. Those without memory come last in it.
    pub fn all_flavors(&self) -> impl Iterator<Item = &Flavor> {
        self.flavors.iter().chain(&self.without_memory)
    }

    /// The largest flavor that is at most `memory` big, by memory, then by vCPUs.
    pub fn largest_within(&self, memory: Bytes) -> Option<&Flavor> {
        let first = self.flavors.partition_point(|flavor| flavor.size().memory > memory);
        self.flavors.get(first)
    }

    /// The last of the list: the least memory.
    pub fn smallest(&self) -> Option<&Flavor> {
        self.flavors.last()
    }
}

/// All flavor groups of a region.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlavorGroups {
    groups: BTreeMap<GroupName, FlavorGroup>,
}

/// The result of reading the Knowledge object: the groups, and a line for each invalid one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parsed {
    pub groups: FlavorGroups,
    /// Why a group is not among them, for the log.
    pub skipped: Vec<String>,
}

/// The content of the Knowledge object is not a list of flavor groups.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("failed to unbox flavor group features: {0}")]
pub struct FlavorError(String);

impl FlavorError {
    /// Quotes the found value, with bounded length.
    fn of(found: &str) -> Self {
        const MOST: usize = 300;
        Self(escape_line(found, MOST))
    }
}

#[derive(Deserialize)]
struct RawGroups {
    #[serde(default)]
    features: Option<Vec<Value>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawGroup {
    name: GroupName,
    #[serde(default)]
    flavors: Option<Vec<RawFlavor>>,
    #[serde(default)]
    smallest_flavor: Option<RawFlavor>,
    ram_core_ratio: Option<u64>,
    ram_core_ratio_min: Option<u64>,
    ram_core_ratio_max: Option<u64>,
}

#[derive(Deserialize)]
struct RawFlavor {
    #[serde(default)]
    name: FlavorName,
    #[serde(default)]
    vcpus: u32,
    #[serde(default, rename = "memoryMB")]
    memory_mib: u64,
    #[serde(default, rename = "diskGB")]
    disk_gib: u64,
    #[serde(default, rename = "extraSpecs")]
    extra_specs: Option<BTreeMap<String, String>>,
}

impl FlavorGroups {
    /// Reads `status.raw` of the Knowledge object. A group whose ratio fields contradict each other is skipped as if
    /// absent; any other deviation from the documented form is an error, so that the caller keeps its groups.
    pub fn parse(raw: &Value) -> Result<Parsed, FlavorError> {
        if !raw.is_object() {
            return Err(FlavorError("expected an object with a list \"features\"".to_owned()));
        }
        let raw = RawGroups::deserialize(raw).map_err(|error| FlavorError::of(&error.to_string()))?;
        let mut parsed = Parsed::default();
        for (number, feature) in raw.features.unwrap_or_default().iter().enumerate() {
            let group = RawGroup::deserialize(feature)
                .map_err(|error| FlavorError::of(&format!("features[{number}]: {error}")))?;
            match group.validated() {
                Ok(group) => {
                    parsed.groups.groups.insert(group.name.clone(), group);
                }
                Err(reason) => parsed.skipped.push(reason),
            }
        }
        Ok(parsed)
    }

    pub fn get(&self, name: &GroupName) -> Option<&FlavorGroup> {
        self.groups.get(name)
    }

    pub fn iter(&self) -> impl Iterator<Item = &FlavorGroup> {
        self.groups.values()
    }

    /// The first group, by name, that has the flavor.
    pub fn group_of(&self, flavor: &FlavorName) -> Option<&FlavorGroup> {
        self.iter().find(|group| group.flavor(flavor).is_some())
    }

    /// The first group, by name, of each flavor that a group has, also of those without memory.
    pub fn by_flavor(&self) -> BTreeMap<&FlavorName, &FlavorGroup> {
        let mut of_flavor = BTreeMap::new();
        for group in self.iter() {
            for flavor in group.all_flavors() {
                of_flavor.entry(&flavor.name).or_insert(group);
            }
        }
        of_flavor
    }

    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// True without any group.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }
}

impl FromIterator<FlavorGroup> for FlavorGroups {
    fn from_iter<I: IntoIterator<Item = FlavorGroup>>(groups: I) -> Self {
        Self { groups: groups.into_iter().map(|group| (group.name.clone(), group)).collect() }
    }
}

impl RawGroup {
    fn validated(self) -> Result<FlavorGroup, String> {
        let (ratio, ratio_members) = (self.ratio()?, self.ratio_members());
        let smallest = self.smallest_flavor.as_ref().map_or(0, |flavor| flavor.memory_mib);
        if ratio != Ratio::None && smallest == 0 {
            return Err(format!(
                "flavor group {}: SmallestFlavor.MemoryMB must be non-zero",
                quoted(self.name.as_str())
            ));
        }
        let raw = self.flavors.unwrap_or_default();
        let mut flavors: Vec<_> = raw.into_iter().map(RawFlavor::into_flavor).collect();
        flavors.sort_by(|a, b| (b.memory_mib, b.vcpus).cmp(&(a.memory_mib, a.vcpus)).then_with(|| a.name.cmp(&b.name)));
        let without_memory = flavors.split_off(flavors.partition_point(|flavor| flavor.memory_mib > 0));
        Ok(FlavorGroup { name: self.name, flavors, without_memory, ratio, ratio_members })
    }

    fn ratio_members(&self) -> RatioMembers {
        RatioMembers { ratio: self.ram_core_ratio, min: self.ram_core_ratio_min, max: self.ram_core_ratio_max }
    }

    fn ratio(&self) -> Result<Ratio, String> {
        let name = quoted(self.name.as_str());
        match (self.ram_core_ratio, self.ram_core_ratio_min, self.ram_core_ratio_max) {
            (None, None, None) => Ok(Ratio::None),
            (Some(ratio), None, None) => Ok(Ratio::Fixed(ratio)),
            (Some(ratio), Some(min), Some(max)) if ratio == min && ratio == max => Ok(Ratio::Fixed(ratio)),
            (None, Some(min), Some(max)) if min < max => Ok(Ratio::Variable(min, max)),
            (None, Some(min), Some(max)) => {
                Err(format!("flavor group {name}: RamCoreRatioMin ({min}) must be less than RamCoreRatioMax ({max})"))
            }
            _ => Err(format!("flavor group {name} has inconsistent ratio fields")),
        }
    }
}

impl RawFlavor {
    fn into_flavor(self) -> Flavor {
        Flavor {
            name: self.name,
            vcpus: self.vcpus,
            memory_mib: self.memory_mib,
            disk_gib: self.disk_gib,
            extra_specs: self.extra_specs.unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn group(ratios: &Value) -> Value {
        let mut group = json!({"name": "g", "flavors": [
            {"name": "s", "vcpus": 4, "memoryMB": 12288},
            {"name": "none", "vcpus": 4, "memoryMB": 0},
            {"name": "xl", "vcpus": 15, "memoryMB": 61440, "diskGB": 64, "extraSpecs": {"a": "b"}},
            {"name": "l", "vcpus": 10, "memoryMB": 30720}
        ], "smallestFlavor": {"name": "s", "vcpus": 4, "memoryMB": 12288}});
        for (key, value) in ratios.as_object().unwrap() {
            group[key] = value.clone();
        }
        json!({"features": [group]})
    }

    fn parse(raw: &Value) -> FlavorGroups {
        FlavorGroups::parse(raw).unwrap().groups
    }

    #[test]
    fn flavors_are_sorted_and_those_without_memory_are_apart() {
        let groups = parse(&group(&json!({"ramCoreRatio": 3072})));
        let group = groups.get(&"g".into()).unwrap();
        assert_eq!(group.flavors.iter().map(|f| f.name.as_str()).collect::<Vec<_>>(), ["xl", "l", "s"]);
        assert_eq!(group.largest_within(Bytes::from_mib(40_000)).unwrap().name.as_str(), "l");
        assert_eq!(group.largest_within(Bytes::from_mib(12_288)).unwrap().name.as_str(), "s");
        assert!(group.largest_within(Bytes::from_mib(12_287)).is_none());
        assert_eq!(group.smallest().unwrap().name.as_str(), "s");
        assert_eq!(group.flavors.iter().map(|flavor| flavor.disk_gib).collect::<Vec<_>>(), [64, 0, 0]);
        assert_eq!(
            group.all_flavors().map(|flavor| flavor.name.as_str()).collect::<Vec<_>>(),
            ["xl", "l", "s", "none"]
        );
        assert_eq!(groups.group_of(&"l".into()).unwrap().name.as_str(), "g");
        let by_flavor = groups.by_flavor();
        assert_eq!((by_flavor.len(), by_flavor[&FlavorName::from("none")].name.as_str()), (4, "g"));
    }

    #[test]
    fn flavor_groups_have_a_ratio_or_bounds_of_one() {
        for (ratios, expected) in [
            (json!({}), Ok(Ratio::None)),
            (json!({"ramCoreRatio": 3}), Ok(Ratio::Fixed(3))),
            (json!({"ramCoreRatio": 3, "ramCoreRatioMin": 3, "ramCoreRatioMax": 3}), Ok(Ratio::Fixed(3))),
            (json!({"ramCoreRatioMin": 2, "ramCoreRatioMax": 4}), Ok(Ratio::Variable(2, 4))),
            (
                json!({"ramCoreRatioMin": 4, "ramCoreRatioMax": 4}),
                Err("flavor group \"g\": RamCoreRatioMin (4) must be less than RamCoreRatioMax (4)"),
            ),
            (json!({"ramCoreRatioMin": 4}), Err("flavor group \"g\" has inconsistent ratio fields")),
            (
                json!({"ramCoreRatio": 4, "smallestFlavor": {"name": "s", "vcpus": 0, "memoryMB": 0}}),
                Err("flavor group \"g\": SmallestFlavor.MemoryMB must be non-zero"),
            ),
        ] {
            let parsed = FlavorGroups::parse(&group(&ratios)).unwrap();
            match expected {
                Ok(ratio) => assert_eq!(parsed.groups.get(&"g".into()).unwrap().ratio, ratio),
                Err(text) => assert_eq!((parsed.skipped, parsed.groups.len()), (vec![text.to_owned()], 0)),
            }
        }
    }

    #[test]
    fn ratio_members_are_kept_as_given() {
        let ratios = json!({"ramCoreRatio": 3, "ramCoreRatioMin": 3, "ramCoreRatioMax": 3});
        for (ratios, members) in [(ratios, [Some(3); 3]), (json!({"ramCoreRatio": 3}), [Some(3), None, None])] {
            let [ratio, min, max] = members;
            let groups = parse(&group(&ratios));
            assert_eq!(groups.get(&"g".into()).unwrap().ratio_members, RatioMembers { ratio, min, max });
        }
    }

    #[test]
    fn absent_features_are_no_groups_and_another_shape_is_an_error() {
        assert!(parse(&json!({})).is_empty());
        assert!(parse(&json!({"features": null})).is_empty());
        for raw in [json!({"features": 3}), json!([]), json!("x"), group(&json!({"flavors": [{"vcpus": -1}]}))] {
            let error = FlavorGroups::parse(&raw).unwrap_err().to_string();
            assert!(error.starts_with("failed to unbox flavor group features: "), "{error}");
        }
    }

    #[test]
    fn what_is_reported_about_a_long_content_is_a_line() {
        let long = "x\n".repeat(10_000);
        let wrong = FlavorGroups::parse(&json!({"features": long})).unwrap_err().to_string();
        let skipped = json!({"features": [{"name": long, "ramCoreRatio": 1}, {"name": long, "ramCoreRatioMin": 1}]});
        let skipped = FlavorGroups::parse(&skipped).unwrap().skipped;
        for text in skipped.iter().chain([&wrong]) {
            assert!(text.len() < 400 && !text.contains('\n'), "{} bytes: {text}", text.len());
        }
        assert_eq!(skipped.len(), 2);
    }
}
