use berth_cluster::testing::{applied, deleted, sync};
use berth_core::{ClusterName, HostName};
use berth_crds::{Hypervisor, Reservation};
use serde_json::{Value, json};

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

fn slot(version: u32, host: Option<&str>) -> Reservation {
    decode(json!({
        "apiVersion": "cortex.cloud/v1alpha1", "kind": "Reservation",
        "metadata": {"name": "commitment-u-0", "uid": "u-s", "resourceVersion": version.to_string()},
        "spec": {"type": "CommittedResourceReservation", "availabilityZone": "az", "targetHost": host,
            "resources": {"memory": "1Gi", "cpu": "1"},
            "committedResourceReservation": {"commitmentUUID": "u", "resourceName": "f"}}
    }))
}

struct World {
    stores: Stores,
    scheduler: Arc<BuiltIn>,
}

fn world() -> World {
    let stores = Stores::default();
    sync(&stores, &home());
    let scheduler = BuiltIn::new(berth_scheduler::Settings::default(), Queues::closed().enqueue_slots());
    let world = World { scheduler: Arc::new(scheduler), stores };
    feed_view(&world.stores, &world.scheduler, &Routes::home_only());
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
    assert_eq!(room(&world), Some(8192), "without targetHost it blocks nothing");
    deleted(&world.stores.hypervisors, &home(), host(4, "8Gi"));
    assert_eq!(room(&world), None);
}

#[test]
fn of_two_hosts_of_one_name_one_counts_and_the_other_takes_its_place() {
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
