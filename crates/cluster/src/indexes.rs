//! The indexes over our kinds: by commitment, project, zone, VM and host.

use std::collections::BTreeSet;

use berth_core::ClusterName;
use berth_crds::{
    CommitmentChange, CommittedResource, CommittedResourceSpec, FlavorGroupCapacity, Hypervisor, ProjectQuota,
    Reservation, ResourceType, facts, labels,
};
use kube::ResourceExt;

use crate::{Index, ObjectKey};

pub const COMMITMENT_BY_UUID: Index<CommittedResource> =
    Index { name: "commitment", keys: |commitment| vec![commitment.spec.commitment_uuid.clone()] };

pub const COMMITMENT_BY_PROJECT: Index<CommittedResource> =
    Index { name: "project", keys: |commitment| vec![commitment.spec.project_id.clone()] };

/// Commitments of cores by where they want them and where they were accepted ([`place`]).
pub const COMMITMENT_BY_CORES: Index<CommittedResource> = Index { name: "cores", keys: places_of };

/// FlavorGroupCapacity objects by group and zone ([`place`]).
pub const CAPACITY_BY_PLACE: Index<FlavorGroupCapacity> =
    Index { name: "place", keys: |object| vec![place(&object.spec.flavor_group, &object.spec.availability_zone)] };

/// The order of FlavorGroupCapacity objects of one group and zone: the first one counts, everywhere.
pub fn rank_in_place(key: &ObjectKey) -> (&str, &ClusterName) {
    (&key.name, &key.cluster)
}

/// Open changes by the UUIDs of their commitments, as they were sent.
pub const CHANGE_BY_COMMITMENT: Index<CommitmentChange> = Index { name: "commitment", keys: members_of };

/// Changes by the UUIDs of their commitments, finished ones included.
pub const CHANGE_BY_MEMBER: Index<CommitmentChange> =
    Index { name: "member", keys: |change| facts::members(change).map(str::to_owned).collect() };

/// Open changes by their zone.
pub const CHANGE_BY_ZONE: Index<CommitmentChange> = Index { name: "zone", keys: zone_of_change };

/// Slots by the UUID of their commitment.
pub const RESERVATION_BY_COMMITMENT: Index<Reservation> = Index { name: "commitment", keys: commitment_of };

/// Slots by the VMs that they expect: the keys of `spec.committedResourceReservation.allocations`.
pub const RESERVATION_BY_VM: Index<Reservation> = Index { name: "vm", keys: vms_of };

/// Reservations of every type by the hosts that they are on: `spec.targetHost` and `status.host`.
pub const RESERVATION_BY_HOST: Index<Reservation> = Index { name: "host", keys: hosts_of };

/// In-flight reservations by the VM that they hold free capacity for: `spec.inFlightReservation.vmID`.
pub const RESERVATION_BY_FLIGHT: Index<Reservation> = Index { name: "flight", keys: flight_of };

/// Hosts by the VMs that run on them: the ids in `status.instances`.
pub const HYPERVISOR_BY_VM: Index<Hypervisor> = Index { name: "vm", keys: instances_of };

/// Hosts by their zone label.
pub const HYPERVISOR_BY_ZONE: Index<Hypervisor> = Index { name: "zone", keys: zone_of };

/// Quotas by their project.
pub const QUOTA_BY_PROJECT: Index<ProjectQuota> =
    Index { name: "project", keys: |quota| vec![quota.spec.project_id.clone()] };

pub const QUOTA_INDEXES: &[Index<ProjectQuota>] = &[QUOTA_BY_PROJECT];

pub const COMMITMENT_INDEXES: &[Index<CommittedResource>] =
    &[COMMITMENT_BY_UUID, COMMITMENT_BY_PROJECT, COMMITMENT_BY_CORES];

pub const CHANGE_INDEXES: &[Index<CommitmentChange>] = &[CHANGE_BY_COMMITMENT, CHANGE_BY_MEMBER, CHANGE_BY_ZONE];

pub const CAPACITY_INDEXES: &[Index<FlavorGroupCapacity>] = &[CAPACITY_BY_PLACE];

pub const RESERVATION_INDEXES: &[Index<Reservation>] =
    &[RESERVATION_BY_COMMITMENT, RESERVATION_BY_VM, RESERVATION_BY_HOST, RESERVATION_BY_FLIGHT];

pub const HYPERVISOR_INDEXES: &[Index<Hypervisor>] = &[HYPERVISOR_BY_VM, HYPERVISOR_BY_ZONE];

/// The value of a flavor group in a zone.
pub fn place(group: &str, zone: &str) -> String {
    format!("{group}\n{zone}")
}

fn places_of(commitment: &CommittedResource) -> Vec<String> {
    let accepted = commitment.status.as_ref().and_then(|status| status.accepted_spec.as_ref());
    let specs = [Some(&commitment.spec), accepted].into_iter().flatten();
    let of_cores = specs.filter(|spec| spec.resource_type == ResourceType::Cores);
    of_cores.map(|spec: &CommittedResourceSpec| place(&spec.flavor_group_name, &spec.availability_zone)).collect()
}

fn members_of(change: &CommitmentChange) -> Vec<String> {
    if facts::is_open(change) { facts::members(change).map(str::to_owned).collect() } else { Vec::new() }
}

fn zone_of_change(change: &CommitmentChange) -> Vec<String> {
    if facts::is_open(change) { vec![change.spec.availability_zone.clone()] } else { Vec::new() }
}

fn commitment_of(reservation: &Reservation) -> Vec<String> {
    let slot = reservation.spec.committed_resource_reservation.as_ref();
    slot.and_then(|slot| slot.commitment_uuid.clone()).into_iter().collect()
}

fn vms_of(reservation: &Reservation) -> Vec<String> {
    let slot = reservation.spec.committed_resource_reservation.as_ref();
    slot.map(|slot| slot.allocations.keys().cloned().collect()).unwrap_or_default()
}

fn flight_of(reservation: &Reservation) -> Vec<String> {
    let flight = reservation.spec.in_flight_reservation.as_ref();
    flight.and_then(|flight| flight.vm_id.clone()).into_iter().collect()
}

fn hosts_of(reservation: &Reservation) -> Vec<String> {
    let status = reservation.status.as_ref().and_then(|status| status.host.as_ref());
    let hosts: BTreeSet<_> = [reservation.spec.target_host.as_ref(), status].into_iter().flatten().cloned().collect();
    hosts.into_iter().collect()
}

fn instances_of(host: &Hypervisor) -> Vec<String> {
    let status = host.status.as_ref();
    status.map(|status| status.instances.iter().map(|vm| vm.id.clone()).collect()).unwrap_or_default()
}

fn zone_of(host: &Hypervisor) -> Vec<String> {
    host.labels().get(labels::ZONE).cloned().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use berth_crds::conditions::{Status, condition};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_slot_is_found_by_commitment_vm_and_both_hosts() {
        let slot: Reservation = serde_json::from_value(json!({
            "apiVersion": "cortex.cloud/v1alpha1", "kind": "Reservation", "metadata": { "name": "slot-1" },
            "spec": {
                "type": "CommittedResourceReservation", "targetHost": "h2",
                "committedResourceReservation": {
                    "commitmentUUID": "c-1",
                    "allocations": { "vm-1": { "creationTimestamp": "2026-03-01T08:00:00Z", "resources": {} } },
                },
            },
            "status": { "host": "h1" },
        }))
        .unwrap();
        assert_eq!((RESERVATION_BY_COMMITMENT.keys)(&slot), ["c-1"]);
        assert_eq!((RESERVATION_BY_VM.keys)(&slot), ["vm-1"]);
        assert_eq!((RESERVATION_BY_HOST.keys)(&slot), ["h1", "h2"]);
    }

    #[test]
    fn a_change_is_found_by_its_commitments_and_its_zone_while_it_is_open() {
        let mut change = berth_crds::testing::commitment_change("one", &["uuid-1", "uuid-2"]);
        assert_eq!((CHANGE_BY_COMMITMENT.keys)(&change), ["uuid-1", "uuid-2"]);
        assert_eq!((CHANGE_BY_ZONE.keys)(&change), [berth_crds::testing::ZONE]);
        let finished =
            condition("Finished", Status::True, "RolledBack", "", None, k8s_openapi::jiff::Timestamp::UNIX_EPOCH);
        change.status.get_or_insert_default().conditions = vec![finished];
        assert!((CHANGE_BY_COMMITMENT.keys)(&change).is_empty() && (CHANGE_BY_ZONE.keys)(&change).is_empty());
    }

    #[test]
    fn an_in_flight_reservation_is_found_by_its_vm() {
        let mut flight = Reservation::default();
        assert!((RESERVATION_BY_FLIGHT.keys)(&flight).is_empty());
        flight.spec.in_flight_reservation.get_or_insert_default().vm_id = Some("vm-1".to_owned());
        assert_eq!((RESERVATION_BY_FLIGHT.keys)(&flight), ["vm-1"]);
    }

    #[test]
    fn a_commitment_of_cores_is_found_where_it_wants_them_and_where_it_has_them() {
        let mut commitment = berth_crds::testing::commitment("uuid-1", "40");
        assert!((COMMITMENT_BY_CORES.keys)(&commitment).is_empty(), "memory");
        commitment.spec.resource_type = ResourceType::Cores;
        let mut accepted = commitment.spec.clone();
        accepted.flavor_group_name = "former".to_owned();
        commitment.status.get_or_insert_default().accepted_spec = Some(accepted);
        let zone = berth_crds::testing::ZONE;
        assert_eq!((COMMITMENT_BY_CORES.keys)(&commitment), [place("mem_v4", zone), place("former", zone)]);
    }

    #[test]
    fn a_slot_in_place_is_on_one_host_and_an_unplaced_one_on_none() {
        let mut slot = Reservation::default();
        assert!((RESERVATION_BY_HOST.keys)(&slot).is_empty());
        slot.spec.target_host = Some("h1".to_owned());
        slot.status.get_or_insert_default().host = Some("h1".to_owned());
        assert_eq!((RESERVATION_BY_HOST.keys)(&slot), ["h1"]);
    }
}
