//! Hosts that appear, disappear, return, and free capacity. Runs the real binary on a real API server.

use std::time::{Duration, Instant};

use berth_crds::Hypervisor;
use jiff::Timestamp;
use tokio::time::sleep;

use crate::support::http;
use crate::support::objects::{host, non_rejectable, rejectable};
use crate::support::seen::ready;
use crate::support::waiting::so;
use crate::support::world::{GRACE, World};

/// Two slots on `node1`, which they fill.
async fn two_slots(uuid: &str) -> World {
    let world = World::with_hosts(&[host("node1", 2)]).await;
    world.create(&rejectable(uuid, 2)).await;
    world.accepted(uuid).await;
    world
}

async fn revoked(world: &World, cause: &str) -> u64 {
    http::sum(&world.operator().metrics().await, "berth_slots_revoked_total", &[cause])
}

#[tokio::test]
async fn slots_of_a_vanished_host_stay_for_the_grace_and_then_move_together() {
    let world = two_slots("vanish-1").await;
    world.create(&host("node2", 2)).await;
    let before = world.rest().await;
    let gone = Instant::now();
    world.delete::<Hypervisor>("node1").await;
    // Nothing happens within this time.
    sleep(GRACE / 2).await;
    let now = world.now().await;
    // Unless the machine itself has slept.
    if gone.elapsed() < GRACE {
        assert_eq!(now.versions(), before.versions(), "{}", world.report().await);
    }
    world
        .until("both slots are on the other host", |seen| {
            let hosts = seen.hosts_of("vanish-1");
            so(hosts == ["node2"; 2], || format!("{hosts:?}"))
        })
        .await;
    assert!(gone.elapsed() >= GRACE, "moved after {:?}", gone.elapsed());
    world.accepted("vanish-1").await;
    assert_eq!(revoked(&world, "host_gone").await, 2);
    world.event_says("PlacementRevoked", "host node1 no longer exists; looking for another").await;
    world.end().await;
}

#[tokio::test]
async fn a_host_that_comes_back_within_the_grace_keeps_its_slots() {
    let world = two_slots("return-1").await;
    world.create(&host("node2", 2)).await;
    let before = world.rest().await;
    let gone = Instant::now();
    world.delete::<Hypervisor>("node1").await;
    sleep(GRACE / 2).await;
    world.create(&host("node1", 2)).await;
    // Unless the machine itself has slept.
    let in_time = gone.elapsed() < GRACE;
    sleep(GRACE).await;
    if in_time {
        assert_eq!(world.now().await.versions(), before.versions(), "{}", world.report().await);
        assert_eq!(revoked(&world, "host_gone").await, 0);
    }
    world.end().await;
}

#[tokio::test]
async fn without_another_host_an_accepted_commitment_waits_and_is_not_rejected() {
    let world = two_slots("homeless-1").await;
    world.delete::<Hypervisor>("node1").await;
    // An accepted commitment stays accepted, although it allows rejection.
    let text = "insufficient capacity: 0/2 reservation slots could be placed";
    let seen = world.reported("homeless-1", "Reserving", text).await;
    assert!(seen.commitment("homeless-1").unwrap().status.as_ref().unwrap().accepted_spec.is_some());
    let rest = world.rest().await;
    let reasons: Vec<_> = rest.slots().filter_map(crate::support::seen::slot_ready).map(|c| c.reason.clone()).collect();
    assert_eq!(reasons, ["NoHostsAvailable"; 2]);
    world.create(&host("node2", 2)).await;
    assert_eq!(world.accepted("homeless-1").await.hosts_of("homeless-1"), ["node2"; 2]);
    world.end().await;
}

#[tokio::test]
async fn freed_capacity_goes_to_the_oldest_commitment_first() {
    let world = two_slots("holder-1").await;
    // The order of the names is the opposite of the order of creation.
    let older = world.create(&non_rejectable("waiting-z", 2)).await;
    let created = older.metadata.creation_timestamp.unwrap().0.as_second();
    while Timestamp::now().as_second() <= created {
        sleep(Duration::from_millis(20)).await;
    }
    world.create(&non_rejectable("waiting-a", 1)).await;
    for uuid in ["waiting-z", "waiting-a"] {
        world.reported(uuid, "Reserving", "insufficient capacity: 0/").await;
    }
    world.rest().await;

    world.create(&host("node2", 1)).await;
    world.reported("waiting-z", "Reserving", "insufficient capacity: 1/2").await;
    let one = world.rest().await;
    assert_eq!((one.hosts_of("waiting-z").len(), one.hosts_of("waiting-a").len()), (1, 0));

    world.delete_commitment("holder-1").await;
    world.accepted("waiting-z").await;
    assert_eq!(world.accepted("waiting-a").await.hosts_of("waiting-a"), ["node1"]);
    world.end().await;
}

#[tokio::test]
async fn a_host_that_is_out_of_service_keeps_its_slots_and_gets_none() {
    let mut world = two_slots("service-1").await;
    world.stop().await;
    let terminating = serde_json::json!([{
        "type": "Terminating", "status": "True", "reason": "Terminating", "message": "",
        "lastTransitionTime": "2026-03-01T08:00:00Z",
    }]);
    world.edit_status::<Hypervisor>("node1", serde_json::json!({ "status": { "conditions": terminating } })).await;
    world.start().await;
    world.create(&rejectable("service-2", 1)).await;
    let text = "insufficient capacity: 0/1 reservation slots could be placed: 1 host; status 1";
    let seen = world.reported("service-2", "Rejected", text).await;
    assert!(ready(seen.commitment("service-1").unwrap()).is_some_and(|ready| ready.status == "True"));
    world.end().await;
}
