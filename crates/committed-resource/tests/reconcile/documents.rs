//! Worked examples as whole reconciliations of both controllers.

use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{Action, Reconciler as _};
use berth_crds::{CommittedResource, Knowledge, Reservation, names};
use berth_telemetry::clock::Clock;
use berth_testkit::{Fault, Server, Verb, seeds};
use serde_json::{Value, json};

use crate::support::*;

/// A commitment of this many slots that is accepted on `node1`, which has free capacity for `free`.
async fn accepted(clock: &Arc<dyn Clock>, commitment: &CommittedResource, free: u64) -> (Server, Process) {
    let server = server(clock, &[("node1", free)], commitment);
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

fn expect_vm(server: &Server, number: u64) {
    let vm = json!({ "creationTimestamp": "2026-03-01T12:00:00Z", "resources": { "memory": "480Gi", "cpu": "30" } });
    let change = json!({ "spec": { "committedResourceReservation": { "allocations": { "vm-1": vm } } } });
    server.edit::<Reservation>(&seeds::slot_name(UUID, number), &change).unwrap();
}

/// The existing slots, each with the number of VMs in its allocations.
fn slots_with_vms(server: &Server) -> Vec<(String, usize)> {
    let vms = |slot: &Reservation| slot.spec.committed_resource_reservation.as_ref().map(|data| data.allocations.len());
    let all: Vec<Reservation> = server.all().unwrap();
    all.into_iter().map(|slot| (slot.metadata.name.clone().unwrap(), vms(&slot).unwrap())).collect()
}

fn reported(server: &Server) -> (String, String) {
    let ready = ready(server);
    (ready.reason, ready.message)
}

/// Slot 1 is not even created, because a commitment is placed as a whole.
#[tokio::test(start_paused = true)]
async fn example_what_was_accepted_survives_untouched() {
    let clock = clock();
    let (server, process) = accepted(&clock, &seeds::rejectable(UUID, 1), 1).await;
    expect_vm(&server, 0);
    process.settle().await;
    let before = slot(&server, 0);
    server.take_log();
    respec(&server, &json!({ "amount": seeds::slots(2) }));
    assert_eq!(process.settle().await, []);
    let (reason, message) = reported(&server);
    assert_eq!(reason, "Rejected");
    assert!(message.starts_with("insufficient capacity: 1/2 reservation slots could be placed"), "{message}");
    assert_eq!(slot(&server, 0).metadata.resource_version, before.metadata.resource_version);
    assert_eq!(server.take_log(), ["status committedresources/commitment-uuid-1"], "nothing else was written");
    let status = commitment(&server).status.unwrap();
    assert_eq!(status.accepted_spec.unwrap().amount.as_str(), seeds::slots(1));
    process.settle_for_good().await;
}

#[tokio::test(start_paused = true)]
async fn what_was_rolled_back_is_kept_up_without_a_word() {
    let clock = clock();
    let (server, process) = accepted(&clock, &seeds::rejectable(UUID, 1), 1).await;
    respec(&server, &json!({ "amount": seeds::slots(2) }));
    process.settle().await;
    let rejected = ready(&server);
    server.delete::<Reservation>(&seeds::slot_name(UUID, 0)).unwrap();
    assert_eq!(process.settle().await, []);
    let data = slot(&server, 0).spec.committed_resource_reservation.unwrap();
    assert_eq!(data.creator.as_deref(), Some("committed-resource-controller-rollback"));
    assert_eq!(data.parent_generation, Some(2), "the current generation");
    assert_eq!(slots_and_hosts(&server), [(seeds::slot_name(UUID, 0), Some("node1".to_owned()))]);
    assert_eq!(ready(&server), rejected);
    process.settle_for_good().await;
}

#[tokio::test(start_paused = true)]
async fn a_rollback_without_flavor_groups_destroys_nothing() {
    let clock = clock();
    let (server, process) = accepted(&clock, &seeds::rejectable(UUID, 1), 1).await;
    respec(&server, &json!({ "amount": seeds::slots(2) }));
    process.settle().await;
    drop(process);
    server.delete::<Knowledge>(names::FLAVOR_GROUPS).unwrap();
    server.take_log();
    let process = Process::start(&server, &clock);
    process.enqueue_all();
    assert_eq!(process.settle().await, []);
    assert_eq!((server.take_log(), slots_and_hosts(&server).len()), (vec![], 1));
}

#[tokio::test(start_paused = true)]
async fn a_pending_commitment_keeps_what_was_accepted() {
    let clock = clock();
    let mut pending = seeds::rejectable(UUID, 1);
    pending.spec.state = berth_crds::CommitmentState::Pending;
    let (server, process) = accepted(&clock, &pending, 1).await;
    respec(&server, &json!({ "amount": seeds::slots(2) }));
    process.settle().await;
    assert_eq!((reported(&server).0, slots_and_hosts(&server).len()), ("Rejected".to_owned(), 1));
    process.settle_for_good().await;
}

/// The rows of the lifecycle that one commitment can pass through.
#[tokio::test(start_paused = true)]
async fn a_commitment_goes_through_its_states() {
    let clock = clock();
    let mut planned = seeds::waiting_commitment(UUID, 2);
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
        assert_eq!(condition.observed_generation, commitment(&server).metadata.generation);
        process.settle_for_good().await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_end_comes_by_the_clock_and_leaves_vms_alone() {
    let clock = clock();
    let mut ending = seeds::waiting_commitment(UUID, 2);
    ending.spec.end_time = Some("2026-03-01T12:05:00Z".parse().map(berth_crds::Time).unwrap());
    let (server, process) = accepted(&clock, &ending, 2).await;
    expect_vm(&server, 0);
    process.settle().await;
    let Action::RequeueAfter(wait) = process.reconcile().await.unwrap() else { panic!("no requeue") };
    tokio::time::sleep(wait.saturating_sub(Duration::from_secs(2))).await;
    process.reconcile().await.unwrap();
    assert_eq!(reported(&server).0, "Accepted", "not before the end");
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(process.reconcile().await.unwrap(), Action::AwaitChange);
    assert_eq!(reported(&server), ("expired".to_owned(), "commitment is no longer active".to_owned()));
    assert_eq!(slots_and_hosts(&server), []);
    assert!(commitment(&server).status.unwrap().accepted_spec.is_some(), "the slot is kept");
    process.settle_for_good().await;
}

#[tokio::test(start_paused = true)]
async fn acceptance_sticks_while_a_slot_is_placed_anew() {
    let clock = clock();
    let (server, process) = accepted(&clock, &seeds::rejectable(UUID, 1), 1).await;
    server.delete::<berth_crds::Hypervisor>("node1").unwrap();
    let cleared = json!({ "spec": { "targetHost": null } });
    server.edit::<Reservation>(&seeds::slot_name(UUID, 0), &cleared).unwrap();
    assert_eq!(process.settle().await, []);
    let (reason, message) = reported(&server);
    assert_eq!(reason, "Reserving", "{message}");
    assert!(commitment(&server).status.unwrap().accepted_spec.is_some());
    server.create(&seeds::host("node2", 1)).unwrap();
    assert_eq!(process.settle().await, []);
    assert_eq!(reported(&server).0, "Accepted");
    process.settle_for_good().await;
}

#[tokio::test(start_paused = true)]
async fn a_slot_that_is_gone_already_is_no_failure() {
    let clock = clock();
    let (server, process) = accepted(&clock, &seeds::waiting_commitment(UUID, 2), 2).await;
    let gone = seeds::slot_name(UUID, 0);
    server.before(Verb::Delete, &slot_path(0), 1, move |server| {
        server.delete::<Reservation>(&gone).unwrap();
    });
    respec(&server, &json!({ "state": "expired" }));
    assert_eq!(process.settle().await, []);
    assert_eq!((reported(&server).0.as_str(), slots_and_hosts(&server).len()), ("expired", 0));
}

#[tokio::test(start_paused = true)]
async fn own_creates_that_the_watch_has_not_shown_are_not_made_twice() {
    let clock = clock();
    let server = server(&clock, &[("node1", 3)], &seeds::waiting_commitment(UUID, 3));
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
async fn a_slot_that_gets_a_vm_meanwhile_is_not_deleted_as_an_empty_one() {
    let clock = clock();
    let (server, process) = accepted(&clock, &seeds::waiting_commitment(UUID, 2), 2).await;
    respec(&server, &json!({ "amount": seeds::slots(1) }));
    server.before(Verb::Delete, &slot_path(1), 1, |server| expect_vm(server, 1));
    let failures = process.settle().await;
    assert_eq!(failures.len(), 1, "the deletion of slot 1 is refused: {failures:?}");
    assert_eq!(slots_with_vms(&server), [(seeds::slot_name(UUID, 1), 1)], "the slot with the VM");
    assert_eq!(reported(&server).0, "Accepted");
}

/// Of two slots of one size the last goes first, unless it expects a VM.
#[tokio::test(start_paused = true)]
async fn commitment_that_shrinks_gives_up_the_empty_slot() {
    let clock = clock();
    let (server, process) = accepted(&clock, &seeds::waiting_commitment(UUID, 2), 2).await;
    expect_vm(&server, 1);
    assert_eq!(process.settle().await, []);
    respec(&server, &json!({ "amount": seeds::slots(1) }));
    assert_eq!(process.settle().await, []);
    assert_eq!(slots_with_vms(&server), [(seeds::slot_name(UUID, 1), 1)]);
    assert_eq!(reported(&server).0, "Accepted");
    process.settle_for_good().await;
}

/// A refusal of the API server does not reject the commitment, although it allows rejection.
#[tokio::test(start_paused = true)]
async fn an_error_in_the_middle_undoes_nothing_and_the_next_reconciliation_completes() {
    let clock = clock();
    let hosts = [("node1", 3)];
    let server = server(&clock, &hosts, &seeds::rejectable(UUID, 3));
    let process = Process::start(&server, &clock);
    server.fail(Verb::Create, &slot_path(1), 1, Fault::Forbidden);
    process.reconcile().await.unwrap_err();
    let (reason, message) = reported(&server);
    assert_eq!(reason, "Reserving");
    assert!(message.contains("commitment-uuid-1-1"), "{message}");
    assert!(slots_and_hosts(&server).iter().any(|(name, _)| name.ends_with("-0")), "created slots stay");
    process.settle().await;
    assert_accepted(&server, 3, &hosts);
}

/// The slot found no host for the first generation. None was searched for the second, when there is free capacity.
#[tokio::test(start_paused = true)]
async fn what_a_slot_reports_of_an_earlier_generation_does_not_reject() {
    let clock = clock();
    let server = server(&clock, &[("node1", 1)], &seeds::waiting_commitment(UUID, 2));
    let process = Process::start(&server, &clock);
    process.settle().await;
    assert!(reported(&server).1.starts_with("insufficient capacity: 1/2"), "{:?}", reported(&server));
    drop(process);
    respec(&server, &json!({ "allowRejection": true }));
    server.create(&seeds::host("node2", 1)).unwrap();
    let process = Process::start(&server, &clock);
    process.enqueue_all();
    process.reconcile().await.unwrap();
    assert_eq!(reported(&server), ("Reserving".to_owned(), "waiting for reservation placement".to_owned()));
    assert_eq!(process.settle().await, []);
    assert_accepted(&server, 2, &[("node1", 1), ("node2", 1)]);
}

/// A slot that cannot be decoded exists and is reported. It may become valid again, and until then its capacity is kept
/// for its commitment.
#[tokio::test(start_paused = true)]
async fn a_slot_that_cannot_be_read_is_neither_replaced_nor_held_against_its_commitment() {
    let clock = clock();
    let (server, process) = accepted(&clock, &seeds::rejectable(UUID, 2), 3).await;
    let broken = json!({ "spec": { "type": "FromTheFuture" } });
    server.edit_raw(&slots_path(), &seeds::slot_name(UUID, 0), &broken).unwrap();
    assert_eq!(process.settle().await, []);
    let reports = vec!["status reservations/commitment-uuid-1-0".to_owned()];
    assert_eq!((server.take_log(), reported(&server).0.as_str()), (reports, "Accepted"));
}
