//! Objects that a world begins with. Memory hosts come in multiples of one slot of 480 GiB, so that what fits is easy to
//! see.

use berth_crds::conditions::{Status, ready_condition};
use berth_crds::{
    CommittedResource, FlavorGroupCapacity, FlavorGroupCapacitySpec, Hypervisor, Knowledge, KnowledgeSpec,
    KnowledgeStatus, ResourceType, names, testing,
};
use jiff::Timestamp;
use serde_json::{Value, json};

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

/// A flavor of [`testing::GROUP`] of which two fit into a slot.
pub const HALF_FLAVOR: &str = "mem_v4_c15_m240";

/// The flavor groups: [`testing::GROUP`] with the one flavor [`testing::FLAVOR`].
pub fn flavor_groups(now: Timestamp) -> Knowledge {
    knowledge(&group(&[1]), now)
}

/// The same group with [`HALF_FLAVOR`] besides: slots of whole [`slots`] are the same, and VMs may share one.
pub fn flavor_groups_with_half(now: Timestamp) -> Knowledge {
    knowledge(&group(&[1, 2]), now)
}

/// The features of the Knowledge object: the group with flavors that have these parts of a slot, the largest first. Part 1
/// is [`testing::FLAVOR`], part 2 is [`HALF_FLAVOR`].
pub fn group(parts: &[u64]) -> Value {
    let flavors: Vec<_> = parts.iter().map(|part| flavor(*part)).collect();
    json!([{ "name": testing::GROUP, "ramCoreRatio": 16384, "flavors": flavors,
             "largestFlavor": flavors.first(), "smallestFlavor": flavors.last() }])
}

fn flavor(part: u64) -> Value {
    let name = format!("{}_c{}_m{}", testing::GROUP, SLOT_CORES / part, SLOT_GIB / part);
    let specs = json!({ "quota:hw_version": testing::GROUP, "capabilities:hypervisor_type": "QEMU" });
    json!({ "name": name, "vcpus": SLOT_CORES / part, "memoryMB": SLOT_GIB / part * 1024, "diskGB": 64,
            "extraSpecs": specs })
}

fn knowledge(features: &Value, now: Timestamp) -> Knowledge {
    let mut knowledge = Knowledge::new(names::FLAVOR_GROUPS, KnowledgeSpec::default());
    knowledge.status = Some(KnowledgeStatus {
        conditions: vec![ready_condition(Status::True, "Extracted", "", Some(1), now)],
        raw: Some(json!({ "features": features })),
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

/// A confirmed commitment of so many cores that is tried again for ever.
pub fn cores(uuid: &str, count: u64) -> CommittedResource {
    let mut commitment = testing::commitment(uuid, &count.to_string());
    commitment.spec.resource_type = ResourceType::Cores;
    commitment
}

/// What says how many cores [`testing::GROUP`] has in a zone.
pub fn capacity(zone: &str, cores: u64) -> FlavorGroupCapacity {
    let (group, availability_zone) = (testing::GROUP.to_owned(), zone.to_owned());
    let name = names::flavor_group_capacity(&group, zone);
    let spec = FlavorGroupCapacitySpec { flavor_group: group, availability_zone };
    let mut capacity = FlavorGroupCapacity::new(&name, spec);
    let total = &mut capacity.status.get_or_insert_default().total_capacity;
    total.insert(berth_crds::resources::CORES.to_owned(), cores.to_string().into());
    capacity
}

/// The change of its status to so many cores.
pub fn total_of_cores(cores: u64) -> Value {
    json!({ "status": { "totalCapacity": { "cores": cores.to_string() } } })
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

/// The host with a condition Ready that is True: without one nobody looks whether it is over-booked.
pub fn ready(mut host: Hypervisor, now: Timestamp) -> Hypervisor {
    if let Some(status) = &mut host.status {
        status.conditions = vec![ready_condition(Status::True, "ready", "", None, now)];
    }
    host
}

/// The host in another zone.
pub fn in_zone(mut host: Hypervisor, zone: &str) -> Hypervisor {
    host.metadata.labels = Some([(berth_crds::labels::ZONE.to_owned(), zone.to_owned())].into());
    host
}
