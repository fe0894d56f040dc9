//! ProjectQuota: quota of one project in one zone, and the usage against it.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{schema, wire};

/// The quota that Limes pushed. Written only by the quota endpoint.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "cortex.cloud",
    version = "v1alpha1",
    kind = "ProjectQuota",
    plural = "projectquotas",
    singular = "projectquota",
    status = "ProjectQuotaStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "ProjectQuota is the quota of one project in one availability zone, and the usage against it.",
    printcolumn(name = "Project", type_ = "string", json_path = ".spec.projectID"),
    printcolumn(name = "AZ", type_ = "string", json_path = ".spec.availabilityZone"),
    printcolumn(name = "Domain", type_ = "string", json_path = ".spec.domainID"),
    printcolumn(name = "LastReconcile", type_ = "date", json_path = ".status.lastReconcileAt"),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type=='Ready')].status"),
    printcolumn(name = "TotalUsage", type_ = "string", json_path = ".status.totalUsageSummary", priority = 1),
    printcolumn(name = "PaygUsage", type_ = "string", json_path = ".status.paygUsageSummary", priority = 1),
    printcolumn(name = "LimesUsage", type_ = "string", json_path = ".status.limesUsageSummary", priority = 1),
    printcolumn(name = "LimesQuota", type_ = "string", json_path = ".status.limesQuotaSummary", priority = 1)
)]
#[serde(rename_all = "camelCase")]
pub struct ProjectQuotaSpec {
    /// OpenStack project. Never changes.
    #[serde(rename = "projectID")]
    pub project_id: String,
    /// Name of the project.
    #[serde(default, deserialize_with = "wire::non_empty", skip_serializing_if = "Option::is_none")]
    pub project_name: Option<String>,
    /// OpenStack domain; empty if it was never sent.
    #[serde(rename = "domainID")]
    pub domain_id: String,
    /// Name of the domain.
    #[serde(default, deserialize_with = "wire::non_empty", skip_serializing_if = "Option::is_none")]
    pub domain_name: Option<String>,
    /// Availability zone; it also routes the object to a cluster. Never changes.
    #[schemars(length(min = 1))]
    pub availability_zone: String,
    /// Quota in this zone by LIQUID resource name; RAM in GiB. Replaced as a whole on every push.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub quota: BTreeMap<String, i64>,
}

/// The usage. Written only by the quota controller.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectQuotaStatus {
    /// Generation processed last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Usage of all VMs of the project in this zone by LIQUID resource name; RAM in GiB.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub total_usage: BTreeMap<String, i64>,
    /// The part of totalUsage that no commitment covers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub payg_usage: BTreeMap<String, i64>,
    /// Short text of totalUsage.
    #[serde(default, deserialize_with = "wire::non_empty", skip_serializing_if = "Option::is_none")]
    pub total_usage_summary: Option<String>,
    /// Short text of paygUsage.
    #[serde(default, deserialize_with = "wire::non_empty", skip_serializing_if = "Option::is_none")]
    pub payg_usage_summary: Option<String>,
    /// Short text of totalUsage with RAM in declared units.
    #[serde(default, deserialize_with = "wire::non_empty", skip_serializing_if = "Option::is_none")]
    pub limes_usage_summary: Option<String>,
    /// Short text of the quota with RAM in declared units.
    #[serde(default, deserialize_with = "wire::non_empty", skip_serializing_if = "Option::is_none")]
    pub limes_quota_summary: Option<String>,
    /// Last successful write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_reconcile_at: Option<Time>,
    /// Last full computation: periodic, or after a change of the spec. Later VMs are added to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_full_reconcile_at: Option<Time>,
    /// The condition Ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
}
