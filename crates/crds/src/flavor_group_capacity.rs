//! FlavorGroupCapacity: capacity of one flavor group in one zone.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Quantity, schema, wire};

/// Which group and zone the object is about. Written once, by the capacity controller.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "cortex.cloud",
    version = "v1alpha1",
    kind = "FlavorGroupCapacity",
    plural = "flavorgroupcapacities",
    singular = "flavorgroupcapacity",
    status = "FlavorGroupCapacityStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "FlavorGroupCapacity is the capacity of one flavor group in one availability zone.",
    printcolumn(name = "Group", type_ = "string", json_path = ".spec.flavorGroup"),
    printcolumn(name = "AZ", type_ = "string", json_path = ".spec.availabilityZone"),
    printcolumn(name = "Running", type_ = "integer", json_path = ".status.runningInstances"),
    printcolumn(name = "Avail", type_ = "integer", json_path = ".status.exclusivelyFreeSlots"),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type=='Ready')].status"),
    printcolumn(name = "Reconciled", type_ = "date", json_path = ".status.lastReconcileAt"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp", priority = 1),
    printcolumn(name = "Free_Mem", type_ = "string", json_path = ".status.freeCapacity.memory", priority = 1),
    printcolumn(
        name = "Excl_Mem",
        type_ = "string",
        json_path = ".status.exclusivelyFreeCapacity.memory",
        priority = 1
    ),
    printcolumn(name = "Free_CPU", type_ = "string", json_path = ".status.freeCapacity.cores", priority = 1),
    printcolumn(
        name = "Excl_CPU",
        type_ = "string",
        json_path = ".status.exclusivelyFreeCapacity.cores",
        priority = 1
    )
)]
#[serde(rename_all = "camelCase")]
pub struct FlavorGroupCapacitySpec {
    /// Flavor group. Never changes.
    pub flavor_group: String,
    /// Availability zone; it also routes the object to a cluster. Never changes.
    pub availability_zone: String,
}

/// The capacity. Written only by the capacity controller.
///
/// Resource maps have the keys memory (bytes) and cores.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FlavorGroupCapacityStatus {
    /// One entry per flavor of the group, sorted by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flavors: Vec<FlavorCapacity>,
    /// Smallest-flavor slots promised by active memory commitments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub committed_capacity: Option<i64>,
    /// The same in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub committed_capacity_bytes: Option<i64>,
    /// The flavor that slots are counted in.
    #[serde(default, deserialize_with = "wire::non_empty", skip_serializing_if = "Option::is_none")]
    pub smallest_flavor_name: Option<String>,
    /// Capacity of the empty data centre. A key that is present, even with 0, was probed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub total_capacity: BTreeMap<String, Quantity>,
    /// Free on candidate hosts; groups may overlap.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub free_capacity: BTreeMap<String, Quantity>,
    /// Share of the group after the split between groups.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub exclusively_free_capacity: BTreeMap<String, Quantity>,
    /// Smallest-flavor slots that fit into exclusivelyFreeCapacity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclusively_free_slots: Option<i64>,
    /// Running VMs of the group in the zone; kept while VM data is unavailable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running_instances: Option<i64>,
    /// What these VMs use; kept while VM data is unavailable, absent if none runs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub running_resources: BTreeMap<String, Quantity>,
    /// Memory of these VMs in declared units of the group, summed per VM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running_units: Option<i64>,
    /// VMs of the smallest flavor that fit into what slots hold beyond their VMs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved_instances: Option<i64>,
    /// What the slots of the group hold beyond their VMs; absent if nothing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reserved_resources: BTreeMap<String, Quantity>,
    /// Memory of the same in declared units of the group, summed per slot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved_units: Option<i64>,
    /// Last successful write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_reconcile_at: Option<Time>,
    /// The condition Ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
}

/// Free capacity for one flavor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FlavorCapacity {
    /// Flavor.
    pub flavor_name: String,
    /// Hosts that can take at least one more VM of this flavor now.
    #[serde(default, skip_serializing_if = "wire::is_zero")]
    pub placeable_hosts: i64,
    /// VMs of this flavor that still fit now, if nothing else is placed.
    #[serde(default, skip_serializing_if = "wire::is_zero")]
    pub placeable_vms: i64,
    /// Hosts that can take this flavor in the empty data centre.
    #[serde(default, skip_serializing_if = "wire::is_zero")]
    pub total_capacity_hosts: i64,
    /// VMs of this flavor that fit into the empty data centre.
    #[serde(default, skip_serializing_if = "wire::is_zero")]
    pub total_capacity_vm_slots: i64,
}
