//! CommittedResource: one commitment that Limes knows.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

use crate::{Quantity, schema, wire};

/// What was committed: how much of which flavor group, where, for whom and until when.
///
/// Written by the change API and the syncer; the controllers only read it.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "cortex.cloud",
    version = "v1alpha1",
    kind = "CommittedResource",
    plural = "committedresources",
    singular = "committedresource",
    status = "CommittedResourceStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "CommittedResource is a commitment of capacity to a project, known to Limes by its UUID.",
    printcolumn(name = "Project", type_ = "string", json_path = ".spec.projectID"),
    printcolumn(name = "FlavorGroup", type_ = "string", json_path = ".spec.flavorGroupName"),
    printcolumn(name = "ResourceType", type_ = "string", json_path = ".spec.resourceType"),
    printcolumn(name = "AZ", type_ = "string", json_path = ".spec.availabilityZone"),
    printcolumn(name = "Amount", type_ = "string", json_path = ".spec.amount"),
    printcolumn(name = "UsedMemory", type_ = "string", json_path = ".status.usedResources.memory", priority = 1),
    printcolumn(name = "UsedCPU", type_ = "string", json_path = ".status.usedResources.cpu", priority = 1),
    printcolumn(name = "State", type_ = "string", json_path = ".spec.state"),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type=='Ready')].status"),
    printcolumn(name = "StartTime", type_ = "date", json_path = ".spec.startTime", priority = 1),
    printcolumn(name = "Status", type_ = "string", json_path = ".status.statusSummary", priority = 1),
    printcolumn(name = "Reason", type_ = "string", json_path = ".status.conditions[?(@.type=='Ready')].reason")
)]
#[serde(rename_all = "camelCase")]
pub struct CommittedResourceSpec {
    /// Commitment id of Limes, 6 to 40 characters of `[a-zA-Z0-9-]`. Never changes.
    #[serde(rename = "commitmentUUID")]
    pub commitment_uuid: String,
    /// Scheduling domain, `nova`.
    #[serde(default, deserialize_with = "wire::non_empty", skip_serializing_if = "Option::is_none")]
    pub scheduling_domain: Option<String>,
    /// Flavor group.
    pub flavor_group_name: String,
    /// Whether memory or CPU cores are committed. Never changes.
    pub resource_type: ResourceType,
    /// How much: bytes in binary form, a whole number of MiB, for `memory`; whole cores for `cores`. `0` for commitments
    /// that hold nothing.
    pub amount: Quantity,
    /// Availability zone of the commitment; it also routes the object to a cluster.
    pub availability_zone: String,
    /// OpenStack project.
    #[serde(rename = "projectID")]
    pub project_id: String,
    /// OpenStack domain; empty when Limes sent no project metadata.
    #[serde(rename = "domainID")]
    pub domain_id: String,
    /// Start of validity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Time>,
    /// Expiry; absent means never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_time: Option<Time>,
    /// When Limes confirmed the commitment; written only together with another change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed_at: Option<Time>,
    /// Life cycle state in Limes.
    pub state: CommitmentState,
    /// True: a commitment that cannot be placed is rejected and rolled back. False: it is tried again for ever.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_rejection: bool,
}

/// What became of a commitment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommittedResourceStatus {
    /// Copy of the spec that was last brought into force. Written by the CommittedResource controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted_spec: Option<CommittedResourceSpec>,
    /// When acceptedSpec was taken. Written by the CommittedResource controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted_at: Option<Time>,
    /// Last reconcile that changed something. Written by the CommittedResource controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_reconcile_at: Option<Time>,
    /// UUIDs of the VMs that use the commitment, in the order of assignment. Written by the usage reconciler.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assigned_instances: Vec<String>,
    /// What these VMs use: memory in bytes and cpu in cores, both present when the map is. Written by the usage
    /// reconciler.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub used_resources: BTreeMap<String, Quantity>,
    /// Memory of these VMs in declared whole GiB, summed per VM. Written by the usage reconciler.
    #[serde(default, rename = "usedDeclaredGiB", skip_serializing_if = "Option::is_none")]
    pub used_declared_gib: Option<i64>,
    /// Last usage write. Written by the usage reconciler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_usage_reconcile_at: Option<Time>,
    /// Generation that the usage data belongs to; absent is not the same as 0. Written by the usage reconciler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub usage_observed_generation: Option<i64>,
    /// The condition Ready. Written by the CommittedResource controller.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
    /// One line for people. Written by the CommittedResource controller and the usage reconciler.
    #[serde(default, deserialize_with = "wire::non_empty", skip_serializing_if = "Option::is_none")]
    pub status_summary: Option<String>,
}

/// What a commitment is about. The names differ from the keys of resource maps.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
    IntoStaticStr,
    Display,
)]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "snake_case")]
pub enum ResourceType {
    /// Memory, held by slots.
    #[default]
    Memory,
    /// CPU cores, held by a sum.
    Cores,
}

impl ResourceType {
    /// The text on the wire.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// Life cycle of a commitment in Limes.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
    IntoStaticStr,
    Display,
)]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "snake_case")]
pub enum CommitmentState {
    /// Announced for later; holds nothing.
    #[default]
    Planned,
    /// Waiting for confirmation; slots are attempted.
    Pending,
    /// Promised for its start; slots are kept in sync.
    Guaranteed,
    /// In force; slots are kept in sync.
    Confirmed,
    /// Replaced by other commitments; slots are removed.
    Superseded,
    /// Over; slots are removed.
    Expired,
}

impl CommitmentState {
    /// The text on the wire.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// True for `guaranteed` and `confirmed`. `pending` is not active.
    pub fn is_active(self) -> bool {
        matches!(self, Self::Guaranteed | Self::Confirmed)
    }
}
