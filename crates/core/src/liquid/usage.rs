//! The usage report: what the VMs of a project use, by resource and zone.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::info::ServiceInfo;
use super::names::{ResourceKind, parse_resource, resource_name};
use super::request::DecodeError;
use super::units::RamUnit;
use super::wire::{self, Object};
use crate::flavor::{Flavor, FlavorGroup, FlavorGroups};
use crate::ids::{CommitmentUuid, GroupName, Zone};
use crate::usage::declared_units;

/// Where VMs are counted whose zone the request does not list.
const UNKNOWN: &str = "unknown";
/// The extra spec that says how much memory is given to the video card at most.
const VIDEO_RAM: &str = "hw_video:ram_max_mb";
/// A quota that is not set: Limes reads it as "no limit".
const NO_LIMIT: i64 = -1;

/// The request. Members that Berth does not need are ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct UsageRequest {
    #[serde(rename = "allAZs", deserialize_with = "wire::zones")]
    pub zones: BTreeSet<Zone>,
}

impl UsageRequest {
    /// Reads a body. Text after the JSON value is ignored.
    pub fn decode(body: &[u8]) -> Result<Self, DecodeError> {
        let mut json = serde_json::Deserializer::from_slice(body);
        let request: Result<Object<Self>, _> = serde_path_to_error::deserialize(&mut json);
        request.map(|object| object.0).map_err(|error| DecodeError::of(&error))
    }
}

/// A VM of the project, as the report needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedVm<'a> {
    pub id: &'a str,
    pub name: &'a str,
    pub status: &'a str,
    pub os_type: &'a str,
    pub flavor: &'a Flavor,
    pub zone: Zone,
    /// The commitment of memory that covers it.
    pub commitment: Option<CommitmentUuid>,
}

/// The quota of a project: by zone, and there by the name of the resource; RAM in GiB.
pub type QuotaByZone = BTreeMap<Zone, BTreeMap<String, i64>>;

/// What a report is made of.
#[derive(Clone, Copy, Debug)]
pub struct UsageFacts<'a> {
    /// The published info: its resources are reported, in its units.
    pub info: &'a ServiceInfo,
    pub groups: &'a FlavorGroups,
    /// The zones of the request.
    pub zones: &'a BTreeSet<Zone>,
    /// In the order of their UUIDs.
    pub vms: &'a [ReportedVm<'a>],
    pub quota: &'a QuotaByZone,
}

/// The report in the form of the wire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageReport<'a> {
    info_version: i64,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    resources: BTreeMap<String, ResourceUsage<'a>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceUsage<'a> {
    forbidden: bool,
    #[serde(rename = "perAZ")]
    per_zone: BTreeMap<&'a str, ZoneUsage<'a>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
struct ZoneUsage<'a> {
    usage: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    quota: Option<i64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    subresources: Vec<Subresource<'a>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Subresource<'a> {
    id: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'a str,
    attributes: VmAttributes<'a>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct VmAttributes<'a> {
    commitment_id: Option<&'a CommitmentUuid>,
    flavor: FlavorAttributes<'a>,
    os_type: &'a str,
    status: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
struct FlavorAttributes<'a> {
    disk_gib: u64,
    name: &'a str,
    ram_mib: u64,
    vcpu: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    video_ram_mib: Option<u64>,
}

/// The VMs of one group by zone. Zones that the request does not list are only there if they have a VM.
type VmsByZone<'a> = BTreeMap<&'a str, Vec<&'a ReportedVm<'a>>>;

/// All resources of the published info, used or not. VMs of flavors that no group has are left out.
pub fn build_report<'a>(facts: &UsageFacts<'a>) -> UsageReport<'a> {
    let by_group = vms_by_group(facts);
    let none = facts.zones.iter().map(|zone| (zone.as_str(), Vec::new())).collect();
    let resource = |name: &String| {
        let (group, kind) = parse_resource(name)?;
        Some((name.clone(), resource_usage(facts, &group, kind, by_group.get(&group).unwrap_or(&none))))
    };
    let resources = facts.info.resources.keys().filter_map(resource).collect();
    UsageReport { info_version: facts.info.version, resources }
}

fn vms_by_group<'a>(facts: &UsageFacts<'a>) -> BTreeMap<GroupName, VmsByZone<'a>> {
    let group_of = facts.groups.by_flavor();
    let none: VmsByZone<'_> = facts.zones.iter().map(|zone| (zone.as_str(), Vec::new())).collect();
    let mut by_group: BTreeMap<GroupName, VmsByZone<'_>> = BTreeMap::new();
    for vm in facts.vms {
        let Some(group) = group_of.get(&vm.flavor.name).map(|group| &group.name) else { continue };
        if !by_group.contains_key(group) {
            by_group.insert(group.clone(), none.clone());
        }
        let zones = by_group.get_mut(group);
        let zone = facts.zones.get(&vm.zone).map_or(UNKNOWN, Zone::as_str);
        if let Some(zones) = zones {
            zones.entry(zone).or_default().push(vm);
        }
    }
    by_group
}

fn resource_usage<'a>(
    facts: &UsageFacts<'a>,
    group: &GroupName,
    kind: ResourceKind,
    zones: &VmsByZone<'a>,
) -> ResourceUsage<'a> {
    let name = resource_name(group, kind);
    let unit = facts.info.ram_unit(group);
    let has_quota = facts.info.resources.get(&name).is_some_and(|info| info.has_quota);
    let usage = |(zone, vms): (&&'a str, &Vec<&'a ReportedVm<'a>>)| {
        // Limes accepts no quota where it has no zone.
        let quota = (has_quota && facts.zones.contains(*zone)).then(|| quota(facts.quota, zone, &name, kind, unit));
        let (usage, subresources) = match kind {
            ResourceKind::Cores => (vms.iter().map(|vm| u64::from(vm.flavor.vcpus)).sum(), Vec::new()),
            ResourceKind::Instances => (vms.len() as u64, vms.iter().map(|vm| Subresource::of(vm)).collect()),
            ResourceKind::Ram => (ram_units(facts.groups.get(group), unit, vms), Vec::new()),
        };
        (*zone, ZoneUsage { usage, quota, subresources })
    };
    ResourceUsage { forbidden: false, per_zone: zones.iter().map(usage).collect() }
}

fn ram_units(group: Option<&FlavorGroup>, unit: RamUnit, vms: &[&ReportedVm<'_>]) -> u64 {
    group.map_or(0, |group| declared_units(group.ratio, unit, vms.iter().map(|vm| vm.flavor.memory_mib)))
}

fn quota(all: &QuotaByZone, zone: &str, name: &str, kind: ResourceKind, unit: RamUnit) -> i64 {
    let stored = all.get(zone).and_then(|of_zone| of_zone.get(name)).copied().unwrap_or(NO_LIMIT);
    if kind == ResourceKind::Ram { unit.units(stored) } else { stored }
}

/// A decimal number without a sign.
fn unsigned(text: &str) -> Option<u64> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

impl<'a> Subresource<'a> {
    fn of(vm: &'a ReportedVm<'a>) -> Self {
        let flavor = vm.flavor;
        let attributes = VmAttributes {
            commitment_id: vm.commitment.as_ref(),
            flavor: FlavorAttributes {
                disk_gib: flavor.disk_gib,
                name: flavor.name.as_str(),
                ram_mib: flavor.memory_mib,
                vcpu: flavor.vcpus,
                video_ram_mib: flavor.extra_specs.get(VIDEO_RAM).and_then(|mib| unsigned(mib)),
            },
            os_type: vm.os_type,
            status: vm.status,
        };
        Self { id: vm.id, name: vm.name, attributes }
    }
}

#[cfg(test)]
mod tests;
