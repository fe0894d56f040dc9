//! etcd is restored from a backup while the operator runs: it notices that the API server has lost its past, however
//! fast the API server comes back. The variable RESTORES overrides the number of restores.

use std::time::Duration;

use berth_crds::Hypervisor;
use serde_json::json;

use crate::support::objects::{host, non_rejectable};
use crate::support::waiting::{repetitions, so};
use crate::support::world::World;

/// By how many revisions etcd falls, at least.
const LOST_WRITES: u32 = 200;

#[tokio::test]
async fn a_restored_etcd_is_noticed_when_the_api_server_is_back_at_once() {
    restores(Duration::ZERO).await;
}

#[tokio::test]
async fn a_restored_etcd_is_noticed_when_the_api_server_is_away_for_10_s() {
    restores(Duration::from_secs(10)).await;
}

async fn restores(away: Duration) {
    for _ in 0..repetitions("RESTORES", 1) {
        restore(away).await;
    }
}

/// Two slots are in the backup. Four come later, and are lost with it; six then fit only where those four were.
async fn restore(away: Duration) {
    let mut world = World::with_hosts(&[host("node1", 4), host("node2", 4)]).await;
    world.create(&non_rejectable("kept-1", 2)).await;
    world.accepted("kept-1").await;
    world.rest().await;
    world.control_plane().back_up().await.unwrap();
    world.create(&non_rejectable("lost-1", 4)).await;
    world.accepted("lost-1").await;
    for number in 0..LOST_WRITES {
        let change = json!({ "metadata": { "annotations": { "test/write": number.to_string() } } });
        world.edit::<Hypervisor>("node1", change).await;
    }
    world.control_plane().restore(away).await.unwrap();

    world.create(&non_rejectable("newest-1", 6)).await;
    world.accepted("newest-1").await;
    world.respec("kept-1", json!({ "amount": "480Gi" })).await;
    world
        .until("a change of a commitment of the backup is followed", |seen| {
            let slots = seen.slots_of("kept-1").len();
            so(slots == 1, || format!("{slots} slots"))
        })
        .await;
    world.rest().await;
    world.end().await;
}
