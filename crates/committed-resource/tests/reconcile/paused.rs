//! Pauses: a commitment with the annotation, and its slots, stay exactly as they are, whatever happens around them.

use std::time::Duration;

use berth_crds::conditions::{find, safety};
use berth_crds::{CommittedResource, Condition, Hypervisor, Knowledge, Reservation, labels, names};
use berth_testkit::{Server, Verb, seeds};
use serde_json::{Value, json};

use crate::support::*;

const HOSTS: [(&str, u64); 2] = [("node1", 2), ("node2", 2)];

fn pause(on: bool) -> Value {
    let value = if on { json!("for the audit") } else { Value::Null };
    json!({ "metadata": { "annotations": { labels::PAUSED: value } } })
}

fn edit(server: &Server, patch: &Value) {
    server.edit::<CommittedResource>(&names::commitment(UUID), patch).unwrap();
}

fn paused(server: &Server) -> Option<Condition> {
    find(&commitment(server).status?.conditions, safety::PAUSED).cloned()
}

async fn two_paused_slots() -> (Server, Process) {
    let clock = clock();
    let server = server(&clock, &HOSTS, &seeds::waiting_commitment(UUID, 2));
    let process = Process::start(&server, &clock);
    assert_eq!(process.settle().await, []);
    edit(&server, &pause(true));
    assert_eq!(process.settle().await, []);
    let condition = paused(&server).expect("the commitment reports that it is paused");
    assert_eq!((condition.status.as_str(), condition.reason.as_str()), ("True", "Annotation"));
    assert!(condition.message.contains("kubectl annotate committedresource commitment-uuid-1"), "{condition:?}");
    (server, process)
}

/// Something happens, and the operator writes nothing.
async fn nothing_follows(server: &Server, process: &Process, act: impl FnOnce(&Server)) {
    act(server);
    let before = (ready(server), slots_and_hosts(server));
    server.take_log();
    assert_eq!(process.settle().await, []);
    tokio::time::sleep(Duration::from_secs(3600)).await;
    process.enqueue_all();
    assert_eq!(process.settle().await, []);
    assert_eq!(server.take_log(), [""; 0], "a paused commitment is unchanged");
    assert_eq!((ready(server), slots_and_hosts(server)), before);
}

#[tokio::test(start_paused = true)]
async fn no_change_of_the_spec_is_synced_until_it_is_set_free() {
    let (server, process) = two_paused_slots().await;
    let amount = |slots| json!({ "spec": { "amount": seeds::slots(slots) } });
    nothing_follows(&server, &process, |server| edit(server, &amount(4))).await;
    nothing_follows(&server, &process, |server| edit(server, &amount(1))).await;
    edit(&server, &pause(false));
    assert_eq!(process.settle().await, []);
    assert_eq!(paused(&server), None);
    assert_accepted(&server, 1, &HOSTS);
}

#[tokio::test(start_paused = true)]
async fn expiry_waits_and_so_does_deletion() {
    let (server, process) = two_paused_slots().await;
    let over = json!({ "spec": { "state": "expired" } });
    nothing_follows(&server, &process, |server| edit(server, &over)).await;
    nothing_follows(&server, &process, |server| {
        server.delete::<CommittedResource>(&names::commitment(UUID)).unwrap();
    })
    .await;
    edit(&server, &pause(false));
    assert_eq!(process.settle().await, []);
    assert_eq!(slots_and_hosts(&server), []);
    assert!(server.get::<CommittedResource>(&names::commitment(UUID)).is_err());
}

#[tokio::test(start_paused = true)]
async fn the_loss_of_hosts_and_of_the_flavor_groups_waits() {
    let (server, process) = two_paused_slots().await;
    nothing_follows(&server, &process, |server| {
        for (host, _) in HOSTS {
            server.delete::<Hypervisor>(host).unwrap();
        }
        server.delete::<Knowledge>(names::FLAVOR_GROUPS).unwrap();
    })
    .await;
    edit(&server, &pause(false));
    assert_eq!(process.settle().await, [], "the grace period starts with the next reconciliation");
    tokio::time::sleep(Duration::from_secs(901)).await;
    process.enqueue_all();
    assert_eq!(process.settle().await, []);
    assert!(slots_and_hosts(&server).iter().all(|(_, host)| host.is_none()), "{:?}", slots_and_hosts(&server));
}

#[tokio::test(start_paused = true)]
async fn a_hand_on_a_slot_is_not_corrected() {
    let (server, process) = two_paused_slots().await;
    let name = seeds::slot_name(UUID, 0);
    nothing_follows(&server, &process, |server| {
        server.edit::<Reservation>(&name, &json!({ "spec": { "targetHost": null } })).unwrap();
    })
    .await;
    edit(&server, &pause(false));
    assert_eq!(process.settle().await, []);
    assert_accepted(&server, 2, &HOSTS);
}

#[tokio::test(start_paused = true)]
async fn one_that_is_paused_from_the_start_reports_it_and_gets_nothing() {
    let clock = clock();
    let mut new = seeds::waiting_commitment(UUID, 2);
    new.metadata.annotations = Some([(labels::PAUSED.to_owned(), String::new())].into());
    let server = server(&clock, &HOSTS, &new);
    let process = Process::start(&server, &clock);
    assert_eq!(process.settle().await, []);
    let condition = ready(&server);
    assert_eq!((condition.reason.as_str(), condition.status.as_str()), ("Reserving", "False"));
    assert!(condition.message.starts_with("commitment is paused: "), "{condition:?}");
    assert_eq!(paused(&server).map(|condition| condition.reason).as_deref(), Some("Annotation"));
    assert_eq!(slots_and_hosts(&server), []);
    nothing_follows(&server, &process, |_| {}).await;
    edit(&server, &pause(false));
    assert_eq!(process.settle().await, []);
    assert_accepted(&server, 2, &HOSTS);
}

#[tokio::test(start_paused = true)]
async fn a_waiting_slot_that_is_paused_leaves_the_capacity_to_others() {
    let clock = clock();
    let server = server(&clock, &[("node1", 1)], &seeds::waiting_commitment(UUID, 2));
    let process = Process::start(&server, &clock);
    assert_eq!(process.settle().await, []);
    assert_eq!(process.world.scheduler.waiting_slots().len(), 1);
    edit(&server, &pause(true));
    assert_eq!(process.settle().await, []);
    assert_eq!(process.world.scheduler.waiting_slots(), [], "the slot is not in the waiting list");
    server.create(&seeds::host("node2", 1)).unwrap();
    assert_eq!(process.settle().await, []);
    assert_eq!(process.world.scheduler.assumed(), 0, "no capacity is kept for it");
    server.create(&seeds::waiting_commitment("uuid-2", 1)).unwrap();
    assert_eq!(process.settle().await, []);
    let hosts = slots_and_hosts(&server);
    assert!(hosts.contains(&(seeds::slot_name("uuid-2", 0), Some("node2".to_owned()))), "{hosts:?}");
    edit(&server, &pause(false));
    assert_eq!(process.settle().await, []);
    assert_eq!(process.world.scheduler.waiting_slots().len(), 1, "the slot waits again");
}

#[tokio::test(start_paused = true)]
async fn a_pause_in_the_middle_of_an_apply_stops_the_rest_of_it() {
    let clock = clock();
    let server = server(&clock, &[("node1", 40)], &seeds::waiting_commitment(UUID, 30));
    let process = Process::start(&server, &clock);
    let follower = process.world.clone();
    server.before(Verb::Create, &slots_path(), 3, move |server| {
        edit(server, &pause(true));
        follower.deliver().unwrap();
    });
    process.settle().await;
    let made = slots_and_hosts(&server).len();
    assert!((2..=16 + 3).contains(&made), "{made} slots: those whose requests were under way");
    assert!(paused(&server).is_some());
    assert_eq!(process.world.scheduler.assumed(), 0);
    edit(&server, &pause(false));
    assert_eq!(process.settle().await, []);
    assert_accepted(&server, 30, &[("node1", 40)]);
}
