//! Limes buys and sells through the real binary: an independent client with strict types plays it.

use berth_limes::plan::Projects;
use berth_limes::{Session, Settings};
use serde_json::json;

use crate::support::objects::{GROUP, SLOT_GIB, ZONE, host};
use crate::support::waiting::so;
use crate::support::world::World;

#[tokio::test]
async fn limes_discovers_sells_splits_transfers_is_refused_and_deletes() {
    let mut world = World::without_operator().await;
    world.create(&host("node1", 4)).await;
    let ram = json!({ "ramUnitGiB": SLOT_GIB, "handlesCommitments": true, "hasCapacity": true });
    world.use_keys(&json!({ "committedResourceAPI": { "flavorGroupResourceConfig": { GROUP: { "ram": ram } } } }));
    world.start().await;
    let mut lines = Vec::new();
    let settings = Settings {
        base_url: format!("http://{}/commitments/", world.operator().api()),
        zone: ZONE.to_owned(),
        projects: Projects { first: "project-1".to_owned(), second: "project-2".to_owned() },
    };
    let played = Session::new(settings, |line| lines.push(line)).unwrap().play().await;
    assert!(played.is_ok(), "{played:?}\n{}\n{}", lines.join("\n"), world.operator().end_of_log());
    world
        .until("the commitments and their slots are gone", |seen| {
            let (commitments, slots) = (seen.commitments.len(), seen.slots().count());
            so((commitments, slots) == (0, 0), || format!("{commitments} commitments, {slots} slots"))
        })
        .await;
    world.end().await;
}
