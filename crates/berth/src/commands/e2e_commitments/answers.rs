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

/// Whether a reason only says that the zone is full.
pub(super) fn is_allowed(reason: &str) -> bool {
    ALLOWED_REASONS.iter().any(|allowed| reason.contains(allowed))
}
