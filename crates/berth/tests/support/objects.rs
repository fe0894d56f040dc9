//! The objects of the tests. The memory of hosts is a multiple of one slot of 480 GiB, so that it is easy to see what
//! fits.

use berth_crds::{
    CommittedResource, FlavorGroupCapacity, FlavorGroupCapacitySpec, Hypervisor, ResourceType, names, testing,
};
use serde_json::{Value, json};

pub use berth_crds::testing::{GROUP, ZONE};

pub const OTHER_ZONE: &str = "eu-test-1b";

/// The group with different flavors: 64 GiB with 16 cores, 16 GiB with 8 cores.
pub const MIXED_GROUP: &str = "gp_v5";

pub const EMPTY_GROUP: &str = "empty_v1";

/// Memory of one slot of [`GROUP`] in GiB.
pub const SLOT_GIB: u64 = 480;

pub const SLOT_CORES: u64 = 30;

/// The amount of this many slots of [`GROUP`].
pub fn slots(count: u64) -> String {
    format!("{}Gi", count * SLOT_GIB)
}

/// The flavor groups, as the status of the Knowledge object.
pub fn flavor_groups() -> Value {
    let flavor = |name: &str, vcpus: u64, gib: u64, group: &str, hypervisor: &str| {
        json!({ "name": name, "vcpus": vcpus, "memoryMB": gib * 1024, "diskGB": 64,
                "extraSpecs": { "quota:hw_version": group, "capabilities:hypervisor_type": hypervisor } })
    };
    let memory = flavor(testing::FLAVOR, SLOT_CORES, SLOT_GIB, GROUP, "QEMU");
    let large = flavor("gp_v5_c16_m64", 16, 64, MIXED_GROUP, "CH");
    let small = flavor("gp_v5_c8_m16", 8, 16, MIXED_GROUP, "CH");
    json!({ "features": [
        { "name": GROUP, "ramCoreRatio": 16384, "flavors": [memory], "largestFlavor": memory, "smallestFlavor": memory },
        { "name": MIXED_GROUP, "ramCoreRatioMin": 2048, "ramCoreRatioMax": 4096, "flavors": [large, small],
          "largestFlavor": large, "smallestFlavor": small },
        { "name": EMPTY_GROUP, "flavors": [] },
    ]})
}

/// A confirmed commitment of this many slots of [`GROUP`] that does not allow rejection.
pub fn non_rejectable(uuid: &str, count: u64) -> CommittedResource {
    let mut commitment = testing::commitment(uuid, &slots(count));
    commitment.metadata.generation = None;
    commitment
}

/// Like [`non_rejectable`], but it allows rejection.
pub fn rejectable(uuid: &str, count: u64) -> CommittedResource {
    let mut commitment = non_rejectable(uuid, count);
    commitment.spec.allow_rejection = true;
    commitment
}

pub fn mixed(uuid: &str, amount: &str) -> CommittedResource {
    let mut commitment = non_rejectable(uuid, 1);
    MIXED_GROUP.clone_into(&mut commitment.spec.flavor_group_name);
    commitment.spec.amount = amount.into();
    commitment
}

/// A confirmed commitment of this many cores of [`GROUP`] that does not allow rejection.
pub fn cores(uuid: &str, count: u64) -> CommittedResource {
    let mut commitment = non_rejectable(uuid, 1);
    commitment.spec.resource_type = ResourceType::Cores;
    commitment.spec.amount = count.to_string().into();
    commitment
}

/// The object with the number of cores that [`GROUP`] has in a zone.
pub fn capacity(zone: &str, cores: Option<u64>) -> FlavorGroupCapacity {
    let spec = FlavorGroupCapacitySpec { flavor_group: GROUP.to_owned(), availability_zone: zone.to_owned() };
    let mut capacity = FlavorGroupCapacity::new(&names::flavor_group_capacity(GROUP, zone), spec);
    let total = cores.map(|cores| ("cores".to_owned(), cores.to_string().into()));
    capacity.status.get_or_insert_default().total_capacity = total.into_iter().collect();
    capacity
}

/// An empty memory host with free capacity for this many slots of [`GROUP`].
pub fn host(name: &str, count: u64) -> Hypervisor {
    of_type(testing::hypervisor(name, &slots(count), &(count * SLOT_CORES).to_string()), "kvm")
}

/// An empty host for [`MIXED_GROUP`].
pub fn mixed_host(name: &str, memory: &str, cores: &str) -> Hypervisor {
    of_type(testing::hypervisor(name, memory, cores), "ch")
}

pub fn in_zone(mut host: Hypervisor, zone: &str) -> Hypervisor {
    host.metadata.labels = Some([(berth_crds::labels::ZONE.to_owned(), zone.to_owned())].into());
    host
}

fn of_type(mut host: Hypervisor, hypervisor: &str) -> Hypervisor {
    if let Some(status) = &mut host.status {
        status.domain_capabilities = Some(berth_crds::hypervisor::DomainCapabilities {
            hypervisor_type: hypervisor.to_owned(),
            ..Default::default()
        });
    }
    host
}

pub fn slot_name(uuid: &str, number: u64) -> String {
    berth_crds::names::slot(&berth_crds::names::commitment(uuid), number)
}
