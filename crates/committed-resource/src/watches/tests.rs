//! Declared watches of the commitment controller, tested with objects in stores.

use berth_cluster::Requests;
use berth_cluster::indexes::{
    CAPACITY_INDEXES, CHANGE_INDEXES, COMMITMENT_INDEXES, HYPERVISOR_INDEXES, RESERVATION_INDEXES,
};
use berth_cluster::testing::{applied, applied_raw, deleted, filled, opened, take_smallest, watches};
use berth_core::ClusterName;
use berth_crds::testing::{self, at_version, commitment, flavor_groups, pipeline_at as pipeline, slot_at as slot};
use serde_json::json;

use super::*;

mod mapping;

fn home() -> ClusterName {
    ClusterName::home()
}

/// A commitment, and the stores that its controller watches.
struct WatchScenario {
    commitments: Store<CommittedResource>,
    reservations: Store<Reservation>,
    hypervisors: Store<Hypervisor>,
    knowledges: Store<Knowledge>,
    pipelines: Store<Pipeline>,
    requests: Requests<ObjectKey>,
}

fn scene() -> WatchScenario {
    let scene = WatchScenario {
        commitments: filled(COMMITMENT_INDEXES, &home(), [at_version(1, commitment("u", "480Gi"))]),
        reservations: filled(RESERVATION_INDEXES, &home(), []),
        hypervisors: filled(HYPERVISOR_INDEXES, &home(), []),
        knowledges: filled(&[], &home(), []),
        pipelines: filled(&[], &home(), []),
        requests: opened(),
    };
    let stores = Watched {
        commitments: &scene.commitments,
        reservations: &scene.reservations,
        hypervisors: &scene.hypervisors,
        knowledges: &scene.knowledges,
        capacities: &filled(CAPACITY_INDEXES, &home(), []),
        pipelines: &scene.pipelines,
        changes: &filled(CHANGE_INDEXES, &home(), []),
    };
    declare(&mut watches(&scene.requests), &stores);
    scene
}

impl WatchScenario {
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
fn the_first_host_of_a_zone_requests_its_commitments_and_others_do_not() {
    let (scene, none) = (scene(), [""; 0]);
    let host = |version, name: &str, zone: &str| {
        let mut host = at_version(version, testing::hypervisor(name, "960Gi", "60"));
        host.metadata.labels = Some([(labels::ZONE.to_owned(), zone.to_owned())].into());
        host
    };
    applied(&scene.hypervisors, &home(), host(3, "h1", "elsewhere"));
    assert_eq!(scene.requested(), none, "another zone");
    applied(&scene.hypervisors, &home(), host(4, "h1", testing::ZONE));
    assert_eq!(scene.requested(), ["commitment-u"], "it is labelled with the zone");
    applied(&scene.hypervisors, &home(), host(5, "h1", testing::ZONE));
    assert_eq!(scene.requested(), none, "it was there before");
    applied(&scene.hypervisors, &home(), host(6, "h2", testing::ZONE));
    assert_eq!(scene.requested(), none, "the zone had a host");
}

#[test]
fn hosts_that_can_all_be_read_again_request_every_commitment() {
    let scene = scene();
    let unreadable = json!({ "metadata": { "name": "h1", "resourceVersion": "3" }, "spec": 1 });
    applied_raw(&scene.hypervisors, &home(), unreadable).unwrap();
    assert_eq!(scene.requested(), [""; 0]);
    deleted(&scene.hypervisors, &home(), at_version(4, testing::hypervisor("h1", "960Gi", "60")));
    assert_eq!(scene.requested(), ["commitment-u"]);
}

#[test]
fn new_flavor_groups_request_every_commitment() {
    let scene = scene();
    applied(&scene.knowledges, &home(), at_version(3, flavor_groups()));
    assert_eq!(scene.requested(), ["commitment-u"]);
}

#[test]
fn a_reservation_that_was_never_readable_requests_every_commitment() {
    let scene = scene();
    let gone = Change { key: ObjectKey::new(home(), "future-1"), old: None, new: None };
    let requested = map_reservation(&gone, &scene.commitments);
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
