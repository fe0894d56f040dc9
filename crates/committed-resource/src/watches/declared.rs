//! Which commitments are requested by which changes.

use berth_cluster::{
    Kind, Requests,
    indexes::{CAPACITY_INDEXES, COMMITMENT_INDEXES, HYPERVISOR_INDEXES, RESERVATION_INDEXES},
    testing::{applied, deleted, filled, opened, take_smallest, watches},
};
use berth_core::ClusterName;
use serde_json::{Value, json};

use super::*;

fn home() -> ClusterName {
    ClusterName::home()
}

fn decode<K: Kind>(value: Value) -> K {
    serde_json::from_value(value).unwrap()
}

fn slot(version: u32, host: Option<&str>) -> Reservation {
    decode(json!({
        "apiVersion": "cortex.cloud/v1alpha1", "kind": "Reservation",
        "metadata": {"name": "commitment-u-0", "uid": "u-s", "resourceVersion": version.to_string()},
        "spec": {"type": "CommittedResourceReservation", "availabilityZone": "az", "targetHost": host,
            "resources": {"memory": "1Gi", "cpu": "1"},
            "committedResourceReservation": {"commitmentUUID": "u", "resourceName": "f"}}
    }))
}

fn flavor_groups() -> Knowledge {
    decode(json!({"apiVersion": "cortex.cloud/v1alpha1", "kind": "Knowledge",
        "metadata": {"name": "flavor-groups", "uid": "u-k", "resourceVersion": "3"},
        "spec": {"schedulingDomain": "nova"}}))
}

fn pipeline(version: u32, generation: u32) -> Pipeline {
    decode(json!({"apiVersion": "cortex.cloud/v1alpha1", "kind": "Pipeline",
        "metadata": {"name": "p", "uid": "u-p", "resourceVersion": version.to_string(), "generation": generation},
        "spec": {"schedulingDomain": "nova", "type": "filter-weigher"}}))
}

fn commitment() -> CommittedResource {
    decode(json!({
        "apiVersion": "cortex.cloud/v1alpha1", "kind": "CommittedResource",
        "metadata": {"name": "commitment-u", "uid": "u-c", "resourceVersion": "1"},
        "spec": {"commitmentUUID": "u", "flavorGroupName": "g", "resourceType": "memory", "amount": "1Gi",
            "availabilityZone": "az", "projectID": "p", "domainID": "d", "state": "confirmed"}
    }))
}

/// A commitment, and the stores that its controller watches.
struct Scene {
    commitments: Store<CommittedResource>,
    reservations: Store<Reservation>,
    knowledges: Store<Knowledge>,
    pipelines: Store<Pipeline>,
    requests: Requests<ObjectKey>,
}

fn scene() -> Scene {
    let scene = Scene {
        commitments: filled(COMMITMENT_INDEXES, &home(), [commitment()]),
        reservations: filled(RESERVATION_INDEXES, &home(), []),
        knowledges: filled(&[], &home(), []),
        pipelines: filled(&[], &home(), []),
        requests: opened(),
    };
    let stores = Watched {
        commitments: &scene.commitments,
        reservations: &scene.reservations,
        hypervisors: &filled(HYPERVISOR_INDEXES, &home(), []),
        knowledges: &scene.knowledges,
        capacities: &filled(CAPACITY_INDEXES, &home(), []),
        pipelines: &scene.pipelines,
    };
    declare(&mut watches(&scene.requests), &stores);
    scene
}

impl Scene {
    fn requested(&self) -> Vec<String> {
        std::iter::from_fn(|| take_smallest(&self.requests)).map(|key| key.name.to_string()).collect()
    }
}

#[test]
fn a_slot_requests_its_commitment() {
    let scene = scene();
    applied(&scene.reservations, &home(), slot(2, None));
    assert_eq!(scene.requested(), ["commitment-u"]);
}

#[test]
fn new_flavor_groups_request_every_commitment() {
    let scene = scene();
    applied(&scene.knowledges, &home(), flavor_groups());
    assert_eq!(scene.requested(), ["commitment-u"]);
}

#[test]
fn a_reservation_that_was_never_readable_requests_every_commitment() {
    let scene = scene();
    let gone = Change { key: ObjectKey::new(home(), "future-1"), old: None, new: None };
    let requested = by_reservation(&gone, &scene.commitments);
    assert_eq!(
        requested,
        [ObjectKey::new(home(), "commitment-u")].into(),
        "it may wait for the object to be corrected"
    );
}

#[test]
fn another_pipeline_requests_every_commitment_and_another_status_of_it_does_not() {
    let (scene, none) = (scene(), [""; 0]);
    let store = &scene.pipelines;
    applied(store, &home(), pipeline(3, 1));
    assert_eq!(scene.requested(), ["commitment-u"], "it is created");
    applied(store, &home(), pipeline(4, 1));
    assert_eq!(scene.requested(), none, "its status changes");
    applied(store, &home(), pipeline(5, 2));
    assert_eq!(scene.requested(), ["commitment-u"], "its spec changes");
    deleted(store, &home(), pipeline(6, 2));
    assert_eq!(scene.requested(), ["commitment-u"], "it is deleted");
}
