//! The answers of the API. Limes takes an unknown member for an error, and so do these types.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::IgnoredAny;

const ALLOWED_REASONS: [&str; 2] = ["insufficient capacity", "insufficient CPU cores"];

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "the other members are only allowed")]
pub(super) struct ServiceInfo {
    pub(super) version: i64,
    display_name: Option<String>,
    categories: Option<IgnoredAny>,
    resources: Option<BTreeMap<String, ResourceInfo>>,
    rates: Option<IgnoredAny>,
    capacity_metric_families: Option<IgnoredAny>,
    usage_metric_families: Option<IgnoredAny>,
    usage_report_needs_project_metadata: Option<bool>,
    quota_update_needs_project_metadata: Option<bool>,
    commitment_handling_needs_project_metadata: Option<bool>,
}

impl ServiceInfo {
    /// The resources with commitments, by name.
    pub(super) fn resources(&self) -> impl Iterator<Item = &str> {
        let all = self.resources.iter().flatten();
        all.filter(|(_, resource)| resource.handles_commitments).map(|(name, _)| name.as_str())
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, clippy::struct_excessive_bools, reason = "the other members are only allowed")]
struct ResourceInfo {
    display_name: Option<String>,
    category_name: Option<String>,
    unit: Option<String>,
    topology: String,
    has_capacity: bool,
    needs_resource_demand: bool,
    has_quota: bool,
    #[serde(default)]
    handles_commitments: bool,
    attributes: Option<IgnoredAny>,
}

/// The answer to a change. Without a reason it is accepted.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ChangeAnswer {
    #[serde(default)]
    pub(super) rejection_reason: String,
    #[serde(rename = "retryAt")]
    pub(super) _retry_at: Option<Timestamp>,
}

/// What a project uses.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "the other members are only allowed")]
pub(super) struct UsageReport {
    pub(super) info_version: i64,
    pub(super) resources: Option<BTreeMap<String, ResourceUsage>>,
    rates: Option<IgnoredAny>,
    metrics: Option<IgnoredAny>,
    serialized_state: Option<IgnoredAny>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "the other members are only allowed")]
pub(super) struct ResourceUsage {
    forbidden: bool,
    quota: Option<i64>,
    #[serde(rename = "perAZ")]
    per_zone: BTreeMap<String, ZoneUsage>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "the other members are only allowed")]
struct ZoneUsage {
    usage: u64,
    quota: Option<i64>,
    physical_usage: Option<u64>,
    #[serde(default)]
    subresources: Vec<Subresource>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "the other members are only allowed")]
struct Subresource {
    id: Option<String>,
    name: Option<String>,
    usage: Option<u64>,
    attributes: VmAttributes,
}

#[derive(Debug, Deserialize)]
struct VmAttributes {
    commitment_id: Option<String>,
}

/// The VMs that a report lists for a resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct UsageCounts {
    pub(super) usage: u64,
    pub(super) subresources: usize,
    /// How many of them a commitment covers.
    pub(super) committed: usize,
}

impl ResourceUsage {
    pub(super) fn counts(&self) -> UsageCounts {
        let vms = || self.per_zone.values().flat_map(|zone| &zone.subresources);
        UsageCounts {
            usage: self.per_zone.values().map(|zone| zone.usage).fold(0, u64::saturating_add),
            subresources: vms().count(),
            committed: vms().filter(|vm| vm.attributes.commitment_id.is_some()).count(),
        }
    }
}

/// Whether a reason only says that the zone is full.
pub(super) fn is_allowed(reason: &str) -> bool {
    ALLOWED_REASONS.iter().any(|allowed| reason.contains(allowed))
}
