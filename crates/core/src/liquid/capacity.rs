//! The capacity report: what runs, what slots hold and what is free, by resource and zone.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::info::ServiceInfo;
use super::names::{ResourceKind, parse_resource};
use super::request::DecodeError;
use super::units::RamUnit;
use super::wire::{self, Object};
use crate::capacity::Occupied;
use crate::flavor::{FlavorGroups, Ratio};
use crate::ids::{GroupName, Zone};
use crate::units::{Bytes, Cores, Resources};
use crate::usage::declared_units_of_equal;

/// The request. Members that Berth does not need are ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CapacityRequest {
    #[serde(rename = "allAZs", deserialize_with = "wire::zones")]
    pub zones: BTreeSet<Zone>,
}

impl CapacityRequest {
    /// Reads a body. An empty one is an empty request; text after the JSON value is ignored.
    pub fn decode(body: &[u8]) -> Result<Self, DecodeError> {
        if body.trim_ascii().is_empty() {
            return Ok(Self::default());
        }
        let mut json = serde_json::Deserializer::from_slice(body);
        let request: Result<Object<Self>, _> = serde_path_to_error::deserialize(&mut json);
        request.map(|object| object.0).map_err(|error| DecodeError::of(&error))
    }
}

/// The capacity of a flavor group in a zone, as its object says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlaceCapacity {
    pub running: Occupied,
    /// What slots hold beyond the VMs in them.
    pub reserved: Occupied,
    /// Slots of the smallest flavor that only this group gets.
    pub free_slots: u64,
    /// The size of these slots together.
    pub free: Resources,
}

/// What a report is made of.
#[derive(Clone, Copy, Debug)]
pub struct CapacityFacts<'a> {
    /// The published info: its resources are reported, in its units.
    pub info: &'a ServiceInfo,
    pub groups: &'a FlavorGroups,
    /// The zones of the request.
    pub zones: &'a BTreeSet<Zone>,
    /// The groups and zones that have an object.
    pub places: &'a BTreeMap<(GroupName, Zone), PlaceCapacity>,
}

/// The report in the form of the wire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CapacityReport<'a> {
    info_version: i64,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    resources: BTreeMap<&'a str, ResourceCapacity<'a>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct ResourceCapacity<'a> {
    #[serde(rename = "perAZ")]
    per_zone: BTreeMap<&'a str, ZoneCapacity>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct ZoneCapacity {
    capacity: u64,
    /// Absent where the capacity is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<u64>,
}

/// A line of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportedCapacity<'a> {
    pub resource: &'a str,
    pub zone: &'a str,
    /// In units of the resource.
    pub capacity: u64,
}

impl CapacityReport<'_> {
    /// The capacity of each resource in each zone.
    pub fn capacities(&self) -> impl Iterator<Item = ReportedCapacity<'_>> {
        let lines = self.resources.iter().flat_map(|(name, of)| of.per_zone.iter().map(move |zone| (*name, zone)));
        lines.map(|(resource, (zone, of))| ReportedCapacity { resource, zone, capacity: of.capacity })
    }
}

/// The groups of which a resource with capacity is published, in the order of their names.
pub fn groups_with_capacity(info: &ServiceInfo) -> BTreeSet<GroupName> {
    resources_with_capacity(info).map(|(_, group, _)| group).collect()
}

/// All published resources with capacity. A zone without an object has none.
pub fn build_report<'a>(facts: &CapacityFacts<'a>) -> CapacityReport<'a> {
    let resource = |(name, group, kind): (&'a str, GroupName, ResourceKind)| {
        let capacity = |zone: &'a Zone| {
            let place = facts.places.get(&(group.clone(), zone.clone()));
            (zone.as_str(), place.map(|place| zone_capacity(facts, &group, kind, place)).unwrap_or_default())
        };
        (name, ResourceCapacity { per_zone: facts.zones.iter().map(capacity).collect() })
    };
    let resources = resources_with_capacity(facts.info).map(resource).collect();
    CapacityReport { info_version: facts.info.version, resources }
}

fn resources_with_capacity(info: &ServiceInfo) -> impl Iterator<Item = (&str, GroupName, ResourceKind)> {
    let with_capacity = info.resources.iter().filter(|(_, info)| info.has_capacity);
    with_capacity.filter_map(|(name, _)| parse_resource(name).map(|(group, kind)| (name.as_str(), group, kind)))
}

/// What runs is the usage. Limes takes commitments off the capacity itself, so the capacity includes what they hold.
fn zone_capacity(
    facts: &CapacityFacts<'_>,
    group: &GroupName,
    kind: ResourceKind,
    place: &PlaceCapacity,
) -> ZoneCapacity {
    let ratio = facts.groups.get(group).map_or(Ratio::None, |group| group.ratio);
    let parts = CapacityParts::of(place, kind, (ratio, facts.info.ram_unit(group)));
    ZoneCapacity { capacity: parts.total(), usage: Some(parts.running) }
}

/// The parts of the capacity of a resource, in units of the resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CapacityParts {
    pub running: u64,
    pub reserved: u64,
    pub free: u64,
}

impl CapacityParts {
    /// Of a group with this ratio, whose RAM is counted in this unit.
    pub fn of(place: &PlaceCapacity, kind: ResourceKind, (ratio, unit): (Ratio, RamUnit)) -> Self {
        let PlaceCapacity { running, reserved, free_slots, free } = place;
        let [running, reserved, free] = match kind {
            ResourceKind::Instances => [running.instances, reserved.instances, *free_slots],
            ResourceKind::Cores => [running.resources.cpu, reserved.resources.cpu, free.cpu].map(count),
            ResourceKind::Ram => [running.units, reserved.units, free_units((ratio, unit), *free_slots, free.memory)],
        };
        Self { running, reserved, free }
    }

    /// The capacity.
    pub fn total(self) -> u64 {
        self.running.saturating_add(self.reserved).saturating_add(self.free)
    }
}

/// Each free slot counts like a VM of its size.
fn free_units((ratio, unit): (Ratio, RamUnit), slots: u64, memory: Bytes) -> u64 {
    let mib = u64::try_from(memory.mib_down()).ok().and_then(|mib| mib.checked_div(slots)).unwrap_or(0);
    declared_units_of_equal(ratio, unit, mib, slots)
}

fn count(cores: Cores) -> u64 {
    u64::try_from(cores.get()).unwrap_or(0)
}

#[cfg(test)]
mod tests;
