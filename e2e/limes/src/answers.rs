//! The answers of a LIQUID service, as Limes decodes them: an unknown member anywhere makes the whole answer an error.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

/// What a service announces.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ServiceInfo {
    pub version: i64,
    pub display_name: String,
    pub categories: Option<BTreeMap<String, CategoryInfo>>,
    pub resources: Option<BTreeMap<String, ResourceInfo>>,
    pub rates: Option<BTreeMap<String, RateInfo>>,
    pub capacity_metric_families: Option<BTreeMap<String, MetricFamilyInfo>>,
    pub usage_metric_families: Option<BTreeMap<String, MetricFamilyInfo>>,
    #[serde(default)]
    pub usage_report_needs_project_metadata: bool,
    #[serde(default)]
    pub quota_update_needs_project_metadata: bool,
    #[serde(default)]
    pub commitment_handling_needs_project_metadata: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CategoryInfo {
    pub display_name: String,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "members of the protocol")]
pub struct ResourceInfo {
    pub display_name: String,
    pub category_name: Option<String>,
    /// `<unit>` or `<number> <unit>`; empty means pieces.
    #[serde(default)]
    pub unit: String,
    pub topology: Topology,
    pub has_capacity: bool,
    pub needs_resource_demand: bool,
    pub has_quota: bool,
    #[serde(default)]
    pub handles_commitments: bool,
    /// Limes passes them on without reading them.
    pub attributes: Option<BTreeMap<String, Value>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RateInfo {
    pub display_name: String,
    pub category_name: Option<String>,
    #[serde(default)]
    pub unit: String,
    pub topology: Topology,
    pub has_usage: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MetricFamilyInfo {
    #[serde(rename = "type")]
    pub kind: String,
    pub help: String,
    pub label_keys: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Topology {
    Flat,
    AzAware,
    AzSeparated,
}

/// The answer to a change of commitments. Without a reason it is accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChangeAnswer {
    #[serde(default)]
    pub rejection_reason: String,
    pub retry_at: Option<Timestamp>,
}

/// What a project uses. The version must be the one of the info that Limes has.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UsageReport {
    pub info_version: i64,
    pub resources: Option<BTreeMap<String, ResourceUsage>>,
    pub rates: Option<BTreeMap<String, Value>>,
    pub metrics: Option<BTreeMap<String, Value>>,
    pub serialized_state: Option<Value>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResourceUsage {
    pub forbidden: bool,
    pub quota: Option<i64>,
    #[serde(rename = "perAZ")]
    pub per_az: BTreeMap<String, AzUsage>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AzUsage {
    pub usage: u64,
    pub quota: Option<i64>,
    pub physical_usage: Option<u64>,
    #[serde(default)]
    pub subresources: Vec<Subresource>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subresource {
    pub id: Option<String>,
    pub name: Option<String>,
    pub usage: Option<u64>,
    #[serde(default)]
    pub attributes: Value,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_member_makes_an_answer_unusable() {
        assert_eq!(serde_json::from_str::<ChangeAnswer>("{}").unwrap(), ChangeAnswer::default());
        let rejected = r#"{"rejectionReason":"full","retryAt":"2026-03-02T08:15:00Z"}"#;
        assert_eq!(serde_json::from_str::<ChangeAnswer>(rejected).unwrap().rejection_reason, "full");
        let error = serde_json::from_str::<ChangeAnswer>(r#"{"reason":"full"}"#).unwrap_err().to_string();
        assert!(error.contains("unknown field `reason`"), "{error}");
        assert!(serde_json::from_str::<ChangeAnswer>("{} {}").is_err());
    }
}
