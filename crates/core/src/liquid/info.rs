//! The service info: which resources there are, in which units, and what Limes can do with them.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::names::{ResourceKind, parse_resource, resource_name};
use super::resources::{GroupResources, ResourceConfig};
use super::units::{RamUnit, UnitError};
use crate::flavor::{FlavorGroup, FlavorGroups, RatioMembers};
use crate::ids::GroupName;

const PIECE: &str = "piece";

/// The resources of a service info by their names.
pub type ResourceInfos = BTreeMap<String, ResourceInfo>;

/// The service info in the form of the wire. Members that never differ are private.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceInfo {
    pub version: i64,
    #[serde(default)]
    display_name: String,
    #[serde(default)]
    categories: (),
    pub resources: ResourceInfos,
    #[serde(default)]
    rates: (),
    #[serde(default)]
    capacity_metric_families: (),
    #[serde(default)]
    usage_metric_families: (),
    quota_update_needs_project_metadata: bool,
    commitment_handling_needs_project_metadata: bool,
}

/// One resource of a flavor group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "the members of the wire")]
pub struct ResourceInfo {
    pub display_name: String,
    pub unit: String,
    pub topology: Topology,
    pub has_capacity: bool,
    #[serde(default)]
    needs_resource_demand: bool,
    pub has_quota: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub handles_commitments: bool,
    #[serde(default)]
    pub attributes: Attributes,
}

/// How a resource relates to availability zones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Topology {
    /// Each zone has a quota of its own.
    AzSeparated,
}

/// The ratios of a group in whole GiB per vCPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attributes {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ram_core_ratio: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ram_core_ratio_min: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ram_core_ratio_max: Option<u64>,
}

/// The times of the sources of the service info, where they are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceTimes {
    /// `status.lastContentChange` of the flavor groups.
    pub last_content_change: Option<Timestamp>,
    /// When the configuration of the resources changed last.
    pub configuration_changed: Option<Timestamp>,
}

/// The configuration of a group does not allow an info.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("failed to create RAM unit for flavor group \"{group}\": {source}")]
pub struct InfoError {
    pub group: GroupName,
    source: UnitError,
}

impl ServiceInfo {
    pub fn new(version: i64, resources: ResourceInfos) -> Self {
        Self {
            version,
            display_name: String::new(),
            categories: (),
            resources,
            rates: (),
            capacity_metric_families: (),
            usage_metric_families: (),
            quota_update_needs_project_metadata: true,
            commitment_handling_needs_project_metadata: true,
        }
    }

    /// The info to publish after `published`. Resources that did not change keep their version. Every other info has a
    /// higher version than the published one, whatever clocks did in between.
    pub fn after(published: Option<&Self>, resources: ResourceInfos, times: SourceTimes) -> Self {
        let version = next_version(published, &resources, times);
        Self::new(version, resources)
    }

    /// The published unit of the RAM of a group.
    pub fn ram_unit(&self, group: &GroupName) -> RamUnit {
        let published = self.resources.get(&resource_name(group, ResourceKind::Ram));
        published.and_then(|info| RamUnit::parse(&info.unit)).unwrap_or_default()
    }
}

/// The resources of all groups, three of each, also of groups that are not configured.
pub fn build_resources(groups: &FlavorGroups, config: &ResourceConfig) -> Result<ResourceInfos, InfoError> {
    let mut resources = ResourceInfos::new();
    for group in groups.iter() {
        let configured = config.of(&group.name);
        let unit = configured.ram_unit().map_err(|source| InfoError { group: group.name.clone(), source })?;
        let info = |kind| (resource_name(&group.name, kind), resource_info(group, &configured, unit, kind));
        resources.extend(ResourceKind::ALL.map(info));
    }
    Ok(resources)
}

/// The fresh resources, and those of groups that are gone while commitments of them live, as they were published: Limes
/// refuses an info without them.
pub fn merge_published(
    published: Option<&ResourceInfos>,
    mut fresh: ResourceInfos,
    groups_with_live_commitments: &BTreeSet<GroupName>,
) -> ResourceInfos {
    let group_of = |name: &str| parse_resource(name).map(|(group, _)| group);
    let present: BTreeSet<GroupName> = fresh.keys().filter_map(|name| group_of(name)).collect();
    let is_kept = |name: &str| {
        group_of(name).is_some_and(|group| groups_with_live_commitments.contains(&group) && !present.contains(&group))
    };
    let kept = published.into_iter().flatten().filter(|(name, _)| is_kept(name));
    fresh.extend(kept.map(|(name, info)| (name.clone(), info.clone())));
    fresh
}

/// The version of the resources: that of the published info if they are the same. -1 if no time is known.
pub fn next_version(published: Option<&ServiceInfo>, resources: &ResourceInfos, times: SourceTimes) -> i64 {
    if let Some(same) = published.filter(|published| published.resources == *resources) {
        return same.version;
    }
    let higher = published.map(|published| published.version.saturating_add(1));
    let times = [times.last_content_change, times.configuration_changed].map(|time| time.map(Timestamp::as_second));
    times.into_iter().chain([higher]).flatten().max().unwrap_or(-1)
}

fn resource_info(group: &FlavorGroup, configured: &GroupResources, unit: RamUnit, kind: ResourceKind) -> ResourceInfo {
    let flags = configured.flags(kind);
    let is_ram = kind == ResourceKind::Ram;
    ResourceInfo {
        display_name: display_name(group, unit, kind),
        unit: if is_ram { unit.to_string() } else { PIECE.to_owned() },
        topology: Topology::AzSeparated,
        has_capacity: flags.has_capacity,
        needs_resource_demand: false,
        has_quota: flags.has_quota,
        handles_commitments: flags.handles_commitments,
        attributes: group.ratio_members.into(),
    }
}

fn display_name(group: &FlavorGroup, unit: RamUnit, kind: ResourceKind) -> String {
    let flavors: Vec<&str> = group.all_flavors().map(|flavor| flavor.name.as_str()).collect();
    let counted = match (kind, unit.in_gib()) {
        (ResourceKind::Ram, 1) => "GiB of RAM".to_owned(),
        (ResourceKind::Ram, gib) => format!("multiples of {gib} GiB"),
        (ResourceKind::Cores, _) => "CPU cores".to_owned(),
        (ResourceKind::Instances, _) => "instances".to_owned(),
    };
    format!("{counted} (usable by: {})", flavors.join(", "))
}

impl From<RatioMembers> for Attributes {
    fn from(members: RatioMembers) -> Self {
        Self {
            ram_core_ratio: members.ratio.map(rounded_gib),
            ram_core_ratio_min: members.min.map(rounded_gib),
            ram_core_ratio_max: members.max.map(rounded_gib),
        }
    }
}

/// MiB in whole GiB, halves rounded up.
fn rounded_gib(mib: u64) -> u64 {
    mib / 1024 + u64::from(mib % 1024 >= 512)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

#[cfg(test)]
mod tests;
