//! The syncer against doubles of Keystone and Limes: what calls have missed is repaired. Runs the real binary.

use berth_crds::{CommittedResource, testing};
use berth_testkit::keystone::{Keystone, Projects};
use berth_testkit::limes::{Limes, TRANSFER_TOKEN, commitment};
use serde_json::json;

use crate::support::keystone::{create_secret, grant_secret, secret_ref};
use crate::support::objects::{host, non_rejectable};
use crate::support::world::World;

const PASSWORD: &str = "the-password-of-keystone";

async fn begin(keystone: &Keystone) -> World {
    let mut world = World::without_operator().await;
    world.create(&host("node1", 8)).await;
    create_secret(&world, keystone, PASSWORD).await;
    grant_secret(&world).await;
    world.use_keys(&json!({
        "enabledTasks": ["commitments-sync-task"],
        "keystoneSecretRef": secret_ref(),
    }));
    world
}

#[tokio::test]
async fn calls_that_were_missed_are_repaired_from_the_list_of_limes() {
    let (keystone, limes) = (Keystone::start(PASSWORD).await.unwrap(), Limes::start().await.unwrap());
    keystone.add_service("resources", &limes.url());
    keystone.set_projects(Projects::new(&[(testing::PROJECT, testing::DOMAIN), ("p-unknown", testing::DOMAIN)]));
    let listed = |uuid: &str, gib: u64| commitment(uuid, testing::GROUP, testing::ZONE, gib);
    limes.set(testing::PROJECT, vec![listed("missed-1", 960), listed("outdated-1", 480)]);
    let mut world = begin(&keystone).await;
    world.create(&non_rejectable("outdated-1", 3)).await;
    world.start().await;
    assert_eq!(world.accepted("missed-1").await.hosts_of("missed-1"), ["node1"; 2]);
    let has_one = |slots: usize| if slots == 1 { Ok(()) } else { Err(format!("outdated-1 has {slots} slots")) };
    world.until("outdated-1 has one slot", |seen| has_one(seen.slots_of("outdated-1").len())).await;
    world.event_says("SyncedFromLimes", "corrected after the list of Limes: amount 1440Gi -> 480Gi").await;
    let stored = world.api::<CommittedResource>().get("commitment-missed-1").await.unwrap();
    assert_eq!(stored.spec.domain_id, testing::DOMAIN);
    let shown = format!("{stored:?} {}", world.operator().log());
    assert!(!shown.contains(TRANSFER_TOKEN) && !shown.contains(PASSWORD));
    world.end().await;
}
