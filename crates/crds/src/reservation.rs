//! Reservation: a block of capacity on one host, in one of three variants.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

use crate::{Quantity, schema, wire};

/// What is to be blocked, where and for whom.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "cortex.cloud",
    version = "v1alpha1",
    kind = "Reservation",
    plural = "reservations",
    singular = "reservation",
    status = "ReservationStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "Reservation is a block of capacity on one host: a slot of a commitment, a failover block or an in-flight VM.",
    printcolumn(name = "Type", type_ = "string", json_path = r".metadata.labels['reservations\.cortex\.cloud/type']"),
    printcolumn(name = "Host", type_ = "string", json_path = ".status.host"),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type=='Ready')].status"),
    printcolumn(
        name = "ResourceGroup",
        type_ = "string",
        json_path = ".spec.committedResourceReservation.resourceGroup"
    ),
    printcolumn(
        name = "HA ResourceGroup",
        type_ = "string",
        json_path = ".spec.failoverReservation.resourceGroup",
        priority = 1
    ),
    printcolumn(name = "Project", type_ = "string", json_path = ".spec.committedResourceReservation.projectID"),
    printcolumn(name = "AZ", type_ = "string", json_path = ".spec.availabilityZone"),
    printcolumn(name = "StartTime", type_ = "string", json_path = ".spec.startTime", priority = 1),
    printcolumn(name = "EndTime", type_ = "string", json_path = ".spec.endTime"),
    printcolumn(name = "Resources", type_ = "string", json_path = ".spec.resources", priority = 1),
    printcolumn(
        name = "LastChanged",
        type_ = "date",
        json_path = ".status.failoverReservation.lastChanged",
        priority = 1
    ),
    printcolumn(
        name = "AcknowledgedAt",
        type_ = "date",
        json_path = ".status.failoverReservation.acknowledgedAt",
        priority = 1
    ),
    printcolumn(
        name = "CR Allocations",
        type_ = "string",
        json_path = ".status.committedResourceReservation.allocations",
        priority = 1
    ),
    printcolumn(
        name = "HA Allocations",
        type_ = "string",
        json_path = ".status.failoverReservation.allocations",
        priority = 1
    ),
    printcolumn(
        name = "Commitment",
        type_ = "string",
        json_path = ".spec.committedResourceReservation.commitmentUUID"
    ),
    printcolumn(name = "Reason", type_ = "string", json_path = ".status.conditions[?(@.type=='Ready')].reason")
)]
#[serde(rename_all = "camelCase")]
pub struct ReservationSpec {
    /// Variant. Never changes. Written by the creator.
    #[serde(rename = "type")]
    pub type_: ReservationType,
    /// Scheduling domain, nova. Written by the creator.
    #[serde(default, deserialize_with = "wire::non_empty", skip_serializing_if = "Option::is_none")]
    pub scheduling_domain: Option<String>,
    /// Availability zone; it also routes the object to a cluster. Written by the creator.
    #[serde(default, deserialize_with = "wire::non_empty", skip_serializing_if = "Option::is_none")]
    pub availability_zone: Option<String>,
    /// Size of the block: memory in bytes, cpu in cores. Written by the creator.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub resources: BTreeMap<String, Quantity>,
    /// Start of the commitment. Written by the CommittedResource controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Time>,
    /// End of the commitment. Written by the CommittedResource controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_time: Option<Time>,
    /// Desired host, the name of a Hypervisor; absent means not placed yet or evicted. Set at creation, afterwards
    /// written by the Reservation controller only.
    #[serde(default, deserialize_with = "wire::non_empty", skip_serializing_if = "Option::is_none")]
    pub target_host: Option<String>,
    /// Data of a slot. Written by the CommittedResource controller, the scheduler and the Reservation controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub committed_resource_reservation: Option<CommittedResourceReservationSpec>,
    /// Data of a failover block. Written by the failover controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failover_reservation: Option<FailoverReservationSpec>,
    /// Data of an in-flight VM. Written by the scheduler that places the VM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight_reservation: Option<InFlightReservationSpec>,
}

/// The three variants of a Reservation.
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
pub enum ReservationType {
    /// A slot of a commitment.
    #[default]
    CommittedResourceReservation,
    /// Free capacity for VMs of a failed host.
    FailoverReservation,
    /// Free capacity for a VM that has been placed but has not arrived.
    InFlightReservation,
}

impl ReservationType {
    /// The text on the wire.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// Data of a slot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommittedResourceReservationSpec {
    /// Flavor of the slot. Written by the CommittedResource controller.
    #[serde(default, deserialize_with = "wire::non_empty", skip_serializing_if = "Option::is_none")]
    pub resource_name: Option<String>,
    /// Parent commitment. Written by the CommittedResource controller.
    #[serde(
        default,
        rename = "commitmentUUID",
        deserialize_with = "wire::non_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub commitment_uuid: Option<String>,
    /// Flavor group. Written by the CommittedResource controller.
    #[serde(default, deserialize_with = "wire::non_empty", skip_serializing_if = "Option::is_none")]
    pub resource_group: Option<String>,
    /// OpenStack project. Written by the CommittedResource controller.
    #[serde(
        default,
        rename = "projectID",
        deserialize_with = "wire::non_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub project_id: Option<String>,
    /// OpenStack domain. Written by the CommittedResource controller.
    #[serde(
        default,
        rename = "domainID",
        deserialize_with = "wire::non_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub domain_id: Option<String>,
    /// Who created the slot; for information.
    #[serde(default, deserialize_with = "wire::non_empty", skip_serializing_if = "Option::is_none")]
    pub creator: Option<String>,
    /// Generation of the commitment at the last write; absent or 0 means none. Written by the CommittedResource
    /// controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_generation: Option<i64>,
    /// VMs expected in the slot, by UUID. The scheduler and the controllers add, the Reservation controller removes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub allocations: BTreeMap<String, Allocation>,
}

/// A VM expected in a slot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Allocation {
    /// When the VM was assigned; its grace period starts here.
    pub creation_timestamp: Time,
    /// Size of the VM: memory in bytes, cpu in cores. May be empty.
    pub resources: BTreeMap<String, Quantity>,
}

/// Data of a failover block.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailoverReservationSpec {
    /// Flavor group of the protected VMs, or the flavor of the first one. Written by the failover controller.
    #[serde(default, deserialize_with = "wire::non_empty", skip_serializing_if = "Option::is_none")]
    pub resource_group: Option<String>,
}

/// Data of a VM on its way. Written by the scheduler that places the VM.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InFlightReservationSpec {
    /// UUID of the VM.
    #[serde(default, rename = "vmID", deserialize_with = "wire::non_empty", skip_serializing_if = "Option::is_none")]
    pub vm_id: Option<String>,
    /// Owner of the VM.
    #[serde(default, rename = "userID", deserialize_with = "wire::non_empty", skip_serializing_if = "Option::is_none")]
    pub user_id: Option<String>,
    /// OpenStack project of the VM.
    #[serde(
        default,
        rename = "projectID",
        deserialize_with = "wire::non_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub project_id: Option<String>,
    /// Scheduling intent, for example resize or rebuild.
    #[serde(default)]
    pub intent: String,
}

/// Where the block is in force.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReservationStatus {
    /// The condition Ready. Written by the controller of the variant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
    /// Host where the block is in force; while it differs from targetHost both hosts are blocked. Written by the
    /// controller of the variant.
    #[serde(default, deserialize_with = "wire::non_empty", skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Outcome of a slot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub committed_resource_reservation: Option<CommittedResourceReservationStatus>,
    /// Outcome of a failover block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failover_reservation: Option<FailoverReservationStatus>,
    /// Reserved; it is not written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight_reservation: Option<InFlightReservationStatus>,
}

/// Outcome of a slot. Written by the Reservation controller.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommittedResourceReservationStatus {
    /// Echo of parentGeneration after processing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_parent_generation: Option<i64>,
    /// Confirmed VMs: UUID to the host that runs the VM.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub allocations: BTreeMap<String, String>,
}

/// Outcome of a failover block. Written by the failover controller.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailoverReservationStatus {
    /// Protected VMs: UUID to the host that the VM runs on now, which is not the reserved host.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub allocations: BTreeMap<String, String>,
    /// Last change of the allocations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_changed: Option<Time>,
    /// When the last change was validated; absent means it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledged_at: Option<Time>,
}

/// Reserved for the in-flight variant; has no fields yet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InFlightReservationStatus {}
