//! Objects that a world begins with. Memory hosts come in multiples of one slot of 480 GiB, so that what fits is easy to
//! see.

use berth_crds::{
    CommittedResource, Hypervisor, Knowledge, KnowledgeSpec, KnowledgeStatus,
    conditions::{Status, ready_condition},
    names, testing,
};
use jiff::Timestamp;
use serde_json::json;

/// The zone beside [`testing::ZONE`].
pub const OTHER_ZONE: &str = "eu-test-1b";

/// Memory of one slot in GiB.
pub const SLOT_GIB: u64 = 480;

/// Cores of one slot.
pub const SLOT_CORES: u64 = 30;

/// The amount of so many slots.
pub fn slots(count: u64) -> String {
    format!("{}Gi", count * SLOT_GIB)
}

/// The name of slot `number` of a commitment.
pub fn slot_name(uuid: &str, number: u64) -> String {
    names::slot(&names::commitment(uuid), number)
}

/// The flavor groups: [`testing::GROUP`] with the one flavor [`testing::FLAVOR`].
pub fn flavor_groups(now: Timestamp) -> Knowledge {
    let specs = json!({ "quota:hw_version": testing::GROUP, "capabilities:hypervisor_type": "QEMU" });
    let flavor = json!({ "name": testing::FLAVOR, "vcpus": SLOT_CORES, "memoryMB": SLOT_GIB * 1024, "diskGB": 64,
                         "extraSpecs": specs });
    let group = json!({ "name": testing::GROUP, "ramCoreRatio": 16384, "flavors": [flavor],
                        "largestFlavor": flavor, "smallestFlavor": flavor });
    let mut knowledge = Knowledge::new(names::FLAVOR_GROUPS, KnowledgeSpec::default());
    knowledge.status = Some(KnowledgeStatus {
        conditions: vec![ready_condition(Status::True, "Extracted", "", Some(1), now)],
        raw: Some(json!({ "features": [group] })),
        ..KnowledgeStatus::default()
    });
    knowledge
}

/// A confirmed commitment of so many slots that is tried again for ever.
pub fn patient(uuid: &str, count: u64) -> CommittedResource {
    testing::commitment(uuid, &slots(count))
}

/// The same, but it is rejected when it does not fit.
pub fn rejectable(uuid: &str, count: u64) -> CommittedResource {
    let mut commitment = patient(uuid, count);
    commitment.spec.allow_rejection = true;
    commitment
}

/// An empty host with room for so many slots.
pub fn host(name: &str, count: u64) -> Hypervisor {
    let mut host = testing::hypervisor(name, &slots(count), &(count * SLOT_CORES).to_string());
    if let Some(status) = &mut host.status {
        status.domain_capabilities = Some(berth_crds::hypervisor::DomainCapabilities {
            hypervisor_type: "kvm".to_owned(),
            ..Default::default()
        });
    }
    host
}

/// The host in another zone.
pub fn in_zone(mut host: Hypervisor, zone: &str) -> Hypervisor {
    host.metadata.labels = Some([(berth_crds::labels::ZONE.to_owned(), zone.to_owned())].into());
    host
}
