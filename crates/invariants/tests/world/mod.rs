//! A small world that violates no invariant.
#![allow(dead_code, reason = "each test file uses its part")]

use std::sync::Arc;

use berth_core::ClusterName;
use berth_crds::conditions::{self, Status};
use berth_crds::hypervisor::Instance;
use berth_crds::{
    Allocation, CommittedResource, CommittedResourceStatus, Condition, FlavorGroupCapacity, FlavorGroupCapacitySpec,
    Hypervisor, Reservation, ResourceType, Time, labels, testing,
};
use berth_invariants::Snapshot;
use jiff::Timestamp;

pub const UUID: &str = "well-kept";

/// Objects with the names of their clusters.
#[derive(Clone, Debug, Default)]
pub struct World {
    pub commitments: Vec<(ClusterName, CommittedResource)>,
    pub slots: Vec<(ClusterName, Reservation)>,
    pub hosts: Vec<(ClusterName, Hypervisor)>,
    pub capacities: Vec<(ClusterName, FlavorGroupCapacity)>,
}

impl World {
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::of(shared(&self.commitments), shared(&self.slots), shared(&self.hosts))
            .with_capacities(shared(&self.capacities))
    }
}

fn shared<K: Clone>(objects: &[(ClusterName, K)]) -> impl Iterator<Item = (ClusterName, Arc<K>)> {
    objects.iter().map(|(cluster, object)| (cluster.clone(), Arc::new(object.clone())))
}

/// An accepted commitment with two slots on a host that they fill.
pub fn sound() -> World {
    let home = ClusterName::home;
    World {
        commitments: vec![(home(), commitment(UUID, 2))],
        slots: (0..2).map(|number| (home(), slot(UUID, number, "node1"))).collect(),
        hosts: vec![(home(), host("node1", 2))],
        capacities: vec![],
    }
}

/// An accepted commitment of this many slots of 480 GiB.
pub fn commitment(uuid: &str, slots: u64) -> CommittedResource {
    let mut commitment = testing::commitment(uuid, &format!("{}Gi", slots * 480));
    // The slots of `testing` have the UUID as the label.
    commitment.metadata.uid = Some(uuid.to_owned());
    commitment.metadata.finalizers = Some(vec![labels::RELEASE_SLOTS.to_owned()]);
    commitment.status = Some(CommittedResourceStatus {
        accepted_spec: Some(commitment.spec.clone()),
        accepted_at: Some(Time(Timestamp::UNIX_EPOCH)),
        conditions: vec![condition(Status::True, "Accepted", "commitment successfully reserved")],
        status_summary: Some("Accepted · 0 VMs · no expiry".to_owned()),
        ..CommittedResourceStatus::default()
    });
    commitment
}

pub fn cores(uuid: &str, count: u64) -> CommittedResource {
    let mut commitment = commitment(uuid, 0);
    commitment.metadata.finalizers = None;
    commitment.spec.resource_type = ResourceType::Cores;
    commitment.spec.amount = count.to_string().into();
    commitment.status.as_mut().unwrap().accepted_spec = Some(commitment.spec.clone());
    commitment
}

/// The commitment shows this usage.
pub fn uses(commitment: &mut CommittedResource, vms: &[&str], memory: &str, cpu: &str, declared_gib: i64) {
    let status = commitment.status.get_or_insert_default();
    status.assigned_instances = vms.iter().map(|vm| (*vm).to_owned()).collect();
    status.used_resources = testing::size(memory, cpu);
    status.used_declared_gib = Some(declared_gib);
}

/// The object with the number of cores.
pub fn capacity(name: &str, cores: u64) -> FlavorGroupCapacity {
    let spec = FlavorGroupCapacitySpec {
        flavor_group: testing::GROUP.to_owned(),
        availability_zone: testing::ZONE.to_owned(),
    };
    let mut capacity = FlavorGroupCapacity::new(name, spec);
    capacity.status.get_or_insert_default().total_capacity = [("cores".to_owned(), cores.to_string().into())].into();
    capacity
}

pub fn slot(uuid: &str, number: u64, host: &str) -> Reservation {
    let mut slot = testing::slot(uuid, number);
    slot.spec.target_host = Some(host.to_owned());
    let status = slot.status.get_or_insert_default();
    status.host = Some(host.to_owned());
    status.conditions = vec![condition(Status::True, "ReservationActive", "")];
    slot
}

/// A host with free capacity for this many slots.
pub fn host(name: &str, slots: u64) -> Hypervisor {
    testing::hypervisor(name, &format!("{}Gi", slots * 480), &(slots * 30).to_string())
}

pub fn condition(status: Status, reason: &str, message: &str) -> Condition {
    conditions::ready_condition(status, reason, message, Some(1), Timestamp::UNIX_EPOCH)
}

/// Adds a VM of this many GiB to the allocations of a slot.
pub fn expect(slot: &mut Reservation, vm: &str, gib: u64) {
    let resources = testing::size(&format!("{gib}Gi"), &(gib / 16).to_string());
    let allocation = Allocation { creation_timestamp: Time(Timestamp::UNIX_EPOCH), resources };
    let data = slot.spec.committed_resource_reservation.as_mut().unwrap();
    data.allocations.insert(vm.to_owned(), allocation);
}

pub fn instance(vm: &str) -> Instance {
    Instance { id: vm.to_owned(), name: vm.to_owned(), active: true }
}
