//! Pauses with the real binary on a real API server, and the exact commands that conditions give.

use berth_crds::conditions::find;
use berth_crds::conditions::safety::PAUSED;
use berth_crds::{CommittedResource, Condition, Hypervisor, names};
use serde_json::json;

use crate::support::objects::{host, non_rejectable, rejectable};
use crate::support::seen::Seen;
use crate::support::waiting::so;
use crate::support::world::World;

fn paused(seen: &Seen, uuid: &str) -> Option<Condition> {
    find(&seen.commitment(uuid)?.status.as_ref()?.conditions, PAUSED).cloned()
}

async fn until_paused(world: &World, uuid: &str) -> Condition {
    world.until("it reports that it is paused", |seen| paused(seen, uuid).ok_or_else(|| "it does not".to_owned())).await
}

/// Runs the command after the last colon of a message with kubectl.
async fn follow(world: &World, message: &str) {
    let (_, command) = message.split_once("kubectl ").expect("the message has no command");
    world.kubectl(&command.split(' ').collect::<Vec<_>>()).await;
}

#[tokio::test]
async fn nothing_becomes_of_a_paused_commitment_until_the_command_in_its_condition_is_synced() {
    let world = World::with_hosts(&[host("node1", 2), host("node2", 4)]).await;
    world.create(&rejectable("paused-1", 2)).await;
    world.accepted("paused-1").await;
    let name = names::commitment("paused-1");
    world.kubectl(&["annotate", "committedresource", &name, "reservations.cortex.cloud/paused=audit"]).await;
    let condition = until_paused(&world, "paused-1").await;
    assert_eq!((condition.status.as_str(), condition.reason.as_str()), ("True", "Annotation"));
    let before = world.rest().await;

    world.respec("paused-1", json!({ "amount": "1920Gi" })).await;
    for host in before.hosts_of("paused-1") {
        drop(world.try_kubectl(&["delete", "hypervisor", &host]).await);
    }
    world.kubectl(&["delete", "committedresource", &name, "--wait=false"]).await;
    // Another commitment is served in the meantime.
    world.create(&host("node3", 1)).await;
    world.create(&non_rejectable("free-1", 1)).await;
    world.accepted("free-1").await;
    let now = world.now().await;
    let slots = |seen: &Seen| seen.slots_of("paused-1").into_iter().cloned().collect::<Vec<_>>();
    assert_eq!(slots(&now), slots(&before));
    assert!(now.commitment("paused-1").is_some_and(|object| object.metadata.deletion_timestamp.is_some()));

    follow(&world, &condition.message).await;
    world
        .until("it is gone with its slots", |seen| {
            let left = seen.slots_of("paused-1").len();
            so(left == 0 && seen.commitment("paused-1").is_none(), || format!("{left} slots are left"))
        })
        .await;
    world.end().await;
}

#[tokio::test]
async fn a_paused_zone_is_left_alone_until_the_configuration_changes() {
    let mut world = World::without_operator().await;
    world.create(&host("node1", 2)).await;
    world.use_keys(&json!({ "pause": { "zones": [berth_crds::testing::ZONE] } }));
    world.start().await;
    world.create(&non_rejectable("zone-1", 2)).await;
    let condition = until_paused(&world, "zone-1").await;
    assert_eq!(condition.reason, "Zone");
    let seen = world.reported("zone-1", "Reserving", "commitment is paused").await;
    assert_eq!(seen.slots_of("zone-1").len(), 0);
    world.until_metric("berth_paused_commitments", &["Zone"], 1).await;
    world.stop().await;
    world.use_keys(&json!({}));
    world.start().await;
    let seen = world.accepted("zone-1").await;
    assert_eq!(paused(&seen, "zone-1"), None);
    world.until_metric("berth_paused_commitments", &["Zone"], 0).await;
    world.delete::<CommittedResource>(&names::commitment("zone-1")).await;
    world.delete::<Hypervisor>("node1").await;
    world.end().await;
}
