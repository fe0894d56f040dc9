//! The disruption limit with the real binary on a real API server, and the exact command that the condition gives.

use std::process::Command;

use berth_crds::conditions::safety::DISRUPTION_LIMITED;
use berth_crds::conditions::{find, is_ready};
use berth_crds::{Condition, Hypervisor};
use serde_json::json;

use crate::support::desk::Desk;
use crate::support::objects::{host, non_rejectable, slot_name};
use crate::support::seen::{Seen, slot_ready};
use crate::support::waiting::so;
use crate::support::world::World;

/// Three slots on one host, and free capacity elsewhere, in a zone of which one slot may be disturbed.
async fn three_slots(uuid: &str) -> World {
    let mut world = World::without_operator().await;
    // The events of the previous test, which used the same server.
    world.kubectl(&["delete", "events.v1.events.k8s.io", "-n", "default", "--all"]).await;
    world.create(&host("node1", 3)).await;
    world.use_keys(&json!({ "disruptionLimit": { "slots": 1 } }));
    world.start().await;
    world.create(&non_rejectable(uuid, 3)).await;
    world.accepted(uuid).await;
    world.create(&host("node2", 3)).await;
    world
}

fn extra_conditions(seen: &Seen, uuid: &str) -> Vec<Condition> {
    let status = seen.slots_of(uuid).into_iter().filter_map(|slot| slot.status.as_ref());
    status.filter_map(|status| find(&status.conditions, DISRUPTION_LIMITED).cloned()).collect()
}

async fn until_held_back(world: &World, uuid: &str) -> Condition {
    let reported = |seen: &Seen| {
        let all = extra_conditions(seen, uuid);
        so(all.len() == 3, || format!("{} slots have the condition", all.len())).map(|()| all[0].clone())
    };
    world.until("all slots have the condition", reported).await
}

async fn follow(world: &World, message: &str) {
    let (_, command) = message.split_once("confirms it: kubectl ").expect("the message has no command");
    let expanded = Command::new("sh").args(["-c", &format!("echo {command}")]).output().unwrap();
    let words = String::from_utf8(expanded.stdout).unwrap();
    world.kubectl(&words.split_whitespace().collect::<Vec<_>>()).await;
}

#[tokio::test]
async fn slots_of_vanished_hosts_stay_until_the_command_in_their_condition_is_synced() {
    let world = three_slots("limit-1").await;
    world.delete::<Hypervisor>("node1").await;
    let condition = until_held_back(&world, "limit-1").await;
    assert_eq!((condition.status.as_str(), condition.reason.as_str()), ("True", "HostMissing"));
    let now = world.now().await;
    assert_eq!(now.hosts_of("limit-1"), ["node1"; 3]);
    assert!(
        now.slots_of("limit-1").into_iter().all(|slot| slot_ready(slot).is_some_and(|ready| ready.status == "True"))
    );
    let engaged = ["berth_disruption_limit_reached", "berth_disruption_limit_stopped_total"];
    world.until_metric(engaged[0], &[berth_crds::testing::ZONE], 1).await;
    world.until_metric(engaged[1], &[berth_crds::testing::ZONE], 3).await;
    an_event_tells(&world).await;
    world.event_says("DisruptionLimited", "of 3 slots of zone").await;
    explain_says_it_first(&world, "limit-1").await;

    follow(&world, &condition.message).await;
    world
        .until("all have moved and report nothing of the disruption limit", |seen| {
            let (hosts, extra_conditions) = (seen.hosts_of("limit-1"), extra_conditions(seen, "limit-1").len());
            so(hosts == ["node2"; 3] && extra_conditions == 0, || format!("{hosts:?}, {extra_conditions} marks"))
        })
        .await;
    world.accepted("limit-1").await;
    world.until_metric(engaged[0], &[berth_crds::testing::ZONE], 0).await;
    world.end().await;
}

/// In its first line, and a loss of the host is not announced for a time that does not come.
async fn explain_says_it_first(world: &World, uuid: &str) {
    let (desk, slot) = (Desk::of(world.people()), slot_name(uuid, 0));
    for command in [["explain", "commitment", uuid], ["explain", "slot", &slot]] {
        let text = desk.berth(&command, "").await.stdout;
        assert!(text.starts_with("DISRUPTION LIMITED: too many slots would be deleted or moved at once"), "{text}");
        let next = text.lines().find(|line| line.contains("lose their host")).expect(&text);
        assert!(next.contains("once the cause is gone or a user confirms"), "{text}");
    }
}

/// One event for the zone, on the object that confirms it.
async fn an_event_tells(world: &World) {
    world
        .until_reported("there is one event", async |world, _| {
            let fields = "jsonpath={range .items[*]}{.regarding.kind}/{.regarding.name} {.note}{'\\n'}{end}";
            let about = "--field-selector=reason=DisruptionLimitReached";
            let list = ["get", "events.v1.events.k8s.io", "-n", "default", about, "-o", fields];
            let reported = world.kubectl(&list).await;
            let lines: Vec<_> = reported.lines().filter(|line| line.contains("of 3 slots of zone")).collect();
            so(lines.len() == 1 && lines[0].starts_with("Knowledge/flavor-groups at least 2"), || reported.clone())
        })
        .await;
}

#[tokio::test]
async fn when_the_hosts_are_back_the_disruption_limit_lets_go_by_itself() {
    let world = three_slots("limit-2").await;
    world.delete::<Hypervisor>("node1").await;
    until_held_back(&world, "limit-2").await;
    world.create(&host("node1", 3)).await;
    world
        .until("nothing is left of it", |seen| {
            let extra_conditions = extra_conditions(seen, "limit-2").len();
            so(extra_conditions == 0, || format!("{extra_conditions} marks"))
        })
        .await;
    let seen = world.accepted("limit-2").await;
    assert_eq!(seen.hosts_of("limit-2"), ["node1"; 3]);
    let ready = |status: &berth_crds::ReservationStatus| is_ready(&status.conditions);
    assert!(seen.slots_of("limit-2").into_iter().all(|slot| slot.status.as_ref().is_some_and(ready)));
    world.end().await;
}
