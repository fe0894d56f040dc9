//! Log lines name the object that they are about, and name it once. Runs the real binary on a real API server.

use std::collections::BTreeMap;

use berth_crds::names;
use serde_json::json;

use crate::support::objects::{host, non_rejectable, slot_name, slots};
use crate::support::waiting::so;
use crate::support::world::World;

/// All lines about a commitment that is accepted, grows, whose slot loses its host, and that is deleted.
async fn lines_of_a_life(uuid: &str, format: &str) -> Vec<String> {
    let mut world = World::without_operator().await;
    world.create(&host("node1", 4)).await;
    world.start_with(&[format, "--zap-log-level=debug"]).await;
    world.create(&non_rejectable(uuid, 1)).await;
    world.accepted(uuid).await;
    world.respec(uuid, json!({ "amount": slots(3) })).await;
    world.accepted(uuid).await;
    world.edit_slot(&slot_name(uuid, 0), json!({ "targetHost": null })).await;
    world.until_metric("berth_slots_revoked_total", &["cleared"], 1).await;
    world.accepted(uuid).await;
    world.delete_commitment(uuid).await;
    world
        .until("the commitment and its slots are gone", |seen| {
            let is_gone = seen.commitment(uuid).is_none() && seen.slots_of(uuid).is_empty();
            so(is_gone, || "it is still there".to_owned())
        })
        .await;
    let lines = world.operator().log().lines().map(str::to_owned).collect();
    world.end().await;
    lines
}

/// The names of the commitment and its slots that a line has more than once. An error names the object of the call.
fn repeated<'l>(line: &'l str, commitment: &str) -> Vec<&'l str> {
    let words = line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    let mut counts = BTreeMap::new();
    for name in words.filter(|word| word.starts_with(commitment)) {
        *counts.entry(name).or_insert(0) += 1;
    }
    counts.into_iter().filter(|(_, count)| *count > 1).map(|(name, _)| name).collect()
}

#[tokio::test]
async fn each_line_names_an_object_once_in_both_formats() {
    for (uuid, format) in [("lines-1", "--log-format=human"), ("lines-2", "--log-format=json")] {
        let (commitment, lines) = (names::commitment(uuid), lines_of_a_life(uuid, format).await);
        let about: Vec<&String> = lines.iter().filter(|line| line.contains(&commitment)).collect();
        for expected in ["commitment changed", "applying plan", "slot lost its host", "placing slot"] {
            assert!(about.iter().any(|line| line.contains(expected)), "no line {expected:?} about {commitment}");
        }
        let of_events = about.into_iter().filter(|line| !line.contains("error"));
        let bad: Vec<_> = of_events.filter(|line| !repeated(line, &commitment).is_empty()).collect();
        assert!(bad.is_empty(), "{bad:#?}");
    }
}
