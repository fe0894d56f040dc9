//! Hosts that shrink under their slots. Runs the real binary on a real API server.

use std::time::{Duration, Instant};

use berth_crds::{Hypervisor, conditions};
use jiff::Timestamp;
use serde_json::json;

use crate::support::http;
use crate::support::objects::{SLOT_CORES, host, rejectable, slots};
use crate::support::waiting::so;
use crate::support::world::World;

const GRACE: Duration = Duration::from_secs(3);
const OVERSUBSCRIBED: &str = "cortex_committed_resource_host_oversubscribed";
const EVICTED: &str = "cortex_committed_resource_host_oversubscribed_evicted_reservations_total";

/// A host without a Ready condition is not checked.
fn ready(mut host: Hypervisor) -> Hypervisor {
    let condition = conditions::ready_condition(conditions::Status::True, "ready", "", None, Timestamp::now());
    host.status.get_or_insert_default().conditions = vec![condition];
    host
}

/// Two slots fill `node1`, which then has capacity for one, and slots may leave such hosts.
async fn shrunk(uuid: &str) -> World {
    let mut world = World::without_operator().await;
    world.use_keys(&json!({ "committedResourceReservationController": {
        "enableOversubscriptionCheck": true, "enableOversubscriptionReservationEviction": true,
        "oversubscriptionGracePeriod": "3s", "oversubscriptionMinCheckInterval": "1s",
    } }));
    world.create(&ready(host("node1", 2))).await;
    world.start().await;
    world.create(&rejectable(uuid, 2)).await;
    world.accepted(uuid).await;
    world.rest().await;
    world
}

async fn shrink(world: &World) {
    let one = json!({ "memory": slots(1), "cpu": SLOT_CORES.to_string() });
    world.edit_status::<Hypervisor>("node1", json!({ "status": { "effectiveCapacity": one } })).await;
}

async fn series(world: &World) -> Vec<String> {
    let metrics = world.operator().metrics().await;
    metrics.lines().filter(|line| line.starts_with(&format!("{OVERSUBSCRIBED}{{"))).map(str::to_owned).collect()
}

#[tokio::test]
async fn an_empty_slot_leaves_a_host_that_has_shrunk_after_the_grace_and_finds_another() {
    let world = shrunk("shrink-1").await;
    world.create(&ready(host("node2", 1))).await;
    let started_at = Instant::now();
    shrink(&world).await;
    world.until_metric(OVERSUBSCRIBED, &["host=\"node1\"", "resource=\"cpu\""], SLOT_CORES).await;
    world.until_metric(OVERSUBSCRIBED, &["az=\"eu-test-1a\"", "resource=\"memory\""], 480 << 30).await;
    world
        .until("one slot is on the other host", |seen| {
            let mut hosts = seen.hosts_of("shrink-1");
            hosts.sort();
            so(hosts == ["node1", "node2"], || format!("{hosts:?}"))
        })
        .await;
    assert!(started_at.elapsed() >= GRACE, "moved after {:?}", started_at.elapsed());
    world.accepted("shrink-1").await;
    assert_eq!(series(&world).await, [""; 0], "the condition goes with the excess");
    let metrics = world.operator().metrics().await;
    assert_eq!(http::sum(&metrics, EVICTED, &["az=\"eu-test-1a\""]), 1);
    assert_eq!(http::sum(&metrics, "berth_slots_revoked_total", &["oversubscribed"]), 1);
    world.event_says("PlacementRevoked", "host node1 held 480Gi memory, 30 cores more than it has").await;
    world.end().await;
}

#[tokio::test]
async fn a_commitment_that_loses_a_slot_to_an_eviction_is_not_rejected() {
    let world = shrunk("shrink-2").await;
    shrink(&world).await;
    // An accepted commitment stays accepted, although it allows rejection.
    let text = "insufficient capacity: 1/2 reservation slots could be placed";
    let seen = world.reported("shrink-2", "Reserving", text).await;
    assert!(seen.commitment("shrink-2").unwrap().status.as_ref().unwrap().accepted_spec.is_some());
    assert_eq!(seen.hosts_of("shrink-2"), ["node1"]);
    world.create(&ready(host("node2", 1))).await;
    world.accepted("shrink-2").await;
    world.end().await;
}
