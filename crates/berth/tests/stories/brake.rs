//! The brake, told to the real binary on a real API server, with the very command that the condition gives.

use std::process::Command;

use berth_crds::conditions::safety::BRAKED;
use berth_crds::conditions::{find, is_ready};
use berth_crds::{Condition, Hypervisor};
use serde_json::json;

use crate::support::objects::{host, patient};
use crate::support::seen::{Seen, slot_ready};
use crate::support::waiting::so;
use crate::support::world::World;

/// Three slots on one host, and room elsewhere, in a zone of which one slot may be disturbed.
async fn three_slots(uuid: &str) -> World {
    let mut world = World::without_operator().await;
    // Those of the story before this one, which was told on the same server.
    world.kubectl(&["delete", "events.v1.events.k8s.io", "-n", "default", "--all"]).await;
    world.create(&host("node1", 3)).await;
    world.use_keys(&json!({ "brake": { "slots": 1 } }));
    world.start().await;
    world.create(&patient(uuid, 3)).await;
    world.accepted(uuid).await;
    world.create(&host("node2", 3)).await;
    world
}

fn marks(seen: &Seen, uuid: &str) -> Vec<Condition> {
    let status = seen.slots_of(uuid).into_iter().filter_map(|slot| slot.status.as_ref());
    status.filter_map(|status| find(&status.conditions, BRAKED).cloned()).collect()
}

async fn until_held_back(world: &World, uuid: &str) -> Condition {
    let says = |seen: &Seen| {
        let all = marks(seen, uuid);
        so(all.len() == 3, || format!("{} slots say so", all.len())).map(|()| all[0].clone())
    };
    world.until("all slots say that they are held back", says).await
}

/// As a shell would read the command.
async fn follow(world: &World, message: &str) {
    let (_, command) = message.split_once("confirms: kubectl ").expect("there is a command");
    let expanded = Command::new("sh").args(["-c", &format!("echo {command}")]).output().unwrap();
    let words = String::from_utf8(expanded.stdout).unwrap();
    world.kubectl(&words.split_whitespace().collect::<Vec<_>>()).await;
}

#[tokio::test]
async fn d14_slots_of_vanished_hosts_stay_until_the_command_in_their_condition_is_followed() {
    let world = three_slots("brake-1").await;
    world.delete::<Hypervisor>("node1").await;
    let condition = until_held_back(&world, "brake-1").await;
    assert_eq!((condition.status.as_str(), condition.reason.as_str()), ("True", "HostMissing"));
    let now = world.now().await;
    assert_eq!(now.hosts_of("brake-1"), ["node1"; 3]);
    assert!(
        now.slots_of("brake-1").into_iter().all(|slot| slot_ready(slot).is_some_and(|ready| ready.status == "True"))
    );
    let engaged = ["berth_brake_engaged", "berth_brake_stopped_total"];
    world.until_metric(engaged[0], &[berth_crds::testing::ZONE], 1).await;
    world.until_metric(engaged[1], &[berth_crds::testing::ZONE], 3).await;
    an_event_tells(&world).await;

    follow(&world, &condition.message).await;
    world
        .until("all have moved and say nothing of the brake", |seen| {
            let (hosts, marks) = (seen.hosts_of("brake-1"), marks(seen, "brake-1").len());
            so(hosts == ["node2"; 3] && marks == 0, || format!("{hosts:?}, {marks} marks"))
        })
        .await;
    world.accepted("brake-1").await;
    world.until_metric(engaged[0], &[berth_crds::testing::ZONE], 0).await;
    world.end().await;
}

/// One for the zone, on the object with which it is confirmed.
async fn an_event_tells(world: &World) {
    world
        .until_told("one event tells of it", async |world, _| {
            let fields = "jsonpath={range .items[*]}{.regarding.kind}/{.regarding.name} {.note}{'\\n'}{end}";
            let about = "--field-selector=reason=BrakeEngaged";
            let list = ["get", "events.v1.events.k8s.io", "-n", "default", about, "-o", fields];
            let told = world.kubectl(&list).await;
            let lines: Vec<_> = told.lines().filter(|line| line.contains("of 3 slots of zone")).collect();
            so(lines.len() == 1 && lines[0].starts_with("Knowledge/flavor-groups at least 2"), || told.clone())
        })
        .await;
}

#[tokio::test]
async fn d14_when_the_hosts_are_back_the_brake_lets_go_by_itself() {
    let world = three_slots("brake-2").await;
    world.delete::<Hypervisor>("node1").await;
    until_held_back(&world, "brake-2").await;
    world.create(&host("node1", 3)).await;
    world
        .until("nothing is left of it", |seen| {
            let marks = marks(seen, "brake-2").len();
            so(marks == 0, || format!("{marks} marks"))
        })
        .await;
    let seen = world.accepted("brake-2").await;
    assert_eq!(seen.hosts_of("brake-2"), ["node1"; 3]);
    let ready = |status: &berth_crds::ReservationStatus| is_ready(&status.conditions);
    assert!(seen.slots_of("brake-2").into_iter().all(|slot| slot.status.as_ref().is_some_and(ready)));
    world.end().await;
}
