//! In-flight reservations of other clients. Runs the real binary on a real API server.

use berth_crds::{Reservation, ReservationType, Time, labels, testing};
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;
use serde_json::json;

use crate::support::objects::{host, non_rejectable};
use crate::support::seen::Seen;
use crate::support::vm_table::{self, VmFile};
use crate::support::waiting::so;
use crate::support::world::World;

/// A block of the size of a slot on a host.
fn block(name: &str, host: &str, kind: (ReservationType, &str)) -> Reservation {
    let mut block = testing::slot("nobody", 0);
    block.metadata.name = Some(name.to_owned());
    block.metadata.annotations = None;
    block.metadata.labels = Some([(labels::TYPE.to_owned(), kind.1.to_owned())].into());
    block.spec.type_ = kind.0;
    block.spec.committed_resource_reservation = None;
    block.spec.target_host = Some(host.to_owned());
    block
}

fn in_flight(name: &str, vm: &str, host: &str) -> Reservation {
    let mut flight = block(name, host, (ReservationType::InFlightReservation, labels::TYPE_IN_FLIGHT));
    let data = flight.spec.in_flight_reservation.get_or_insert_default();
    (data.vm_id, data.intent) = (Some(vm.to_owned()), "create".to_owned());
    flight
}

fn names(seen: &Seen) -> Vec<String> {
    seen.reservations
        .iter()
        .filter(|one| one.spec.committed_resource_reservation.is_none())
        .map(ResourceExt::name_any)
        .collect()
}

async fn until_reason(world: &World, name: &str, reason: &str) {
    let has_reason = |seen: &Seen| {
        let status = seen.reservations.iter().find(|one| one.name_any() == name).and_then(|one| one.status.clone());
        let ready = status.and_then(|status| status.conditions.first().cloned());
        so(ready.as_ref().is_some_and(|ready| ready.reason == reason), || format!("{ready:?}"))
    };
    world.until(&format!("{name} has the reason {reason}"), has_reason).await;
}

#[tokio::test]
async fn capacity_is_kept_for_a_vm_on_its_way_on_all_its_candidates_until_it_has_landed() {
    let world = World::with_hosts(&[host("node1", 1), host("node2", 2)]).await;
    let mut failover = block("failover-1", "node2", (ReservationType::FailoverReservation, labels::TYPE_FAILOVER));
    failover.spec.failover_reservation = Some(berth_crds::reservation::FailoverReservationSpec::default());
    let failover = world.create(&failover).await;
    world.create(&in_flight("flight-1", "vm-1", "node1")).await;
    world.create(&in_flight("flight-2", "vm-1", "node2")).await;
    until_reason(&world, "flight-1", "InstanceNotFound").await;
    until_reason(&world, "flight-2", "InstanceNotFound").await;
    world.create(&non_rejectable("flown-1", 1)).await;
    world.reported("flown-1", "Reserving", "insufficient capacity: 0/1").await;

    world.report_vm("node1", "vm-1", 480).await;
    world.until("both are deleted", |seen| so(names(seen) == ["failover-1"], || format!("{:?}", names(seen)))).await;
    let seen = world.accepted("flown-1").await;
    assert_eq!(seen.hosts_of("flown-1"), ["node2"]);
    world.until_metric("berth_in_flight_deleted_total", &["landed"], 2).await;
    let rest = world.rest().await;
    let after = rest.reservations.iter().find(|one| one.name_any() == "failover-1").unwrap();
    assert_eq!(after.metadata.resource_version, failover.metadata.resource_version, "the reservation was not written");
    world.end().await;
}

#[tokio::test]
async fn capacity_for_a_vm_that_never_comes_is_given_back_at_its_end() {
    let world = World::with_hosts(&[host("node1", 1)]).await;
    let ends = Timestamp::now() + SignedDuration::from_secs(3);
    let mut flight = in_flight("flight-3", "vm-2", "node1");
    flight.spec.end_time = Some(Time(ends));
    world.create(&flight).await;
    world.create(&non_rejectable("flown-2", 1)).await;
    world.accepted("flown-2").await;
    assert!(Timestamp::now() >= Timestamp::from_second(ends.as_second()).unwrap(), "not a second earlier");
    world.until_metric("berth_in_flight_deleted_total", &["end_time"], 1).await;
    world.end().await;
}

#[tokio::test]
async fn a_resize_on_the_same_host_ends_when_the_table_has_the_new_size() {
    let table = VmFile::create();
    table.run(&vm_table::server("vm-3", "p", "small", "2026-02-01T08:00:00Z"));
    let mut world = World::without_operator().await;
    world.create(&host("node1", 4)).await;
    world.report_vm("node1", "vm-3", 240).await;
    world.use_keys(&json!({ "vmSourceSqlite": table.path() }));
    world.start().await;
    let mut resize = in_flight("flight-4", "vm-3", "node1");
    resize.spec.in_flight_reservation.get_or_insert_default().intent = "resize".to_owned();
    world.create(&resize).await;
    until_reason(&world, "flight-4", "VMSizeMismatch").await;
    table.run(&format!("UPDATE openstack_servers_v4 SET flavor_name = '{}'", testing::FLAVOR));
    world.until("it is deleted", |seen| so(names(seen).is_empty(), || format!("{:?}", names(seen)))).await;
    world.end().await;
}
