//! The initial objects of a world. The memory of hosts is a multiple of one slot of 480 GiB, so that it is easy to see
//! what fits.

use berth_crds::conditions::{Status, ready_condition};
use berth_crds::{
    CommittedResource, FlavorGroupCapacity, FlavorGroupCapacitySpec, Hypervisor, Knowledge, KnowledgeSpec,
    KnowledgeStatus, ResourceType, names, testing,
};
use jiff::Timestamp;
use serde_json::{Value, json};

pub const OTHER_ZONE: &str = "eu-test-1b";

pub const SLOT_GIB: u64 = 480;

pub const SLOT_CORES: u64 = 30;

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

/// The same group with [`HALF_FLAVOR`] besides: slots of whole [`slots`] are the same, and two VMs may share one.
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

/// An object with these flavor groups.
pub fn knowledge(features: &Value, now: Timestamp) -> Knowledge {
    let mut knowledge = Knowledge::new(names::FLAVOR_GROUPS, KnowledgeSpec::default());
    knowledge.status = Some(KnowledgeStatus {
        conditions: vec![ready_condition(Status::True, "Extracted", "", Some(1), now)],
        raw: Some(json!({ "features": features })),
        ..KnowledgeStatus::default()
    });
    knowledge
}

/// A confirmed commitment of this many slots that does not allow rejection.
pub fn waiting_commitment(uuid: &str, count: u64) -> CommittedResource {
    testing::commitment(uuid, &slots(count))
}

/// Like [`waiting_commitment`], but it allows rejection.
pub fn rejectable(uuid: &str, count: u64) -> CommittedResource {
    let mut commitment = waiting_commitment(uuid, count);
    commitment.spec.allow_rejection = true;
    commitment
}

/// A confirmed commitment of this many cores that does not allow rejection.
pub fn cores(uuid: &str, count: u64) -> CommittedResource {
    let mut commitment = testing::commitment(uuid, &count.to_string());
    commitment.spec.resource_type = ResourceType::Cores;
    commitment
}

/// The object with the number of cores that [`testing::GROUP`] has in a zone.
pub fn capacity(zone: &str, cores: u64) -> FlavorGroupCapacity {
    let (group, availability_zone) = (testing::GROUP.to_owned(), zone.to_owned());
    let name = names::flavor_group_capacity(&group, zone);
    let spec = FlavorGroupCapacitySpec { flavor_group: group, availability_zone };
    let mut capacity = FlavorGroupCapacity::new(&name, spec);
    let total = &mut capacity.status.get_or_insert_default().total_capacity;
    total.insert(berth_crds::resources::CORES.to_owned(), cores.to_string().into());
    capacity
}

/// The patch of its status to this many cores.
pub fn total_of_cores(cores: u64) -> Value {
    json!({ "status": { "totalCapacity": { "cores": cores.to_string() } } })
}

/// An empty host with free capacity for this many slots.
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

/// The host with a condition Ready that is True: without one it is not checked for over-booking.
pub fn ready(mut host: Hypervisor, now: Timestamp) -> Hypervisor {
    if let Some(status) = &mut host.status {
        status.conditions = vec![ready_condition(Status::True, "ready", "", None, now)];
    }
    host
}

pub fn in_zone(mut host: Hypervisor, zone: &str) -> Hypervisor {
    host.metadata.labels = Some([(berth_crds::labels::ZONE.to_owned(), zone.to_owned())].into());
    host
}
