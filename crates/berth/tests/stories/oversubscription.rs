//! Hosts that shrink under their slots. Runs the real binary on a real API server.

use std::time::{Duration, Instant};

use berth_crds::conditions::safety::{DISRUPTION_LIMITED, HOST_OVERBOOKED};
use berth_crds::{Hypervisor, conditions};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::support::http;
use crate::support::objects::{SLOT_CORES, host, rejectable, slots};
use crate::support::seen::Seen;
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
    world.use_keys(&json!({ "committedResourceReservationController": eviction() }));
    world.create(&ready(host("node1", 2))).await;
    world.start().await;
    world.create(&rejectable(uuid, 2)).await;
    world.accepted(uuid).await;
    world.rest().await;
    world
}

fn eviction() -> Value {
    json!({ "enableOversubscriptionCheck": true, "enableOversubscriptionReservationEviction": true,
            "oversubscriptionGracePeriod": "3s", "oversubscriptionMinCheckInterval": "1s" })
}

async fn shrink(world: &World) {
    resize(world, "node1", 1).await;
}

async fn resize(world: &World, host: &str, count: u64) {
    let size = json!({ "memory": slots(count), "cpu": (count * SLOT_CORES).to_string() });
    world.edit_status::<Hypervisor>(host, json!({ "status": { "effectiveCapacity": size } })).await;
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

/// The commitments of which the disruption limit holds something back, with the reason.
fn held_back(seen: &Seen) -> Vec<(&'static str, String, String)> {
    let condition = |uuid| {
        let status = seen.commitment(uuid)?.status.as_ref()?;
        let held = conditions::find(&status.conditions, DISRUPTION_LIMITED)?;
        Some((uuid, held.reason.clone(), held.message.clone()))
    };
    ["shrink-3", "shrink-4"].into_iter().filter_map(condition).collect()
}

#[tokio::test]
async fn commitments_whose_hosts_shrink_together_keep_their_slots_and_show_why() {
    let mut world = World::without_operator().await;
    world.use_keys(&json!({ "committedResourceReservationController": eviction(), "disruptionLimit": { "slots": 1 } }));
    for name in ["node1", "node2"] {
        world.create(&ready(host(name, 1))).await;
    }
    world.start().await;
    for uuid in ["shrink-3", "shrink-4"] {
        world.create(&rejectable(uuid, 1)).await;
        world.accepted(uuid).await;
    }
    world.create(&ready(host("node3", 2))).await;
    for name in ["node1", "node2"] {
        resize(&world, name, 0).await;
    }
    let held = world.until("both are held back", |seen| {
        let held = held_back(seen);
        so(held.len() == 2, || format!("{held:?}")).map(|()| held)
    });
    for (uuid, reason, message) in held.await {
        let count = "at least 2 of 2 slots of zone eu-test-1a would be moved";
        assert!(reason == HOST_OVERBOOKED && message.contains(count), "{uuid}: {reason}: {message}");
    }
    let metrics = world.operator().metrics().await;
    assert_eq!(http::sum(&metrics, EVICTED, &[]), 0, "not even one slot has left");
    let given_back = world.now().await.hosts_of("shrink-4")[0].clone();
    resize(&world, &given_back, 1).await;
    world
        .until("the other slot moves, and nothing is held back", |seen| {
            let hosts = [seen.hosts_of("shrink-3"), seen.hosts_of("shrink-4")];
            so(hosts == [["node3"], [&*given_back]] && held_back(seen).is_empty(), || {
                format!("{hosts:?}, {:?}", held_back(seen))
            })
        })
        .await;
    world.end().await;
}
