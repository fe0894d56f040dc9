//! What is published when, how a replica serves it, and what is left when the map is edited or deleted.

mod decisions;
mod replicas;

use berth_cluster::{FlavorGroupsCache, Store, testing};
use berth_core::ClusterName;
use berth_core::commitment::Spec;
use berth_core::flavor::FlavorGroups;
use berth_core::liquid::resources::{GroupResources, ResourceConfig, ResourceFlags};
use berth_crds::Knowledge;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;

/// The flavor groups of the session with Limes that the protocol documents: `hana_v3` and `gp_v1`.
pub(crate) fn features() -> Vec<Value> {
    let flavors = |flavors: [(&str, u32, u64); 3]| {
        flavors.map(|(name, vcpus, memory)| json!({ "name": name, "vcpus": vcpus, "memoryMB": memory }))
    };
    let hana = flavors([
        ("hana_v3_c120_m1920", 120, 1_966_064),
        ("hana_v3_c60_m960", 60, 983_024),
        ("hana_v3_c30_m480", 30, 491_504),
    ]);
    let gp = flavors([("gp_v1_c8_m32", 8, 32_752), ("gp_v1_c4_m32", 4, 32_752), ("gp_v1_c2_m8", 2, 8176)]);
    vec![
        json!({ "name": "hana_v3", "flavors": hana, "smallestFlavor": hana[2], "ramCoreRatio": 16_383 }),
        json!({ "name": "gp_v1", "flavors": gp, "smallestFlavor": gp[2], "ramCoreRatioMin": 4094, "ramCoreRatioMax": 8188 }),
    ]
}

pub(crate) fn groups(features: &[Value]) -> FlavorGroups {
    FlavorGroups::parse(&json!({ "features": features })).unwrap().groups
}

pub(crate) fn config_with_unit(hana_gib: u64) -> ResourceConfig {
    let announced = ResourceFlags { has_capacity: true, has_quota: true, ..ResourceFlags::default() };
    let committed = ResourceFlags { handles_commitments: true, handles_dry_run: true, ..announced };
    let of = |cores, ram_unit_gib| GroupResources { ram: committed, cores, instances: announced, ram_unit_gib };
    [("hana_v3".into(), of(announced, hana_gib)), ("gp_v1".into(), of(committed, 1))].into_iter().collect()
}

pub(crate) fn config() -> ResourceConfig {
    config_with_unit(480)
}

pub(crate) fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// When the flavor groups of the session changed.
pub(crate) fn changed() -> Timestamp {
    time("2026-03-02T08:15:00Z")
}

pub(crate) fn knowledge(features: &[Value], changed: Timestamp) -> Knowledge {
    serde_json::from_value(json!({
        "apiVersion": "cortex.cloud/v1alpha1", "kind": "Knowledge",
        "metadata": { "name": "flavor-groups", "uid": "u", "resourceVersion": changed.as_second().to_string() },
        "spec": { "schedulingDomain": "nova" },
        "status": {
            "lastContentChange": changed.to_string(),
            "raw": { "features": features },
            "conditions": [{
                "type": "Ready", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2026-03-01T08:00:00Z",
            }],
        },
    }))
    .unwrap()
}

/// The sources of a process that has read these groups.
pub(crate) fn source(knowledges: &Store<Knowledge>) -> InfoSource {
    InfoSource { groups: FlavorGroupsCache::new(knowledges.clone()), config: config() }
}

pub(crate) fn knowledges(objects: impl IntoIterator<Item = Knowledge>) -> Store<Knowledge> {
    testing::filled(&[], &ClusterName::home(), objects)
}

/// A commitment of so much memory of `hana_v3`.
fn sold(amount: &str) -> Spec {
    Spec { group: "hana_v3".into(), ..berth_core::testing::spec(amount) }
}
