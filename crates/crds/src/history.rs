//! History: the last decisions about one workload, for people. Written by the scheduler; a cluster need not have the
//! kind.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ObjectReference, schema, wire};

/// The workload that decisions are remembered of.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "cortex.cloud",
    version = "v1alpha1",
    kind = "History",
    plural = "histories",
    singular = "history",
    status = "HistoryStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "History is the last scheduling decisions about one workload.",
    printcolumn(name = "Domain", type_ = "string", json_path = ".spec.schedulingDomain"),
    printcolumn(name = "Resource ID", type_ = "string", json_path = ".spec.resourceID"),
    printcolumn(name = "AZ", type_ = "string", json_path = ".spec.availabilityZone"),
    printcolumn(name = "Target Host", type_ = "string", json_path = ".status.current.targetHost"),
    printcolumn(name = "Intent", type_ = "string", json_path = ".status.current.intent"),
    printcolumn(name = "Pipeline", type_ = "string", json_path = ".status.current.pipelineRef.name", priority = 1),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type=='Ready')].status"),
    printcolumn(name = "Reason", type_ = "string", json_path = ".status.conditions[?(@.type=='Ready')].reason"),
    printcolumn(name = "Decided", type_ = "date", json_path = ".status.current.timestamp"),
    printcolumn(name = "Created", type_ = "date", json_path = ".metadata.creationTimestamp", priority = 1)
)]
#[serde(rename_all = "camelCase")]
pub struct HistorySpec {
    /// Scheduling domain, nova.
    pub scheduling_domain: String,
    /// The workload: the UUID of a server.
    #[serde(rename = "resourceID")]
    pub resource_id: String,
    /// Availability zone of the first request; it also routes the object to a cluster.
    #[serde(default, deserialize_with = "wire::non_empty", skip_serializing_if = "Option::is_none")]
    pub availability_zone: Option<String>,
}

/// What was decided.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryStatus {
    /// The last decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<CurrentDecision>,
    /// The decisions before it, the oldest first; at most ten.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<FormerDecision>,
    /// The condition Ready: whether the last decision found a host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
}

/// The last decision about the workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CurrentDecision {
    /// When it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<Time>,
    /// The pipeline that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipeline_ref: Option<ObjectReference>,
    /// What the host was wanted for.
    #[serde(default, deserialize_with = "wire::non_empty", skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
    /// Whether there was a host.
    pub successful: bool,
    /// The host.
    #[serde(default, deserialize_with = "wire::non_empty", skip_serializing_if = "Option::is_none")]
    pub target_host: Option<String>,
    /// Why, for people.
    #[serde(default, deserialize_with = "wire::non_empty", skip_serializing_if = "Option::is_none")]
    pub explanation: Option<String>,
    /// The best hosts, the best first; at most three.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ordered_hosts: Vec<String>,
}

/// A decision before the last one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FormerDecision {
    /// When it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<Time>,
    /// The pipeline that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipeline_ref: Option<ObjectReference>,
    /// What the host was wanted for.
    #[serde(default, deserialize_with = "wire::non_empty", skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
    /// The best hosts, the best first; at most three.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ordered_hosts: Vec<String>,
    /// Whether there was a host.
    pub successful: bool,
}
