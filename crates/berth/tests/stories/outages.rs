//! The operator crashes, is stopped, or loses its API server in the middle of its work. Runs the real binary on a real
//! API server.

use berth_crds::{Reservation, names};
use serde_json::json;

use crate::support::crowd::Crowd;
use crate::support::invariants;
use crate::support::objects::{host, non_rejectable};
use crate::support::waiting::so;
use crate::support::world::World;

const CROWD: Crowd = Crowd { commitments: 25 };

async fn crowd(world: &World) {
    CROWD.hosts(world).await;
    CROWD.arrives(world).await;
}

/// Starts the operator and waits until it is in the middle of its work.
async fn half_way(world: &mut World) {
    world.launch().await;
    CROWD.half_way(world).await;
}

async fn all_accepted(world: &World) {
    CROWD.accepted(world).await;
    world.rest().await;
}

#[tokio::test]
async fn a_killed_operator_leaves_a_sound_world_and_its_successor_finishes_the_work() {
    let mut world = World::without_operator().await;
    crowd(&world).await;
    half_way(&mut world).await;
    world.kill();
    assert_eq!(invariants::broken_always(&world.now().await), [""; 0], "{}", world.report().await);
    world.start().await;
    all_accepted(&world).await;
    world.end().await;
}

#[tokio::test]
async fn an_operator_that_is_stopped_in_the_middle_ends_in_time_and_leaves_nothing_half_known() {
    let mut world = World::without_operator().await;
    crowd(&world).await;
    half_way(&mut world).await;
    world.stop().await;
    assert_eq!(invariants::broken_always(&world.now().await), [""; 0]);
    world.start().await;
    all_accepted(&world).await;
    world.end().await;
}

#[tokio::test]
async fn an_outage_of_the_api_server_in_the_middle_is_waited_out() {
    let mut world = World::without_operator().await;
    crowd(&world).await;
    half_way(&mut world).await;
    world.control_plane().stop_api_server().await.unwrap();
    let alive = world.operator().probe("/healthz").await.map(|(status, _)| status);
    assert_eq!(alive, Some(200), "an outage of the API server must not fail the liveness probe");
    world.control_plane().restart_api_server().await.unwrap();
    all_accepted(&world).await;
    // An outage causes a few log lines, however many objects were being written.
    let (log, few) = (world.operator().log(), 100 + CROWD.commitments);
    assert!(log.lines().count() < few, "{} lines:\n{log}", log.lines().count());
    world.end().await;
}

#[tokio::test]
async fn deletion_finishes_after_an_outage() {
    let mut world = World::begin().await;
    world.create(&host("node1", 4)).await;
    world.create(&non_rejectable("outage-1", 4)).await;
    world.accepted("outage-1").await;
    world.rest().await;
    world.control_plane().stop_api_server().await.unwrap();
    world.control_plane().restart_api_server().await.unwrap();
    world.delete_commitment("outage-1").await;
    world.until("everything is gone", |seen| so(seen.versions().is_empty(), || "something is left".to_owned())).await;
    world.end().await;
}

#[tokio::test]
async fn sigterm_ends_the_operator_in_time_while_the_api_server_is_away() {
    let mut world = World::begin().await;
    world.create(&host("node1", 4)).await;
    world.create(&non_rejectable("away-1", 2)).await;
    world.accepted("away-1").await;
    world.respec("away-1", json!({ "amount": "1920Gi" })).await;
    world.control_plane().stop_api_server().await.unwrap();
    world.stop().await;
    world.control_plane().restart_api_server().await.unwrap();
    world.start().await;
    world.accepted("away-1").await;
    world.end().await;
}

#[tokio::test]
async fn what_was_deleted_while_no_operator_ran_is_noticed_at_the_next_start() {
    let mut world = World::begin().await;
    world.create(&host("node1", 4)).await;
    for uuid in ["stays-1", "goes-1"] {
        world.create(&non_rejectable(uuid, 2)).await;
        world.accepted(uuid).await;
    }
    world.stop().await;
    let slots: Vec<_> = world.now().await.slots_of("stays-1").iter().map(|slot| slot.metadata.name.clone()).collect();
    world.delete::<Reservation>(slots[0].as_deref().unwrap()).await;
    world.kubectl(&["delete", "committedresource", &names::commitment("goes-1"), "--wait=false"]).await;
    world.start().await;
    world
        .until("one has its slots and the other is gone", |seen| {
            let counts = (seen.slots_of("stays-1").len(), seen.slots_of("goes-1").len(), seen.commitments.len());
            so(counts == (2, 0, 1), || format!("{counts:?}"))
        })
        .await;
    world.accepted("stays-1").await;
    world.end().await;
}
