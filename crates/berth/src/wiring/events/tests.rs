use berth_cluster::testing::{applied, deleted, sync};
use berth_core::{ClusterName, HostName};
use berth_crds::Hypervisor;
use berth_crds::testing::{at_version, hypervisor, slot_at as slot};

use super::*;

fn home() -> ClusterName {
    ClusterName::home()
}

fn host(version: u32, memory: &str) -> Hypervisor {
    at_version(version, hypervisor("h", memory, "60"))
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

fn free(world: &World) -> Option<i64> {
    world.scheduler.free_capacity(&HostName::from("h")).map(|free| free.memory.mib_down() / 1024)
}

#[test]
fn hosts_and_slots_reach_the_capacity_view() {
    let world = world();
    assert_eq!(free(&world), None);
    applied(&world.stores.hypervisors, &home(), host(1, "960Gi"));
    assert_eq!(free(&world), Some(960));
    applied(&world.stores.reservations, &home(), slot(2, Some("h")));
    assert_eq!(free(&world), Some(480));
    applied(&world.stores.reservations, &home(), slot(3, None));
    assert_eq!(free(&world), Some(960), "without targetHost it blocks nothing");
    deleted(&world.stores.hypervisors, &home(), host(4, "960Gi"));
    assert_eq!(free(&world), None);
}

#[test]
fn of_two_hosts_of_one_name_one_counts_and_the_other_takes_its_place() {
    let world = world();
    applied(&world.stores.hypervisors, &"away".into(), host(1, "640Gi"));
    assert_eq!(free(&world), Some(640));
    applied(&world.stores.hypervisors, &home(), host(1, "960Gi"));
    assert_eq!(free(&world), Some(960), "home is the cluster of the zone");
    applied(&world.stores.hypervisors, &"away".into(), host(2, "500Gi"));
    assert_eq!(free(&world), Some(960));
    deleted(&world.stores.hypervisors, &home(), host(3, "960Gi"));
    assert_eq!(free(&world), Some(500));
    deleted(&world.stores.hypervisors, &"away".into(), host(4, "500Gi"));
    assert_eq!(free(&world), None);
}
