//! Hypervisor: a host and what runs on it. Owned by the hypervisor operator and an agent on the node; the Placement API
//! writes `spec.groups`, everything else is only read.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::hypervisor_details::unknown;
pub use crate::hypervisor_details::{Capabilities, Cell, DomainCapabilities, OperatingSystem, UpdateStatus};
use crate::{Quantity, schema, wire};

/// How a host is to be run.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "kvm.cloud.sap",
    version = "v1",
    kind = "Hypervisor",
    plural = "hypervisors",
    singular = "hypervisor",
    shortname = "hv",
    status = "HypervisorStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "Hypervisor is a KVM host, named like its node and its OpenStack compute host.",
    printcolumn(
        name = "Zone",
        type_ = "string",
        json_path = r".metadata.labels.topology\.kubernetes\.io/zone",
        priority = 2
    ),
    printcolumn(
        name = "Building Block",
        type_ = "string",
        json_path = r".metadata.labels.kubernetes\.metal\.cloud\.sap/bb",
        priority = 2
    ),
    printcolumn(
        name = "Group",
        type_ = "string",
        json_path = r".metadata.labels.worker\.garden\.sapcloud\.io/group",
        priority = 2
    ),
    printcolumn(name = "Ready", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].status"#),
    printcolumn(name = "State", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].reason"#),
    printcolumn(name = "Taint", type_ = "string", json_path = r#".status.conditions[?(@.type=="Tainted")].message"#),
    printcolumn(name = "Lifecycle", type_ = "boolean", json_path = ".spec.lifecycleEnabled"),
    printcolumn(name = "High Availability", type_ = "boolean", json_path = ".spec.highAvailability"),
    printcolumn(name = "Skip Tests", type_ = "boolean", json_path = ".spec.skipTests"),
    printcolumn(name = "Version", type_ = "string", json_path = ".status.operatingSystem.prettyVersion"),
    printcolumn(name = "IP", type_ = "string", json_path = ".status.internalIp"),
    printcolumn(name = "Instances", type_ = "integer", json_path = ".status.numInstances"),
    printcolumn(
        name = "Hardware",
        type_ = "string",
        json_path = ".status.operatingSystem.hardwareModel",
        priority = 2
    ),
    printcolumn(name = "Kernel", type_ = "string", json_path = ".status.operatingSystem.kernelRelease", priority = 2),
    printcolumn(
        name = "Onboarding",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Onboarding")].reason"#,
        priority = 3
    ),
    printcolumn(name = "Service ID", type_ = "string", json_path = ".status.serviceId", priority = 3),
    printcolumn(name = "Hypervisor ID", type_ = "string", json_path = ".status.hypervisorId", priority = 3),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase", remote = "Self")]
#[schemars(!remote)]
#[expect(clippy::struct_excessive_bools, reason = "the fields of an API that another project owns")]
pub struct HypervisorSpec {
    /// Desired operating system version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Reboot after an upgrade.
    #[serde(default)]
    pub reboot: bool,
    /// Evacuate before a reboot.
    #[serde(default = "yes")]
    pub evacuate_on_reboot: bool,
    /// Life cycle management on.
    #[serde(default = "yes")]
    pub lifecycle_enabled: bool,
    /// Skip onboarding tests.
    #[serde(default)]
    pub skip_tests: bool,
    /// Extra traits.
    #[serde(default)]
    pub custom_traits: Vec<String>,
    /// Aggregate names.
    #[serde(default)]
    pub aggregates: Vec<String>,
    /// Memberships in traits and aggregates. Written by the Placement API.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<HypervisorGroup>,
    /// Projects that may use the host; empty means all.
    #[serde(default)]
    pub allowed_projects: Vec<String>,
    /// High availability handling on.
    #[serde(default = "yes")]
    pub high_availability: bool,
    /// Request a certificate.
    #[serde(default)]
    pub create_cert_manager_certificate: bool,
    /// Install the certificate.
    #[serde(default = "yes")]
    pub install_certificate: bool,
    /// Maintenance mode: absent or empty, manual, auto, ha or termination.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["", "manual", "auto", "ha", "termination"]))]
    pub maintenance: Option<String>,
    /// Reason for manual maintenance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maintenance_reason: Option<String>,
    /// Overcommit ratio by resource (cpu, memory), each at least 1.0; a missing one is 1.0.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::map_of_numbers")]
    pub overcommit: BTreeMap<String, f64>,
}

/// A Hypervisor may have no spec at all. serde asks a missing field whether it can be read as an absent option, which
/// is what this answers; the derived code of `remote = "Self"` reads a spec that is there.
impl<'de> Deserialize<'de> for HypervisorSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Present(HypervisorSpec);

        impl<'de> Deserialize<'de> for Present {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                HypervisorSpec::deserialize(deserializer).map(Self)
            }
        }

        Ok(Option::<Present>::deserialize(deserializer)?.map(|present| present.0).unwrap_or_default())
    }
}

impl Serialize for HypervisorSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

fn yes() -> bool {
    true
}

/// Membership in a trait or in an aggregate: exactly one of the two.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HypervisorGroup {
    /// A trait.
    #[serde(default, rename = "trait", skip_serializing_if = "Option::is_none")]
    pub trait_: Option<TraitGroup>,
    /// An aggregate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregate: Option<AggregateGroup>,
}

/// A trait of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TraitGroup {
    /// Name of the trait.
    #[schemars(length(min = 1))]
    pub name: String,
}

/// An aggregate that a host belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AggregateGroup {
    /// Name of the aggregate.
    #[schemars(length(min = 1))]
    pub name: String,
    /// UUID of the aggregate.
    #[schemars(regex(pattern = r"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"))]
    pub uuid: String,
    /// Metadata of the aggregate.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}

/// What is known of a host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HypervisorStatus {
    /// Version of libvirt.
    #[serde(default = "unknown", rename = "libVirtVersion")]
    pub libvirt_version: String,
    /// Version of the hypervisor.
    #[serde(default = "unknown")]
    pub hypervisor_version: String,
    /// Operating system and hardware.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operating_system: Option<OperatingSystem>,
    /// State of an upgrade.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_status: Option<UpdateStatus>,
    /// VMs on the host, stopped ones included.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instances: Vec<Instance>,
    /// Capabilities of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Capabilities>,
    /// Capabilities of VMs on the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain_capabilities: Option<DomainCapabilities>,
    /// Used by VMs: cpu in cores, memory in bytes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub allocation: BTreeMap<String, Quantity>,
    /// Physical capacity: cpu in cores, memory in bytes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub capacity: BTreeMap<String, Quantity>,
    /// Capacity times overcommit, rounded down.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub effective_capacity: BTreeMap<String, Quantity>,
    /// NUMA cells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<Cell>,
    /// Number of VMs.
    #[serde(default)]
    #[schemars(schema_with = "schema::plain_integer")]
    pub num_instances: i64,
    /// OpenStack hypervisor id, which is the UUID of the resource provider.
    #[serde(default, deserialize_with = "wire::non_empty", skip_serializing_if = "Option::is_none")]
    pub hypervisor_id: Option<String>,
    /// OpenStack compute service id.
    #[serde(default, deserialize_with = "wire::non_empty", skip_serializing_if = "Option::is_none")]
    pub service_id: Option<String>,
    /// Traits in force.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traits: Vec<String>,
    /// Aggregates in force.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aggregates: Vec<Aggregate>,
    /// Address of the host.
    #[serde(default, deserialize_with = "wire::non_empty", skip_serializing_if = "Option::is_none")]
    pub internal_ip: Option<String>,
    /// Whether the host has been evacuated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evicted: Option<bool>,
    /// Conditions: Ready, Tainted, Terminating and others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::condition_map")]
    pub conditions: Vec<Condition>,
    /// Hash of the spec that is in force.
    #[serde(default, deserialize_with = "wire::non_empty", skip_serializing_if = "Option::is_none")]
    pub spec_hash: Option<String>,
}

/// A VM on a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Instance {
    /// UUID of the VM.
    pub id: String,
    /// Name in libvirt.
    pub name: String,
    /// Whether it runs.
    pub active: bool,
}

/// An aggregate in force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Aggregate {
    /// Name of the aggregate.
    pub name: String,
    /// UUID of the aggregate.
    pub uuid: String,
    /// Metadata of the aggregate.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}
