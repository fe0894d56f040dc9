//! The disruption limit: disruption that no user asked for stops before a region is cleared, and continues when its
//! cause is gone or a user confirms.

use std::time::Duration;

use berth_cluster::{Disruption, ObjectKey, Requester, Stopped};
use berth_core::ClusterName;
use berth_crds::conditions::safety::{DISRUPTION_LIMITED, UNKNOWN_TO_LIMES};
use berth_crds::conditions::{find, is_ready};
use berth_crds::{CommittedResource, Condition, Hypervisor, Knowledge, Reservation, labels, names, testing};
use berth_testkit::{Server, seeds};
use serde_json::{Value, json};

use crate::support::*;

/// Thirty slots on three hosts, in a zone that may lose twenty within ten minutes.
const HOSTS: [(&str, u64); 3] = [("node1", 10), ("node2", 10), ("node3", 10)];

const GRACE: Duration = Duration::from_secs(901);
const WINDOW: Duration = Duration::from_secs(600);

async fn thirty_slots() -> (Server, Process) {
    let clock = clock();
    let server = server(&clock, &HOSTS, &seeds::waiting_commitment(UUID, 30));
    let process = Process::start(&server, &clock);
    assert_eq!(process.settle().await, []);
    assert_accepted(&server, 30, &HOSTS);
    (server, process)
}

fn slots(server: &Server) -> Vec<Reservation> {
    server.all().unwrap()
}

fn disruption_limited(slot: &Reservation) -> Option<&Condition> {
    find(&slot.status.as_ref()?.conditions, DISRUPTION_LIMITED)
}

/// The number of slots with the condition `DisruptionLimited`, after everything was reconciled once more.
async fn held_back(server: &Server, process: &Process) -> usize {
    process.enqueue_all();
    assert_eq!(process.settle().await, []);
    slots(server).iter().filter(|slot| disruption_limited(slot).is_some()).count()
}

async fn after(time: Duration, process: &Process) {
    tokio::time::sleep(time).await;
    process.enqueue_all();
    assert_eq!(process.settle().await, []);
}

async fn lose(server: &Server, process: &Process, hosts: &[&str]) {
    for host in hosts {
        server.delete::<Hypervisor>(host).unwrap();
    }
    assert_eq!(process.settle().await, []);
    after(GRACE, process).await;
}

fn annotate(server: &Server, until: &str) {
    let patch = json!({ "metadata": { "annotations": { labels::CONFIRM_DISRUPTION: until } } });
    server.edit::<Knowledge>(names::FLAVOR_GROUPS, &patch).unwrap();
}

fn on_hosts(server: &Server) -> usize {
    slots_and_hosts(server).iter().filter(|(_, host)| host.is_some()).count()
}

#[tokio::test(start_paused = true)]
async fn a_cluster_full_of_vanished_hosts_moves_nothing_and_reports_it_once() {
    let (server, process) = thirty_slots().await;
    let before = slots_and_hosts(&server);
    lose(&server, &process, &["node1", "node2", "node3"]).await;
    assert_eq!(slots_and_hosts(&server), before, "not even the first twenty are moved");
    let all = slots(&server);
    for slot in &all {
        let condition = disruption_limited(slot).expect("the slot has the condition");
        assert_eq!((condition.status.as_str(), condition.reason.as_str()), ("True", "HostMissing"));
        let text = "at least 21 of 30 slots of zone eu-test-1a would be moved or deleted within 10 minutes, and only 20 \
                    may be; it is not applied before the cause is gone or a user confirms it: kubectl annotate --overwrite \
                    knowledge flavor-groups reservations.cortex.cloud/confirm-disruption=";
        assert!(condition.message.starts_with(text), "{condition:?}");
        assert!(is_ready(&slot.status.as_ref().unwrap().conditions), "the slot still counts");
    }
    assert_eq!(ready(&server).reason, "Accepted");
    let reported = condition_of_the_commitment(&server).expect("the commitment has the condition");
    assert_eq!((reported.status.as_str(), reported.reason.as_str()), ("True", "HostMissing"));
    assert!(reported.message.contains("at least 21 of 30 slots"), "{reported:?}");
    process.settle_for_good().await;
    after(WINDOW * 3, &process).await;
    assert_eq!(slots_and_hosts(&server), before, "time alone is no reason");
}

#[tokio::test(start_paused = true)]
async fn an_event_of_the_commitment_says_once_that_its_slots_are_held_back() {
    let (server, _) = thirty_slots().await;
    let process = Process::start_with_events(&server, &clock());
    lose(&server, &process, &["node1", "node2", "node3"]).await;
    process.enqueue_all();
    assert_eq!(process.settle().await, []);
    let events = process.world.server.published_events().await;
    let start = "Warning DisruptionLimited commitment-uuid-1 at least 21 of 30 slots of zone eu-test-1a would be moved";
    assert_eq!(events.iter().filter(|event| event.starts_with(start)).count(), 1, "{events:#?}");
}

#[tokio::test(start_paused = true)]
async fn when_the_hosts_are_back_nothing_is_left_of_the_stop() {
    let (server, process) = thirty_slots().await;
    lose(&server, &process, &["node1", "node2", "node3"]).await;
    for (host, free) in HOSTS {
        server.create(&seeds::host(host, free)).unwrap();
    }
    assert_eq!(process.settle().await, [], "the hosts enqueue their slots");
    assert!(slots(&server).iter().all(|slot| disruption_limited(slot).is_none()));
    assert_eq!(condition_of_the_commitment(&server), None);
    assert_accepted(&server, 30, &HOSTS);
    process.settle_for_good().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_left_goes_on_when_enough_hosts_are_back() {
    let (server, process) = thirty_slots().await;
    lose(&server, &process, &["node1", "node2", "node3"]).await;
    server.create(&seeds::host("node1", 10)).unwrap();
    assert_eq!(held_back(&server, &process).await, 0, "twenty are missing, and twenty may be moved");
    assert_eq!(on_hosts(&server), 10);
}

#[tokio::test(start_paused = true)]
async fn a_confirmation_enqueues_what_is_stopped_and_lets_it_go() {
    let (server, process) = thirty_slots().await;
    lose(&server, &process, &["node1", "node2", "node3"]).await;
    annotate(&server, "2026-03-09T12:00:00Z");
    assert_eq!(process.settle().await, []);
    assert_eq!(on_hosts(&server), 30, "a confirmation too far in the future is ignored");
    annotate(&server, "2026-03-01T13:00:00Z");
    assert_eq!(process.settle().await, []);
    assert_eq!(on_hosts(&server), 0, "{:?}", slots_and_hosts(&server));
    assert!(slots(&server).iter().all(|slot| disruption_limited(slot).is_none()));
}

#[tokio::test(start_paused = true)]
async fn what_is_below_the_limit_moves_and_the_sum_of_ten_minutes_counts() {
    let (server, process) = thirty_slots().await;
    lose(&server, &process, &["node1", "node2"]).await;
    assert_eq!(on_hosts(&server), 10, "twenty may be moved");
    server.delete::<Hypervisor>("node3").unwrap();
    assert_eq!(process.settle().await, []);
    after(Duration::from_secs(590), &process).await;
    assert_eq!((on_hosts(&server), held_back(&server, &process).await), (10, 0), "the grace is not over");
    after(Duration::from_secs(320), &process).await;
    assert_eq!(on_hosts(&server), 0, "the first twenty have left the window");
}

fn cores(vcpus: u64) -> Value {
    let specs = json!({ "quota:hw_version": testing::GROUP, "capabilities:hypervisor_type": "QEMU" });
    let flavor = json!({ "name": testing::FLAVOR, "vcpus": vcpus, "memoryMB": 480 * 1024, "diskGB": 64,
                         "extraSpecs": specs });
    let group = json!({ "name": testing::GROUP, "ramCoreRatio": 16384, "flavors": [flavor],
                        "largestFlavor": flavor, "smallestFlavor": flavor });
    json!({ "status": { "raw": { "features": [group] } } })
}

fn publish(server: &Server, status: &Value) {
    server.edit_status::<Knowledge>(names::FLAVOR_GROUPS, status).unwrap();
}

fn condition_of_the_commitment(server: &Server) -> Option<Condition> {
    find(&commitment(server).status.unwrap().conditions, DISRUPTION_LIMITED).cloned()
}

#[tokio::test(start_paused = true)]
async fn flavors_that_suddenly_have_more_cores_do_not_clear_full_hosts() {
    let (server, process) = thirty_slots().await;
    let before = slots_and_hosts(&server);
    publish(&server, &cores(60));
    assert_eq!(process.settle().await, []);
    assert_eq!(slots_and_hosts(&server), before);
    let condition = condition_of_the_commitment(&server).expect("the commitment has the condition");
    assert_eq!(condition.reason, "SlotsOfWrongShape");
    assert!(condition.message.starts_with("at least 21 of 30 slots of zone eu-test-1a"), "{condition:?}");
    assert_eq!(ready(&server).reason, "Accepted", "the promised slots are still there");
    let of_slots = || slots(&server).iter().filter_map(|slot| Some(disruption_limited(slot)?.reason.clone())).collect();
    let expected: Vec<String> = vec!["SlotsOfWrongShape".to_owned(); 30];
    assert_eq!(expected, of_slots());
    assert_eq!(process.world.scheduler.assumed(), 0);
    process.settle_for_good().await;
    publish(&server, &cores(30));
    assert_eq!(process.settle().await, []);
    assert_eq!((condition_of_the_commitment(&server), of_slots()), (None, vec![]));
    assert_accepted(&server, 30, &HOSTS);
}

/// What the syncer asks for when Limes does not list the commitment any more.
fn ask_for_the_end(process: &Process, slots: std::ops::Range<u64>) -> Result<(), Stopped> {
    let slot = |number| ObjectKey::new(ClusterName::home(), format!("{}-{number}", names::commitment(UUID)));
    let plan = Disruption { zone: testing::ZONE.to_owned(), cause: UNKNOWN_TO_LIMES, slots: slots.map(slot).collect() };
    let outcome = process.commitments.context().disruption_limit.ask(&syncer(), &plan, []);
    process.world.commitments.add([commitment_key()]);
    outcome
}

fn syncer() -> Requester {
    Requester::of::<CommittedResource>(&commitment_key()).because(UNKNOWN_TO_LIMES)
}

#[tokio::test(start_paused = true)]
async fn a_commitment_that_the_syncer_may_not_end_shows_it_and_stays_accepted() {
    let (server, process) = thirty_slots().await;
    assert!(ask_for_the_end(&process, 0..30).is_err());
    assert_eq!(process.settle().await, []);
    let reported = condition_of_the_commitment(&server).expect("the commitment has the condition");
    assert_eq!((reported.status.as_str(), reported.reason.as_str()), ("True", "UnknownToLimes"));
    let start =
        "three complete lists of Limes do not have the commitment, and yet it is not ended: at least 21 of 30 slots";
    assert!(reported.message.starts_with(start), "{reported:?}");
    assert!(slots(&server).iter().all(|slot| disruption_limited(slot).is_none()), "no slot is held back by itself");
    assert_accepted(&server, 30, &HOSTS);
    process.settle_for_good().await;
    assert_eq!(ask_for_the_end(&process, 0..5), Ok(()));
    assert_eq!(process.settle().await, []);
    assert_eq!(condition_of_the_commitment(&server), None);
}

#[tokio::test(start_paused = true)]
async fn what_stops_its_own_plan_is_shown_before_what_stops_the_syncer() {
    let (server, process) = thirty_slots().await;
    assert!(ask_for_the_end(&process, 0..30).is_err());
    publish(&server, &cores(60));
    assert_eq!(process.settle().await, []);
    assert_eq!(condition_of_the_commitment(&server).unwrap().reason, "SlotsOfWrongShape");
    publish(&server, &cores(30));
    assert_eq!(process.settle().await, []);
    assert_eq!(condition_of_the_commitment(&server).unwrap().reason, "UnknownToLimes");
}

#[tokio::test(start_paused = true)]
async fn a_commitment_that_is_gone_holds_no_zone_any_more() {
    let (server, process) = thirty_slots().await;
    assert!(ask_for_the_end(&process, 0..30).is_err());
    server.delete::<CommittedResource>(&names::commitment(UUID)).unwrap();
    assert_eq!(process.settle().await, []);
    assert_eq!(process.commitments.context().disruption_limit.stopped(&syncer()), None);
}

#[tokio::test(start_paused = true)]
async fn a_new_amount_that_waits_for_the_disruption_limit_is_reported() {
    let (server, process) = thirty_slots().await;
    publish(&server, &cores(60));
    assert_eq!(process.settle().await, []);
    let amount = json!({ "spec": { "amount": seeds::slots(29) } });
    server.edit::<CommittedResource>(&names::commitment(UUID), &amount).unwrap();
    assert_eq!(process.settle().await, []);
    let reported = ready(&server);
    assert_eq!((reported.reason.as_str(), reported.observed_generation), ("Reserving", Some(2)));
    assert!(reported.message.starts_with("held back by the disruption limit: at least 21 of 30 slots"), "{reported:?}");
    assert_eq!(slots_and_hosts(&server).len(), 30, "nothing of the plan is applied");
}

#[tokio::test(start_paused = true)]
async fn both_controllers_share_one_window() {
    let (server, process) = thirty_slots().await;
    lose(&server, &process, &["node1"]).await;
    assert_eq!(on_hosts(&server), 20, "ten have moved");
    publish(&server, &cores(60));
    assert_eq!(process.settle().await, []);
    assert_eq!(on_hosts(&server), 20, "and twenty more would be too many");
    assert_eq!(condition_of_the_commitment(&server).map(|mark| mark.reason).as_deref(), Some("SlotsOfWrongShape"));
    after(WINDOW, &process).await;
    assert_eq!(condition_of_the_commitment(&server), None, "twenty in ten minutes are allowed");
}

#[tokio::test(start_paused = true)]
async fn a_renamed_group_and_an_emptied_knowledge_move_nothing() {
    let (server, process) = thirty_slots().await;
    let before: Vec<_> = slots(&server).into_iter().map(|slot| slot.spec).collect();
    let renamed = json!({ "name": "renamed", "ramCoreRatio": 16384, "flavors": [] });
    for features in [json!([renamed]), json!([]), Value::Null] {
        publish(&server, &json!({ "status": { "raw": { "features": features } } }));
        process.settle().await;
        after(GRACE * 2, &process).await;
        assert_eq!(slots(&server).into_iter().map(|slot| slot.spec).collect::<Vec<_>>(), before, "{features}");
    }
    publish(&server, &cores(30));
    assert_eq!(process.settle().await, []);
    assert_accepted(&server, 30, &HOSTS);
}

#[tokio::test(start_paused = true)]
async fn the_window_is_memory_and_begins_anew_with_a_process() {
    let (server, process) = thirty_slots().await;
    lose(&server, &process, &["node1", "node2", "node3"]).await;
    drop(process);
    let clock = clock();
    let process = Process::start(&server, &clock);
    process.enqueue_all();
    assert_eq!(process.settle().await, []);
    assert_eq!(held_back(&server, &process).await, 30, "the condition stays; the grace has started again");
}
