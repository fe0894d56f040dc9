//! Which slots are requested by which changes.

use berth_cluster::{
    Kind, Requests,
    indexes::{COMMITMENT_INDEXES, HYPERVISOR_INDEXES, RESERVATION_INDEXES},
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

fn host(version: u32, memory: &str) -> Hypervisor {
    decode(json!({
        "apiVersion": "kvm.cloud.sap/v1", "kind": "Hypervisor",
        "metadata": {"name": "h", "uid": "u-h", "resourceVersion": version.to_string(),
            "labels": {"topology.kubernetes.io/zone": "az"}},
        "status": {"capacity": {"memory": memory, "cpu": "8"}}
    }))
}

/// A slot, and the stores that its controller watches.
struct Scene {
    reservations: Store<Reservation>,
    hypervisors: Store<Hypervisor>,
    knowledges: Store<Knowledge>,
    pipelines: Store<Pipeline>,
    requests: Requests<ObjectKey>,
}

fn scene(host: Option<&str>) -> Scene {
    let scene = Scene {
        reservations: filled(RESERVATION_INDEXES, &home(), [slot(1, host)]),
        hypervisors: filled(HYPERVISOR_INDEXES, &home(), []),
        knowledges: filled(&[], &home(), []),
        pipelines: filled(&[], &home(), []),
        requests: opened(),
    };
    let stores = Watched {
        reservations: &scene.reservations,
        commitments: &filled(COMMITMENT_INDEXES, &home(), []),
        hypervisors: &scene.hypervisors,
        knowledges: &scene.knowledges,
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

const SLOT: [&str; 1] = ["commitment-u-0"];
const NONE: [&str; 0] = [];

#[test]
fn a_slot_requests_itself() {
    let scene = scene(None);
    applied(&scene.reservations, &home(), slot(2, Some("h")));
    assert_eq!(scene.requested(), SLOT);
}

#[test]
fn a_host_that_is_created_requests_the_slots_that_name_it_and_another_capacity_does_not() {
    let scene = scene(Some("h"));
    applied(&scene.hypervisors, &home(), host(3, "8Gi"));
    assert_eq!(scene.requested(), SLOT);
    applied(&scene.hypervisors, &home(), host(4, "9Gi"));
    assert_eq!(scene.requested(), NONE, "its capacity alone concerns the view only");
}

#[test]
fn new_flavor_groups_request_slots_without_a_host() {
    for (host, requested) in [(None, &SLOT[..]), (Some("h"), &NONE[..])] {
        let scene = scene(host);
        applied(&scene.knowledges, &home(), flavor_groups());
        assert_eq!(scene.requested(), requested);
    }
}

#[test]
fn another_pipeline_requests_slots_without_a_host_and_another_status_of_it_does_not() {
    let scene = scene(None);
    let store = &scene.pipelines;
    applied(store, &home(), pipeline(3, 1));
    assert_eq!(scene.requested(), SLOT, "it is created");
    applied(store, &home(), pipeline(4, 1));
    assert_eq!(scene.requested(), NONE, "its status changes");
    applied(store, &home(), pipeline(5, 2));
    assert_eq!(scene.requested(), SLOT, "its spec changes");
    deleted(store, &home(), pipeline(6, 2));
    assert_eq!(scene.requested(), SLOT, "it is deleted");
}
