//! Parts of a Hypervisor's status that describe hardware and software.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Quantity, schema};

/// Operating system, kernel, hardware and firmware of a host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OperatingSystem {
    /// Version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Variant.
    #[serde(default, rename = "variantID", skip_serializing_if = "Option::is_none")]
    pub variant_id: Option<String>,
    /// Version for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pretty_version: Option<String>,
    /// Kernel name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_name: Option<String>,
    /// Kernel release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_release: Option<String>,
    /// Kernel version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_version: Option<String>,
    /// Kernel command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_command_line: Option<String>,
    /// Hardware vendor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware_vendor: Option<String>,
    /// Hardware model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware_model: Option<String>,
    /// Hardware serial number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware_serial: Option<String>,
    /// Firmware version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware_version: Option<String>,
    /// Firmware vendor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware_vendor: Option<String>,
    /// Date of the firmware.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware_date: Option<Time>,
    /// Commit of the operating system image.
    #[serde(default, rename = "gardenLinuxCommitID", skip_serializing_if = "Option::is_none")]
    pub garden_linux_commit_id: Option<String>,
    /// Features of the operating system image.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub garden_linux_features: Vec<String>,
}

/// State of an operating system upgrade.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateStatus {
    /// Whether an upgrade is running.
    #[serde(default)]
    pub in_progress: bool,
    /// Installed version.
    #[serde(default = "unknown")]
    pub installed: String,
    /// Tries that are left.
    #[serde(default = "three")]
    #[schemars(schema_with = "schema::plain_integer")]
    pub retry: i64,
}

fn three() -> i64 {
    3
}

/// Capabilities of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Capabilities {
    /// CPU architecture.
    #[serde(default = "unknown")]
    pub cpu_arch: String,
    /// Memory in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Quantity>,
    /// CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<Quantity>,
}

/// Capabilities of the VMs that a host can run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DomainCapabilities {
    /// CPU architecture.
    #[serde(default = "unknown")]
    pub arch: String,
    /// Type of the hypervisor.
    #[serde(default = "unknown")]
    pub hypervisor_type: String,
    /// Supported devices.
    #[serde(default)]
    pub supported_devices: Vec<String>,
    /// Supported CPU modes.
    #[serde(default)]
    pub supported_cpu_modes: Vec<String>,
    /// Supported features.
    #[serde(default)]
    pub supported_features: Vec<String>,
}

/// A NUMA cell of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cell {
    /// Number of the cell.
    #[serde(rename = "cellID")]
    pub cell_id: i64,
    /// Used by VMs: cpu in cores, memory in bytes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub allocation: BTreeMap<String, Quantity>,
    /// Physical capacity.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub capacity: BTreeMap<String, Quantity>,
    /// Capacity times overcommit, rounded down.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub effective_capacity: BTreeMap<String, Quantity>,
}

pub(crate) fn unknown() -> String {
    "unknown".to_owned()
}
