//! Worked examples and rules of document 20 as whole looks of both controllers.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod support;

use std::sync::Arc;
use std::time::Duration;

use berth_cluster::testing::applied_raw;
use berth_cluster::{Action, Reconciler as _};
use berth_core::ClusterName;
use berth_crds::{CommittedResource, Knowledge, Reservation, names};
use berth_telemetry::clock::Clock;
use berth_testkit::{Fault, Server, Verb, seeds};
use serde_json::{Value, json};

use support::*;

/// A commitment of so many slots that is accepted on `node1`, which has room for so many.
async fn accepted(clock: &Arc<dyn Clock>, commitment: &CommittedResource, room: u64) -> (Server, Process) {
    let server = server(clock, &[("node1", room)], commitment);
    let process = Process::start(&server, clock);
    assert_eq!(process.settle().await, []);
    assert_eq!(ready(&server).reason, "Accepted");
    server.take_log();
    (server, process)
}

fn respec(server: &Server, change: &Value) {
    server.edit::<CommittedResource>(&names::commitment(UUID), &json!({ "spec": change })).unwrap();
}

fn slot(server: &Server, number: u64) -> Reservation {
    server.get(&seeds::slot_name(UUID, number)).unwrap()
}

/// A VM is expected in slot `number`.
fn expect_vm(server: &Server, number: u64) {
    let vm = json!({ "creationTimestamp": "2026-03-01T12:00:00Z", "resources": { "memory": "480Gi", "cpu": "30" } });
    let change = json!({ "spec": { "committedResourceReservation": { "allocations": { "vm-1": vm } } } });
    server.edit::<Reservation>(&seeds::slot_name(UUID, number), &change).unwrap();
}

/// The slots that there are, each with how many VMs are expected in it.
fn slots_with_vms(server: &Server) -> Vec<(String, usize)> {
    let vms = |slot: &Reservation| slot.spec.committed_resource_reservation.as_ref().map(|data| data.allocations.len());
    let all: Vec<Reservation> = server.all().unwrap();
    all.into_iter().map(|slot| (slot.metadata.name.clone().unwrap(), vms(&slot).unwrap())).collect()
}

fn told(server: &Server) -> (String, String) {
    let ready = ready(server);
    (ready.reason, ready.message)
}

/// With D13 slot 1 is not even created.
#[tokio::test(start_paused = true)]
async fn document_20_section_8_3_example_what_was_accepted_survives_untouched() {
    let clock = clock();
    let (server, process) = accepted(&clock, &seeds::rejectable(UUID, 1), 1).await;
    expect_vm(&server, 0);
    process.settle().await;
    let before = slot(&server, 0);
    server.take_log();
    respec(&server, &json!({ "amount": seeds::slots(2) }));
    assert_eq!(process.settle().await, []);
    let (reason, message) = told(&server);
    assert_eq!(reason, "Rejected");
    assert!(message.starts_with("insufficient capacity: 1/2 reservation slots could be placed"), "{message}");
    assert_eq!(slot(&server, 0).metadata.resource_version, before.metadata.resource_version);
    assert_eq!(server.take_log(), ["status committedresources/commitment-uuid-1"], "nothing else was written");
    let status = commitment(&server).status.unwrap();
    assert_eq!(status.accepted_spec.unwrap().amount.as_str(), seeds::slots(1));
    process.settle_for_good().await;
}

#[tokio::test(start_paused = true)]
async fn document_20_section_7_2_what_was_rolled_back_is_kept_up_without_a_word() {
    let clock = clock();
    let (server, process) = accepted(&clock, &seeds::rejectable(UUID, 1), 1).await;
    respec(&server, &json!({ "amount": seeds::slots(2) }));
    process.settle().await;
    let rejected = ready(&server);
    server.delete::<Reservation>(&seeds::slot_name(UUID, 0)).unwrap();
    assert_eq!(process.settle().await, []);
    let data = slot(&server, 0).spec.committed_resource_reservation.unwrap();
    assert_eq!(data.creator.as_deref(), Some("committed-resource-controller-rollback"));
    assert_eq!(data.parent_generation, Some(2), "document 20 section 8.3: the current generation");
    assert_eq!(slots_and_hosts(&server), [(seeds::slot_name(UUID, 0), Some("node1".to_owned()))]);
    assert_eq!(ready(&server), rejected);
    process.settle_for_good().await;
}

#[tokio::test(start_paused = true)]
async fn document_20_section_19_no_4_a_rollback_without_flavor_groups_destroys_nothing() {
    let clock = clock();
    let (server, process) = accepted(&clock, &seeds::rejectable(UUID, 1), 1).await;
    respec(&server, &json!({ "amount": seeds::slots(2) }));
    process.settle().await;
    drop(process);
    server.delete::<Knowledge>(names::FLAVOR_GROUPS).unwrap();
    server.take_log();
    let process = Process::start(&server, &clock);
    process.wake_everything();
    assert_eq!(process.settle().await, []);
    assert_eq!((server.take_log(), slots_and_hosts(&server).len()), (vec![], 1));
}

#[tokio::test(start_paused = true)]
async fn document_20_section_19_no_5_a_pending_commitment_keeps_what_was_accepted() {
    let clock = clock();
    let mut pending = seeds::rejectable(UUID, 1);
    pending.spec.state = berth_crds::CommitmentState::Pending;
    let (server, process) = accepted(&clock, &pending, 1).await;
    respec(&server, &json!({ "amount": seeds::slots(2) }));
    process.settle().await;
    assert_eq!((told(&server).0, slots_and_hosts(&server).len()), ("Rejected".to_owned(), 1));
    process.settle_for_good().await;
}

/// The rows of the lifecycle that one commitment can pass through.
#[tokio::test(start_paused = true)]
async fn document_20_section_5_1_lifecycle() {
    let clock = clock();
    let mut planned = seeds::patient(UUID, 2);
    planned.spec.state = berth_crds::CommitmentState::Planned;
    let server = server(&clock, &[("node1", 2)], &planned);
    let process = Process::start(&server, &clock);
    for (change, reason, held) in [
        (json!({}), "Planned", 0),
        (json!({ "state": "pending" }), "Accepted", 2),
        (json!({ "state": "guaranteed" }), "Accepted", 2),
        (json!({ "state": "confirmed", "amount": seeds::slots(1) }), "Accepted", 1),
        (json!({ "amount": seeds::slots(3) }), "Reserving", 3),
        (json!({ "allowRejection": true }), "Rejected", 1),
        (json!({ "amount": seeds::slots(2) }), "Accepted", 2),
        (json!({ "state": "planned" }), "Planned", 0),
        (json!({ "state": "confirmed" }), "Accepted", 2),
        (json!({ "state": "superseded" }), "superseded", 0),
        (json!({ "state": "confirmed" }), "Accepted", 2),
        (json!({ "state": "expired" }), "expired", 0),
        (json!({ "state": "confirmed", "endTime": "2026-03-01T11:59:59Z" }), "expired", 0),
    ] {
        respec(&server, &change);
        assert_eq!(process.settle().await, [], "{change}");
        let condition = ready(&server);
        assert_eq!((condition.reason.as_str(), slots_and_hosts(&server).len()), (reason, held), "{change}");
        assert_eq!(condition.observed_generation, commitment(&server).metadata.generation, "section 9.2");
        process.settle_for_good().await;
    }
}

#[tokio::test(start_paused = true)]
async fn document_20_section_19_no_2_and_11_the_end_comes_by_the_clock_and_leaves_vms_alone() {
    let clock = clock();
    let mut ending = seeds::patient(UUID, 2);
    ending.spec.end_time = Some("2026-03-01T12:05:00Z".parse().map(berth_crds::Time).unwrap());
    let (server, process) = accepted(&clock, &ending, 2).await;
    expect_vm(&server, 0);
    process.settle().await;
    let Action::RequeueAfter(wait) = process.reconcile().await.unwrap() else { panic!("no timer") };
    tokio::time::sleep(wait.saturating_sub(Duration::from_secs(2))).await;
    process.reconcile().await.unwrap();
    assert_eq!(told(&server).0, "Accepted", "not before the end");
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(process.reconcile().await.unwrap(), Action::AwaitChange);
    assert_eq!(told(&server), ("expired".to_owned(), "commitment is no longer active".to_owned()));
    assert_eq!(slots_and_hosts(&server), []);
    assert!(commitment(&server).status.unwrap().accepted_spec.is_some(), "section 6.2: it is kept");
    process.settle_for_good().await;
}

#[tokio::test(start_paused = true)]
async fn document_20_section_19_no_3_acceptance_sticks_while_a_slot_is_placed_anew() {
    let clock = clock();
    let (server, process) = accepted(&clock, &seeds::rejectable(UUID, 1), 1).await;
    server.delete::<berth_crds::Hypervisor>("node1").unwrap();
    let cleared = json!({ "spec": { "targetHost": null } });
    server.edit::<Reservation>(&seeds::slot_name(UUID, 0), &cleared).unwrap();
    assert_eq!(process.settle().await, []);
    let (reason, message) = told(&server);
    assert_eq!(reason, "Reserving", "{message}");
    assert!(commitment(&server).status.unwrap().accepted_spec.is_some());
    server.create(&seeds::host("node2", 1)).unwrap();
    assert_eq!(process.settle().await, []);
    assert_eq!(told(&server).0, "Accepted");
    process.settle_for_good().await;
}

#[tokio::test(start_paused = true)]
async fn document_20_section_19_no_21_a_slot_that_is_gone_already_is_no_failure() {
    let clock = clock();
    let (server, process) = accepted(&clock, &seeds::patient(UUID, 2), 2).await;
    let gone = seeds::slot_name(UUID, 0);
    server.before(Verb::Delete, &slot_path(0), 1, move |server| {
        server.delete::<Reservation>(&gone).unwrap();
    });
    respec(&server, &json!({ "state": "expired" }));
    assert_eq!(process.settle().await, []);
    assert_eq!((told(&server).0.as_str(), slots_and_hosts(&server).len()), ("expired", 0));
}

#[tokio::test(start_paused = true)]
async fn document_20_section_17_no_2_own_creates_that_the_watch_has_not_shown_are_not_made_twice() {
    let clock = clock();
    let server = server(&clock, &[("node1", 3)], &seeds::patient(UUID, 3));
    let process = Process::start(&server, &clock);
    process.reconcile().await.unwrap();
    server.take_log();
    for _ in 0..3 {
        process.commitments.reconcile(commitment_key()).await.unwrap();
    }
    assert_eq!(server.take_log(), [""; 0]);
    assert_eq!(slots_and_hosts(&server).len(), 3);
}

/// Slot 1 is empty and goes first; it gets a VM just before that, so another one has to go.
#[tokio::test(start_paused = true)]
async fn document_20_section_17_no_3_a_slot_that_gets_a_vm_meanwhile_is_not_deleted_as_an_empty_one() {
    let clock = clock();
    let (server, process) = accepted(&clock, &seeds::patient(UUID, 2), 2).await;
    respec(&server, &json!({ "amount": seeds::slots(1) }));
    server.before(Verb::Delete, &slot_path(1), 1, |server| expect_vm(server, 1));
    let failures = process.settle().await;
    assert_eq!(failures.len(), 1, "the deletion of slot 1 is refused: {failures:?}");
    assert_eq!(slots_with_vms(&server), [(seeds::slot_name(UUID, 1), 1)], "the one with the VM");
    assert_eq!(told(&server).0, "Accepted");
}

/// U44: of two slots of one size the last goes first, unless a VM is expected in it.
#[tokio::test(start_paused = true)]
async fn document_20_section_12_3_a_commitment_that_shrinks_gives_up_the_empty_slot() {
    let clock = clock();
    let (server, process) = accepted(&clock, &seeds::patient(UUID, 2), 2).await;
    expect_vm(&server, 1);
    assert_eq!(process.settle().await, []);
    respec(&server, &json!({ "amount": seeds::slots(1) }));
    assert_eq!(process.settle().await, []);
    assert_eq!(slots_with_vms(&server), [(seeds::slot_name(UUID, 1), 1)]);
    assert_eq!(told(&server).0, "Accepted");
    process.settle_for_good().await;
}

/// U37: what the API server refuses does not reject, although the commitment may be rejected.
#[tokio::test(start_paused = true)]
async fn document_20_section_12_9_an_error_in_the_middle_undoes_nothing_and_the_next_look_completes() {
    let clock = clock();
    let hosts = [("node1", 3)];
    let server = server(&clock, &hosts, &seeds::rejectable(UUID, 3));
    let process = Process::start(&server, &clock);
    server.fail(Verb::Create, &slot_path(1), 1, Fault::Forbidden);
    process.reconcile().await.unwrap_err();
    let (reason, message) = told(&server);
    assert_eq!(reason, "Reserving");
    assert!(message.contains("commitment-uuid-1-1"), "{message}");
    assert!(slots_and_hosts(&server).iter().any(|(name, _)| name.ends_with("-0")), "what was created stays");
    process.settle().await;
    assert_accepted(&server, 3, &hosts);
}

/// U45: the slot found no host for the first generation. Nobody has looked for one for the second, when there is room.
#[tokio::test(start_paused = true)]
async fn document_20_section_7_3_what_a_slot_says_of_an_earlier_generation_rejects_nobody() {
    let clock = clock();
    let server = server(&clock, &[("node1", 1)], &seeds::patient(UUID, 2));
    let process = Process::start(&server, &clock);
    process.settle().await;
    assert!(told(&server).1.starts_with("insufficient capacity: 1/2"), "{:?}", told(&server));
    drop(process);
    respec(&server, &json!({ "allowRejection": true }));
    server.create(&seeds::host("node2", 1)).unwrap();
    let process = Process::start(&server, &clock);
    process.wake_everything();
    process.reconcile().await.unwrap();
    assert_eq!(told(&server), ("Reserving".to_owned(), "waiting for reservation placement".to_owned()));
    assert_eq!(process.settle().await, []);
    assert_accepted(&server, 2, &[("node1", 1), ("node2", 1)]);
}

/// U47: what cannot be read is there. It may come back, and until then it holds its room for its commitment.
#[tokio::test(start_paused = true)]
async fn u47_a_slot_that_cannot_be_read_is_neither_replaced_nor_held_against_its_commitment() {
    let clock = clock();
    let (server, process) = accepted(&clock, &seeds::rejectable(UUID, 2), 3).await;
    let mut broken = serde_json::to_value(slot(&server, 0)).unwrap();
    broken["spec"]["type"] = json!("FromTheFuture");
    broken["metadata"]["resourceVersion"] = json!((server.version() + 1).to_string());
    applied_raw(&process.world.stores.reservations, &ClusterName::home(), broken).unwrap();
    assert_eq!(process.settle().await, []);
    assert_eq!((server.take_log(), told(&server).0.as_str()), (vec![], "Accepted"));
}
