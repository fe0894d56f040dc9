//! Slots that are placed by a scheduler behind `schedulerURL`, whatever it answers. Runs the real binary on a real API
//! server.

use std::time::Duration;

use serde_json::json;

use crate::support::free_ports::free_addresses;
use crate::support::http;
use crate::support::nova::{PATH, ask, hosts_are_known, of_another_project, only_asks, wants};
use crate::support::objects::{host, non_rejectable, rejectable};
use crate::support::scheduler_stub::{Manner, SchedulerStub};
use crate::support::seen::{Seen, ready, slot_ready};
use crate::support::waiting::so;
use crate::support::world::World;

/// Three known hosts, and an operator that asks the stub and retries soon.
async fn begin(manner: Manner) -> (World, SchedulerStub) {
    let stub = SchedulerStub::start(manner).await;
    let mut world = World::without_operator().await;
    for name in ["node1", "node2", "node3"] {
        world.create(&host(name, 2)).await;
    }
    world.use_keys(&json!({
        "committedResourceController": { "requeueIntervalRetry": "1s" },
        "committedResourceReservationController": { "requeueIntervalRetry": "1s", "schedulerURL": stub.url() },
    }));
    world.start().await;
    hosts_are_known(&world).await;
    (world, stub)
}

/// How the condition of a slot begins when the scheduler has not answered.
const UNDECIDED: &str = "the scheduler cannot decide at the moment";

/// Waits until all slots of a commitment have this condition, and the commitment is not accepted.
async fn slots_say(world: &World, uuid: &str, reason: &str, message: &str) {
    world
        .until(&format!("the slots of {uuid} have {reason}: {message}"), |seen| {
            let slots = seen.slots_of(uuid);
            so(!slots.is_empty(), || "there are none".to_owned())?;
            for slot in slots {
                let reported = slot_ready(slot).ok_or("a slot has no condition")?;
                so(reported.reason == reason && reported.message.contains(message), || {
                    format!("a slot has {}: {}", reported.reason, reported.message)
                })?;
                so(slot.spec.target_host.is_none(), || "one has a host".to_owned())?;
            }
            Ok(())
        })
        .await;
}

#[tokio::test]
async fn an_external_scheduler_places_slots_one_by_one() {
    let (world, stub) = begin(Manner::Host("node2")).await;
    world.create(&rejectable("named-1", 2)).await;
    assert_eq!(world.accepted("named-1").await.hosts_of("named-1"), ["node2", "node2"]);
    let asked = stub.asked();
    assert_eq!(asked.len(), 2, "one request for each slot: {asked:?}");
    for request in asked {
        let spec = &request["spec"]["nova_object.data"];
        let name = spec["instance_uuid"].as_str().unwrap();
        assert!(name.starts_with("commitment-named-1-"), "{name}");
        assert_eq!(spec["scheduler_hints"]["_nova_check_type"], "reserve_for_committed_resource");
        assert_eq!(request["hosts"].as_array().unwrap().len(), 3, "{request}");
        assert_eq!(request["options"]["lock_reservations"], true, "{request}");
    }
    // The API of this process is served all the same, and knows the decisions of the external scheduler.
    let unknown_host = only_asks(of_another_project(wants("vm-1", &["node1", "node2", "node3"])));
    let mut free = ask(world.operator().api(), &unknown_host).await;
    free.sort();
    assert_eq!(free, ["node1", "node3"], "node2 is full");
    world.end().await;
}

/// When each slot of a commitment was created, in seconds since 1970, by name.
fn created(seen: &Seen, uuid: &str) -> Vec<i64> {
    let times = seen.slots_of(uuid).into_iter().filter_map(|slot| slot.metadata.creation_timestamp.as_ref());
    times.map(|time| time.0.as_second()).collect()
}

#[tokio::test]
async fn with_a_delay_slots_are_created_one_after_the_other() {
    let stub = SchedulerStub::start(Manner::Host("node1")).await;
    let mut world = World::without_operator().await;
    world.create(&host("node1", 4)).await;
    world.use_keys(&json!({
        "committedResourceController": { "slotCreationDelay": "2s" },
        "committedResourceReservationController": { "schedulerURL": stub.url() },
    }));
    world.start().await;
    hosts_are_known(&world).await;
    world.create(&non_rejectable("paced-1", 3)).await;
    // Another commitment does not wait for it.
    world.create(&non_rejectable("paced-2", 1)).await;
    world.accepted("paced-2").await;
    let early = world.now().await.slots_of("paced-1").len();
    let seen = world.accepted("paced-1").await;
    let times = created(&seen, "paced-1");
    assert!(times.windows(2).all(|two| two[1] - two[0] >= 2), "{times:?}");
    assert!(early < 3, "{early} slots of the first commitment when the second is accepted");
    world.end().await;
}

#[tokio::test]
async fn whatever_an_external_scheduler_answers_slots_wait_say_why_and_are_placed_when_it_has_recovered() {
    let (world, stub) = begin(Manner::HangsUp).await;
    let unavailable = "SchedulerUnavailable";
    world.create(&non_rejectable("badly-1", 2)).await;
    for (manner, reason, text) in [
        (Manner::HangsUp, unavailable, "failed to send external scheduler request"),
        (
            Manner::Reported("200 OK", "<html>It works!</html>"),
            unavailable,
            "failed to decode external scheduler response",
        ),
        (Manner::Reported("200 OK", ""), unavailable, "failed to decode external scheduler response"),
        (
            Manner::Reported("200 OK", r#"{"hosts":"node1"}"#),
            unavailable,
            "failed to decode external scheduler response: hosts: expected a list, found the text \"node1\"",
        ),
        (
            Manner::Reported("500 Internal Server Error", "out of cheese\n"),
            unavailable,
            "external scheduler returned status 500: out of cheese",
        ),
        (
            Manner::Host("node-of-nobody"),
            unavailable,
            "the external scheduler chose a host that has no Hypervisor here: \"node-of-nobody\"; check that it serves the \
             same clusters",
        ),
        (Manner::NoHost, "NoHostsFound", ""),
    ] {
        stub.becomes(manner);
        slots_say(&world, "badly-1", reason, text).await;
        world.reported("badly-1", "Reserving", if reason == unavailable { UNDECIDED } else { "" }).await;
        let said = |seen: &Seen| {
            let message =
                seen.commitment("badly-1").and_then(ready).map_or("", |reported| &reported.message).to_owned();
            so(message.contains(text), || format!("the commitment says {message:?}"))
        };
        world.until("the commitment names the cause as its slots do", said).await;
    }
    let (status, text) = world.operator().probe("/readyz").await.unwrap();
    assert_eq!(status, 200, "{text}");
    stub.becomes(Manner::Slowly("node3", Duration::from_secs(2)));
    assert_eq!(world.accepted("badly-1").await.hosts_of("badly-1"), ["node3", "node3"]);
    let log = world.operator().log();
    assert!(!log.contains("panicked"), "{log}");
    world.end().await;
}

#[tokio::test]
async fn a_scheduler_that_is_away_is_waited_for() {
    let [nobody] = free_addresses();
    let mut world = World::without_operator().await;
    world.create(&host("node1", 2)).await;
    let retry = json!({ "requeueIntervalRetry": "1s", "schedulerURL": format!("http://{nobody}{PATH}") });
    world.use_keys(&json!({ "committedResourceReservationController": retry }));
    world.start().await;
    world.create(&rejectable("away-1", 1)).await;
    slots_say(&world, "away-1", "SchedulerUnavailable", "failed to send external scheduler request").await;
    let seen = world.now().await;
    let reported = seen.commitment("away-1").and_then(ready).map(|reported| reported.reason.clone());
    assert_eq!(reported.as_deref(), Some("Reserving"), "no scheduler has reported missing capacity: {seen}");
    // Each slot is tried again every second; the log has it once.
    let tries = async |world: &World| {
        let metrics = world.operator().metrics().await;
        http::sum(&metrics, "berth_controller_runs_total", &["commitment-reservation"])
    };
    let before = tries(&world).await;
    world
        .until_reported("it has tried again", async |world, _| {
            let more = tries(world).await - before;
            so(more > 2, || format!("{more} reconciliations"))
        })
        .await;
    let (log, line) = (world.operator().log(), "external scheduler gave no usable answer");
    assert_eq!(log.lines().filter(|reported| reported.contains(line)).count(), 1, "{log}");
    // The user corrects the configuration.
    world.stop().await;
    world.use_keys(&json!({}));
    world.start().await;
    assert_eq!(world.accepted("away-1").await.hosts_of("away-1"), ["node1"]);
    world.end().await;
}

#[tokio::test]
async fn a_url_that_leads_back_to_this_process_means_the_scheduler_in_it() {
    let [own] = free_addresses();
    let mut world = World::without_operator().await;
    world.create(&host("node1", 2)).await;
    let url = format!("http://localhost:{}{PATH}", own.port());
    world.use_keys(&json!({ "committedResourceReservationController": { "schedulerURL": url } }));
    world.start_at(own).await;
    world.create(&rejectable("self-1", 2)).await;
    world.accepted("self-1").await;
    assert_eq!(world.operator().api(), own);
    let (log, line) = (world.operator().log(), "schedulerURL points at this process; using the built-in scheduler");
    assert_eq!(log.lines().filter(|reported| reported.contains(line)).count(), 1, "{log}");
    let metrics = world.operator().metrics().await;
    let requests = "cortex_scheduler_api_request_duration_seconds_count";
    assert_eq!(http::sum(&metrics, requests, &[]), 0, "the operator does not call itself");
    world.rest().await;
    world.stop().await;
}
