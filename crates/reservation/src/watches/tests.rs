//! Which slots are requested by which changes.

use berth_cluster::Requests;
use berth_cluster::indexes::{COMMITMENT_INDEXES, HYPERVISOR_INDEXES, RESERVATION_INDEXES};
use berth_cluster::testing::{applied, applied_raw, deleted, filled, opened, take_smallest, watches};
use berth_core::ClusterName;
use berth_crds::testing::{at_version, flavor_groups, hypervisor, pipeline_at as pipeline, slot_at as slot};
use serde_json::json;

use super::*;

mod mapping;

fn home() -> ClusterName {
    ClusterName::home()
}

fn host(version: u32, memory: &str) -> Hypervisor {
    at_version(version, hypervisor("h", memory, "30"))
}

/// A slot, and the stores that its controller watches.
struct WatchScenario {
    reservations: Store<Reservation>,
    hypervisors: Store<Hypervisor>,
    knowledges: Store<Knowledge>,
    pipelines: Store<Pipeline>,
    requests: Requests<ObjectKey>,
}

fn scene(host: Option<&str>) -> WatchScenario {
    let scene = WatchScenario {
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
    declare(&mut watches(&scene.requests), &stores, &Arc::default());
    scene
}

impl WatchScenario {
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
fn hosts_that_can_all_be_read_again_request_the_slots_that_waited_for_that() {
    let unreadable = || json!({ "metadata": { "name": "x", "resourceVersion": "3" }, "spec": 1 });
    for (on, requested) in [(None, &SLOT[..]), (Some("gone"), &SLOT[..]), (Some("h"), &NONE[..])] {
        let scene = scene(on);
        applied(&scene.hypervisors, &home(), host(2, "8Gi"));
        applied_raw(&scene.hypervisors, &home(), unreadable()).unwrap();
        scene.requested();
        deleted(&scene.hypervisors, &home(), at_version(4, hypervisor("x", "8Gi", "30")));
        assert_eq!(scene.requested(), requested, "{on:?}");
    }
}

#[test]
fn new_flavor_groups_request_slots_without_a_host() {
    for (host, requested) in [(None, &SLOT[..]), (Some("h"), &NONE[..])] {
        let scene = scene(host);
        applied(&scene.knowledges, &home(), at_version(3, flavor_groups()));
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
