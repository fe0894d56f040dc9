//! The content of the Knowledge object `flavor-groups` as it is written.
//!
//! Which groups are valid, and their order, is decided by the reader in `berth-core`; this is only the wire format.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::wire;

/// The content of `status.raw`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlavorGroupFeatures {
    /// The flavor groups; absent or `null` means there are none.
    #[serde(default, deserialize_with = "wire::null_as_default")]
    pub features: Vec<FlavorGroupFeature>,
}

impl FlavorGroupFeatures {
    /// Reads `status.raw`. Absent content holds no groups.
    pub fn from_raw(raw: Option<&Value>) -> Result<Self, serde_json::Error> {
        raw.map_or_else(|| Ok(Self::default()), Self::deserialize)
    }
}

/// Flavors of one hardware version.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FlavorGroupFeature {
    /// Value of the flavor extra spec `quota:hw_version`; part of the LIQUID resource names.
    pub name: String,
    /// All flavors of the group.
    #[serde(default, deserialize_with = "wire::null_as_default")]
    pub flavors: Vec<FlavorFeature>,
    /// Copy of the first flavor of the sorted list.
    #[serde(default, deserialize_with = "wire::null_as_default")]
    pub largest_flavor: FlavorFeature,
    /// Copy of the last flavor of the sorted list.
    #[serde(default, deserialize_with = "wire::null_as_default")]
    pub smallest_flavor: FlavorFeature,
    /// MiB per vCPU, if it is the same for all flavors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ram_core_ratio: Option<u64>,
    /// Lowest MiB per vCPU, if they differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ram_core_ratio_min: Option<u64>,
    /// Highest MiB per vCPU, if they differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ram_core_ratio_max: Option<u64>,
}

/// One flavor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FlavorFeature {
    /// Flavor name.
    #[serde(default)]
    pub name: String,
    /// Virtual CPUs.
    #[serde(default)]
    pub vcpus: u64,
    /// Memory in MiB, despite the name.
    #[serde(default, rename = "memoryMB")]
    pub memory_mb: u64,
    /// Root disk in GiB.
    #[serde(default, rename = "diskGB")]
    pub disk_gb: u64,
    /// Ephemeral disk in GiB.
    #[serde(default, rename = "ephemeralGB", skip_serializing_if = "Option::is_none")]
    pub ephemeral_gb: Option<u64>,
    /// Extra specs of the flavor, unchanged.
    #[serde(default, deserialize_with = "wire::null_as_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub extra_specs: BTreeMap<String, String>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::FlavorGroupFeatures;

    #[test]
    fn absent_and_null_features_are_no_groups() {
        for raw in [None, Some(json!({})), Some(json!({ "features": null }))] {
            assert!(FlavorGroupFeatures::from_raw(raw.as_ref()).unwrap().features.is_empty(), "{raw:?}");
        }
    }

    #[test]
    fn a_group_without_flavors_is_readable() {
        let raw = json!({ "features": [{ "name": "empty", "flavors": null, "largestFlavor": null }] });
        assert_eq!(FlavorGroupFeatures::from_raw(Some(&raw)).unwrap().features[0].name, "empty");
    }

    #[test]
    fn other_content_is_an_error() {
        assert!(FlavorGroupFeatures::from_raw(Some(&json!({ "features": "none" }))).is_err());
    }
}
