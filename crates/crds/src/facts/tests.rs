use berth_core::host::{Amounts, ConditionStatus};
use berth_core::reservation::ReservationKind;
use berth_core::{Bytes, Cores, Resources};
use serde_json::json;

use super::*;
use crate::{CommittedResource, Hypervisor, Reservation};

fn decode<K: serde::de::DeserializeOwned>(value: serde_json::Value) -> K {
    serde_json::from_value(value).unwrap()
}

fn hypervisor(status: &serde_json::Value) -> Hypervisor {
    decode(json!({
        "apiVersion": "kvm.cloud.sap/v1", "kind": "Hypervisor",
        "metadata": {"name": "node-1", "labels": {"topology.kubernetes.io/zone": "az-a"}},
        "spec": {"customTraits": ["CUSTOM_A"], "groups": [
            {"trait": {"name": "CUSTOM_B"}},
            {"aggregate": {"name": "agg", "uuid": "u1", "metadata": {"filter_tenant_id": "p"}}}]},
        "status": status
    }))
}

fn home() -> berth_core::ClusterName {
    berth_core::ClusterName::home()
}

#[test]
fn a_host_has_effective_capacity_else_physical_capacity() {
    let both =
        json!({"capacity": {"memory": "10Gi", "cpu": "4"}, "effectiveCapacity": {"memory": "8Gi", "cpu": "6500m"}});
    let host = host(&home(), &hypervisor(&both));
    assert_eq!(host.capacity, Resources::new(Bytes::from_mib(8192), Cores::new(6)).into(), "rounded down");
    let physical = super::host(&home(), &hypervisor(&json!({"capacity": {"memory": "10Gi"}})));
    assert_eq!(physical.capacity, Amounts { memory: Some(Bytes::from_mib(10_240)), cpu: None });
    assert_eq!(physical.effective_capacity, Amounts::default());
}

#[test]
fn a_host_knows_its_zone_traits_aggregates_and_vms() {
    let host = host(
        &home(),
        &hypervisor(&json!({
            "traits": ["HW_X"], "aggregates": [{"name": "agg", "uuid": "u1"}],
            "instances": [{"id": "vm-1", "name": "i", "active": false}],
            "conditions": [{"type": "Ready", "status": "True", "reason": "R", "message": "",
                            "lastTransitionTime": "2026-03-01T00:00:00Z"}]
        })),
    );
    assert_eq!(host.zone.as_str(), "az-a");
    assert_eq!(host.traits.iter().map(String::as_str).collect::<Vec<_>>(), ["CUSTOM_A", "CUSTOM_B", "HW_X"]);
    assert_eq!(host.aggregates.len(), 1);
    assert_eq!(host.aggregates[0].metadata["filter_tenant_id"], "p", "the union of both");
    assert_eq!(host.instances.get("vm-1"), Some(&false));
    assert_eq!(host.conditions["Ready"], ConditionStatus::True);
}

#[test]
fn invalid_requests_on_a_host_is_named() {
    let host = host(&home(), &hypervisor(&json!({"effectiveCapacity": {"memory": "-5Gi", "cpu": "4"}})));
    assert_eq!(host.invalid_amount.as_deref(), Some("status.effectiveCapacity.memory is \"-5Gi\""));
    assert_eq!(host.capacity.memory, None);
}

#[test]
fn a_slot_is_read_with_all_its_fields() {
    let object: Reservation = decode(json!({
        "apiVersion": "cortex.cloud/v1alpha1", "kind": "Reservation",
        "metadata": {"name": "commitment-u-0", "labels": {"reservations.cortex.cloud/type": "committed-resource"}},
        "spec": {"type": "CommittedResourceReservation", "availabilityZone": "az-a", "targetHost": "node-1",
            "resources": {"memory": "480Gi", "cpu": "30"}, "endTime": "0001-01-01T00:00:00Z",
            "committedResourceReservation": {"commitmentUUID": "u", "resourceName": "f", "resourceGroup": "g",
                "projectID": "p", "parentGeneration": 2, "allocations": {"vm-1": {
                    "creationTimestamp": "2026-03-02T11:10:31Z", "resources": {"memory": "480Gi", "cpu": "30"}}}}},
        "status": {"host": "node-1", "conditions": [{"type": "Ready", "status": "True", "reason": "ReservationActive",
            "message": "", "lastTransitionTime": "2026-03-01T08:00:06Z"}],
            "committedResourceReservation": {"observedParentGeneration": 2}}
    }));
    let slot = slot(&object);
    assert!(slot.is_ready() && slot.is_placed() && slot.labelled);
    assert_eq!(slot.used(), Bytes::from_mib(480 * 1024));
    assert_eq!((slot.parent_generation, slot.observed_parent_generation, slot.end), (2, 2, None));
    let held = reservation(&home(), &object);
    assert_eq!(held.size, slot.size);
    assert!(held.ready && matches!(held.kind, ReservationKind::Committed(vms) if vms.len() == 1));
}

#[test]
fn odd_amounts_are_read() {
    for (amount, expected) in
        [(json!("-5Gi"), -5_368_709_120), (json!("0.5"), 1), (json!(40), 40), (json!("1e3"), 1000)]
    {
        let object: CommittedResource = decode(json!({
            "apiVersion": "cortex.cloud/v1alpha1", "kind": "CommittedResource", "metadata": {"name": "c"},
            "spec": {"commitmentUUID": "", "flavorGroupName": "g", "resourceType": "memory", "amount": amount,
                "availabilityZone": "z", "projectID": "p", "domainID": "", "state": "confirmed"}
        }));
        assert_eq!(spec(&object).amount.round_up(), expected);
    }
}

#[test]
fn sizes_are_written_in_canonical_form() {
    let map = resource_map(Resources::new(Bytes::from_mib(480 * 1024), Cores::new(1000)));
    assert_eq!((map["memory"].as_str(), map["cpu"].as_str()), ("480Gi", "1k"));
    assert_eq!(size(&map), Resources::new(Bytes::from_mib(480 * 1024), Cores::new(1000)));
}

#[test]
fn a_slot_shares_the_names_of_its_neighbour_and_only_those() {
    let object = |number, project: &str, host: &str| {
        let mut object = crate::testing::slot("uuid-1", number);
        object.spec.target_host = Some(host.to_owned());
        object.status.get_or_insert_default().host = Some(host.to_owned());
        object.spec.committed_resource_reservation.get_or_insert_default().project_id = Some(project.to_owned());
        object
    };
    let first = slot(&object(0, "p", "h1"));
    for other in [
        object(1, "p", "h2"),
        object(2, "q", "h1"),
        decode(json!({"metadata": {}, "spec": {"type": "CommittedResourceReservation"}})),
    ] {
        assert_eq!(slot_beside(&other, Some(&first)), slot(&other));
    }
    let second = slot_beside(&object(1, "p", "h1"), Some(&first));
    let places = |slot: &berth_core::slot::Slot| [slot.project.as_str().as_ptr(), slot.zone.as_str().as_ptr()];
    assert_eq!(places(&second), places(&first));
    assert_eq!(
        second.status_host.as_ref().map(|host| host.as_str().as_ptr()),
        second.target_host.as_ref().map(|host| host.as_str().as_ptr())
    );
}
