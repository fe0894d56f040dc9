use berth_cluster::testing::{applied, deleted, filled};
use berth_core::{ClusterName, HostName};
use serde_json::json;

use super::*;

fn home() -> ClusterName {
    ClusterName::home()
}

fn decode<K: serde::de::DeserializeOwned>(value: Value) -> K {
    serde_json::from_value(value).unwrap()
}

fn host(version: u32, memory: &str) -> Hypervisor {
    decode(json!({
        "apiVersion": "kvm.cloud.sap/v1", "kind": "Hypervisor",
        "metadata": {"name": "h", "uid": "u-h", "resourceVersion": version.to_string(),
            "labels": {"topology.kubernetes.io/zone": "az"}},
        "status": {"capacity": {"memory": memory, "cpu": "8"}}
    }))
}

fn slot(version: u32, host: Option<&str>) -> crds::Reservation {
    decode(json!({
        "apiVersion": "cortex.cloud/v1alpha1", "kind": "Reservation",
        "metadata": {"name": "commitment-u-0", "uid": "u-s", "resourceVersion": version.to_string()},
        "spec": {"type": "CommittedResourceReservation", "availabilityZone": "az", "targetHost": host,
            "resources": {"memory": "1Gi", "cpu": "1"},
            "committedResourceReservation": {"commitmentUUID": "u", "resourceName": "f"}}
    }))
}

fn commitment() -> CommittedResource {
    decode(json!({
        "apiVersion": "cortex.cloud/v1alpha1", "kind": "CommittedResource",
        "metadata": {"name": "commitment-u", "uid": "u-c", "resourceVersion": "1"},
        "spec": {"commitmentUUID": "u", "flavorGroupName": "g", "resourceType": "memory", "amount": "1Gi",
            "availabilityZone": "az", "projectID": "p", "domainID": "d", "state": "confirmed"}
    }))
}

struct World {
    stores: Stores,
    scheduler: Arc<BuiltIn>,
    queues: Queues,
}

fn world() -> World {
    use berth_cluster::indexes::{COMMITMENT_INDEXES, HYPERVISOR_INDEXES, RESERVATION_INDEXES};
    let stores = Stores {
        commitments: filled(COMMITMENT_INDEXES, &home(), [commitment()]),
        reservations: filled(RESERVATION_INDEXES, &home(), []),
        hypervisors: filled(HYPERVISOR_INDEXES, &home(), []),
        knowledges: filled(&[], &home(), []),
        capacities: filled(&[], &home(), []),
        pipelines: filled(&[], &home(), []),
    };
    let world = World {
        scheduler: Arc::new(BuiltIn::new(berth_scheduler::Settings::default())),
        queues: Queues::default(),
        stores,
    };
    connect(&world.stores, &world.scheduler, &world.queues, &Routes::home_only());
    world
}

fn room(world: &World) -> Option<i64> {
    world.scheduler.room(&HostName::from("h")).map(|room| room.memory.mib_down())
}

#[test]
fn hosts_and_slots_reach_the_capacity_view() {
    let world = world();
    assert_eq!(room(&world), None);
    applied(&world.stores.hypervisors, &home(), host(1, "8Gi"));
    assert_eq!(room(&world), Some(8192));
    applied(&world.stores.reservations, &home(), slot(2, Some("h")));
    assert_eq!(room(&world), Some(7168));
    applied(&world.stores.reservations, &home(), slot(3, None));
    assert_eq!(room(&world), Some(8192), "U5: without targetHost it blocks nothing");
    deleted(&world.stores.hypervisors, &home(), host(4, "8Gi"));
    assert_eq!(room(&world), None);
}

#[test]
fn document_11_section_14_no_10_of_two_hosts_of_one_name_one_counts_and_the_other_takes_its_place() {
    let world = world();
    applied(&world.stores.hypervisors, &"away".into(), host(1, "4Gi"));
    assert_eq!(room(&world), Some(4096));
    applied(&world.stores.hypervisors, &home(), host(1, "8Gi"));
    assert_eq!(room(&world), Some(8192), "home is the cluster of the zone");
    applied(&world.stores.hypervisors, &"away".into(), host(2, "2Gi"));
    assert_eq!(room(&world), Some(8192));
    deleted(&world.stores.hypervisors, &home(), host(3, "8Gi"));
    assert_eq!(room(&world), Some(2048));
    deleted(&world.stores.hypervisors, &"away".into(), host(4, "2Gi"));
    assert_eq!(room(&world), None);
}

#[test]
fn a_slot_wakes_itself_and_its_commitment() {
    let world = world();
    applied(&world.stores.reservations, &home(), slot(2, None));
    assert_eq!((world.queues.slots.len(), world.queues.commitments.len()), (1, 1));
}

#[test]
fn a_host_that_comes_wakes_the_slots_that_name_it() {
    let world = world();
    applied(&world.stores.reservations, &home(), slot(2, Some("h")));
    let asleep = Queues::default();
    wake_slots(&world.stores, &asleep);
    applied(&world.stores.hypervisors, &home(), host(3, "8Gi"));
    assert_eq!(asleep.slots.len(), 1);
    let quiet = Queues::default();
    wake_slots(&world.stores, &quiet);
    applied(&world.stores.hypervisors, &home(), host(4, "9Gi"));
    assert_eq!(quiet.slots.len(), 0, "its capacity alone concerns the view only");
}

#[test]
fn new_flavor_groups_wake_commitments_and_slots_without_host() {
    let world = world();
    applied(&world.stores.reservations, &home(), slot(2, None));
    let queues = Queues::default();
    wake_commitments(&world.stores, &queues);
    wake_slots(&world.stores, &queues);
    let knowledge = json!({"apiVersion": "cortex.cloud/v1alpha1", "kind": "Knowledge",
        "metadata": {"name": "flavor-groups", "uid": "u-k", "resourceVersion": "3"}, "spec": {"schedulingDomain": "nova"}});
    applied(&world.stores.knowledges, &home(), decode(knowledge));
    assert_eq!((queues.slots.len(), queues.commitments.len()), (1, 1));
}

#[test]
fn a_reservation_that_was_never_readable_concerns_every_commitment() {
    let world = world();
    let gone = Change { key: ObjectKey::new(home(), "future-1"), old: None, new: None };
    let woken = berth_committed_resource::wake::by_reservation(&gone, &world.stores.commitments);
    assert_eq!(woken, [ObjectKey::new(home(), "commitment-u")].into(), "it may wait for the object to be corrected");
}

#[test]
fn another_pipeline_wakes_commitments_and_slots_without_host_and_what_is_said_about_it_does_not() {
    let pipeline = |version: u32, generation: u32| -> Pipeline {
        decode(json!({"apiVersion": "cortex.cloud/v1alpha1", "kind": "Pipeline",
            "metadata": {"name": "p", "uid": "u-p", "resourceVersion": version.to_string(), "generation": generation},
            "spec": {"schedulingDomain": "nova", "type": "filter-weigher"}}))
    };
    let world = world();
    applied(&world.stores.reservations, &home(), slot(2, None));
    let woken = |change: &dyn Fn()| {
        let queues = Queues::default();
        wake_by_pipelines(&world.stores, &queues);
        change();
        (queues.slots.len(), queues.commitments.len())
    };
    let store = &world.stores.pipelines;
    assert_eq!(woken(&|| applied(store, &home(), pipeline(3, 1))), (1, 1), "it comes");
    assert_eq!(woken(&|| applied(store, &home(), pipeline(4, 1))), (0, 0), "its conditions");
    assert_eq!(woken(&|| applied(store, &home(), pipeline(5, 2))), (1, 1), "it changes");
    assert_eq!(woken(&|| deleted(store, &home(), pipeline(6, 2))), (1, 1), "it goes");
}
