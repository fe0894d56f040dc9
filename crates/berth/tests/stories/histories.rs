//! The record of decisions about VMs: History objects where the kind is installed, events otherwise. Runs the real
//! binary on a real API server.

use berth_crds::{History, generate};
use kube::api::{DeleteParams, ListParams};

use crate::support::http;
use crate::support::nova::{answers_in_order, ask, booked, hosts_are_known, only_asks, starts, wants};
use crate::support::objects::{host, rejectable};
use crate::support::waiting::{so, until};
use crate::support::world::World;

const HISTORIES: &str = "histories.cortex.cloud";
/// The tests may use one API server one after the other, so each has a VM of its own.
const VM: &str = "5f0e7c1a-9d2b-4c36-8a47-1b6d3e9f2c58";
const ASKED_OFTEN: &str = "0c4b8f56-27de-4e0a-b6a1-93d75c1e8f24";
const WITHOUT_KIND: &str = "a85d21e7-6f3c-4b19-8d02-e4c7590b6f31";

/// Two hosts and a commitment with one slot on the second of them, which is the first of the answer only because of the slot.
async fn begin(uuid: &str, installed: bool) -> (World, [String; 2]) {
    let mut world = World::without_operator().await;
    if installed {
        world.install(generate::optional()).await;
        world.raw::<History>().delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
    } else {
        world.kubectl(&["delete", "crd", "--ignore-not-found", "--timeout=30s", HISTORIES]).await;
    }
    world.create(&host("node2", 2)).await;
    world.start().await;
    world.create(&rejectable(uuid, 1)).await;
    world.accepted(uuid).await;
    world.create(&host("node1", 2)).await;
    hosts_are_known(&world).await;
    let both = ["node2", "node1"].map(str::to_owned);
    // The operator may see the slot later than the test does.
    until(async || answers_in_order(world.operator().api(), &both).await).await.unwrap();
    (world, both)
}

/// Waits until the History of a VM has this many decisions.
async fn history(world: &World, vm: &str, decisions: usize) -> History {
    let histories = world.api::<History>();
    let found = until(async || {
        let object = histories.get(&format!("nova-{vm}")).await.map_err(|error| error.to_string())?;
        let status = object.status.clone().unwrap_or_default();
        let count = status.history.len() + usize::from(status.current.is_some());
        so(count == decisions, || format!("{count} decisions")).map(|()| object)
    });
    found.await.unwrap_or_else(|bad| panic!("no history of {vm}: {bad}\n{}", world.operator().end_of_log()))
}

/// Waits for an event with this reason about an object whose text has these words.
async fn reported(world: &World, kind: &str, name: &str, reason: &str, words: &[&str]) {
    let (about, reason) = (format!("regarding.kind={kind},regarding.name={name}"), format!("reason={reason}"));
    let about = format!("--field-selector={about},{reason}");
    let list = ["get", "events.v1.events.k8s.io", "-n", "default", &about, "-o", "jsonpath={.items[*].note}"];
    let heard = until(async || {
        let notes = world.kubectl(&list).await;
        so(words.iter().all(|word| notes.contains(word)), || notes)
    });
    heard.await.unwrap_or_else(|bad| panic!("no event about {name} has {words:?}: {bad:?}"));
}

#[tokio::test]
async fn with_the_kind_a_vm_has_a_history() {
    let (world, both) = begin("told-1", true).await;
    let (api, request) = (world.operator().api(), wants(VM, &["node1", "node2"]));
    assert_eq!(ask(api, &only_asks(request.clone())).await, both);
    assert_eq!(ask(api, &request).await, both);
    let object = history(&world, VM, 1).await;
    assert_eq!((&*object.spec.resource_id, object.spec.availability_zone.as_deref()), (VM, Some("eu-test-1a")));
    let status = object.status.unwrap();
    let current = status.current.unwrap();
    assert_eq!((current.target_host.as_deref(), current.successful), (Some(both[0].as_str()), true));
    assert_eq!(current.ordered_hosts, both);
    let pipeline = current.pipeline_ref.unwrap().name;
    assert_eq!(pipeline.as_deref(), Some("kvm-general-purpose-load-balancing"));
    let explanation = current.explanation.unwrap();
    let [here, there] = &both;
    for words in [
        "Started with 2 host(s).",
        "2 hosts remaining (node1, node2)",
        &format!("Selected host: {here}."),
        &format!("{here} before {there}: kvm_committed_resource_reservation +"),
    ] {
        assert!(explanation.contains(words), "{words}: {explanation}");
    }
    let ready = &status.conditions[0];
    assert_eq!((&*ready.status, &*ready.reason), ("True", "SchedulingSucceeded"));
    reported(&world, "History", &format!("nova-{VM}"), "SchedulingSucceeded", &["Selected host: "]).await;

    // That no host fits is a decision, too.
    let mut too_large = wants(VM, &["node1", "node2"]);
    too_large["spec"]["nova_object.data"]["flavor"]["nova_object.data"]["memory_mb"] = (1 << 30).into();
    assert_eq!(ask(api, &too_large).await, [""; 0]);
    let status = history(&world, VM, 2).await.status.unwrap();
    let current = status.current.unwrap();
    assert_eq!((current.successful, current.target_host, current.ordered_hosts.len()), (false, None, 0));
    let explanation = current.explanation.unwrap();
    assert!(explanation.contains("filter_has_enough_capacity filtered out node1, node2"), "{explanation}");
    assert_eq!(status.history[0].ordered_hosts, both);
    let ready = &status.conditions[0];
    assert_eq!((&*ready.status, &*ready.reason), ("False", "NoHostFound"));
    let line = world.kubectl(&["get", "histories", "--no-headers"]).await;
    assert!(line.contains(VM) && line.contains("NoHostFound"), "{line}");
    world.rest().await;
    starts(&world, VM, here).await;
    world.end().await;
}

#[tokio::test]
async fn a_history_keeps_the_last_decisions_and_begins_anew_when_it_was_deleted() {
    let (world, _) = begin("many-01", true).await;
    let (api, request) = (world.operator().api(), wants(ASKED_OFTEN, &["node1", "node2"]));
    for _ in 0..15 {
        assert_eq!(ask(api, &request).await.len(), 2);
    }
    world.until_metric("berth_histories_total", &["written"], 15).await;
    assert_eq!(history(&world, ASKED_OFTEN, 11).await.status.unwrap().history.len(), 10);
    world.delete::<History>(&format!("nova-{ASKED_OFTEN}")).await;
    let first = ask(api, &request).await[0].clone();
    history(&world, ASKED_OFTEN, 1).await;
    // An ID that cannot be the name of an object gets no History, and is answered all the same.
    assert!(!ask(api, &wants("Not/A Name", &["node1", "node2"])).await.is_empty());
    world.until_metric("berth_histories_total", &["no_name"], 1).await;
    starts(&world, ASKED_OFTEN, &first).await;
    world.end().await;
}

#[tokio::test]
async fn without_the_kind_the_slot_of_a_vm_tells_of_it() {
    let (world, both) = begin("event-1", false).await;
    assert_eq!(ask(world.operator().api(), &wants(WITHOUT_KIND, &["node1", "node2"])).await, both);
    let slot = booked(&world, WITHOUT_KIND).await;
    let words = [format!("VM {WITHOUT_KIND} is expected in this slot."), format!("Selected host: {}.", both[0])];
    reported(&world, "Reservation", &slot, "SchedulingSucceeded", &words.each_ref().map(String::as_str)).await;
    assert_eq!(http::sum(&world.operator().metrics().await, "berth_histories_total", &["not_installed"]), 1);
    let log = world.operator().log();
    assert_eq!(log.matches("kind History not installed").count(), 1, "{log}");
    starts(&world, WITHOUT_KIND, &both[0]).await;
    world.end().await;
}
