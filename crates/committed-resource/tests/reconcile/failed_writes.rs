//! Each way in which a write of a reconciliation can fail, and the status of the commitment in the meantime.

use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{Classified, ErrorClass, ObjectKey, Reconciler as _};
use berth_crds::{CommittedResource, Reservation, names};
use berth_telemetry::clock::Clock;
use berth_testkit::{Fault, Server, Verb, seeds};
use serde_json::json;
use tokio::time::Instant;

use crate::support::*;

const HOSTS: [(&str, u64); 2] = [("node1", 2), ("node2", 2)];

fn begin(clock: &Arc<dyn Clock>) -> (Server, Process) {
    let server = server(clock, &HOSTS, &seeds::waiting_commitment(UUID, 3));
    let process = Process::start(&server, clock);
    (server, process)
}

/// The number of sent creations whose path has this prefix.
fn creates_sent(server: &Server, path: &str) -> usize {
    server.log().iter().filter(|write| write.verb == Verb::Create && write.path.starts_with(path)).count()
}

fn statuses_sent(server: &Server) -> usize {
    server.log().iter().filter(|write| write.verb == Verb::PatchStatus && write.path == commitment_path()).count()
}

#[tokio::test(start_paused = true)]
async fn a_conflict_is_no_status_and_another_reconciliation_soon() {
    let clock = clock();
    let (server, process) = begin(&clock);
    server.fail(Verb::Patch, &commitment_path(), 1, Fault::Conflict);
    let error = process.reconcile().await.unwrap_err();
    assert_eq!((error.class(), statuses_sent(&server)), (ErrorClass::Conflict, 0), "{error}");
    assert_eq!(slots_and_hosts(&server), [], "the finalizer comes before the first slot");
    assert_eq!(process.settle().await, []);
    assert_accepted(&server, 3, &HOSTS);
}

#[tokio::test(start_paused = true)]
async fn a_conflict_at_a_slot_is_no_status_and_another_reconciliation_soon() {
    let clock = clock();
    let (server, process) = begin(&clock);
    assert_eq!(process.settle().await, []);
    server.edit::<CommittedResource>(&names::commitment(UUID), &json!({ "spec": { "projectID": "other" } })).unwrap();
    server
        .edit::<CommittedResource>(&names::commitment(UUID), &json!({ "spec": { "amount": seeds::slots(1) } }))
        .unwrap();
    server.take_log();
    server.fail(Verb::Delete, &slots_path(), 1, Fault::Conflict);
    let error = process.reconcile().await.unwrap_err();
    assert_eq!((error.class(), statuses_sent(&server)), (ErrorClass::Conflict, 0), "{error}");
    process.settle().await;
    assert_accepted(&server, 1, &HOSTS);
}

#[tokio::test(start_paused = true)]
async fn a_foreign_object_of_that_name_is_read_and_its_number_left_out() {
    let clock = clock();
    let (server, process) = begin(&clock);
    let mut foreign = berth_crds::testing::slot("somebody-else", 7);
    foreign.metadata.name = Some(seeds::slot_name(UUID, 1));
    foreign.spec.committed_resource_reservation = None;
    foreign.spec.failover_reservation = Some(berth_crds::reservation::FailoverReservationSpec::default());
    foreign.spec.type_ = berth_crds::ReservationType::FailoverReservation;
    // The store of this process has not seen it yet.
    server.create(&foreign).unwrap();
    let error = process.commitments.reconcile(commitment_key()).await.unwrap_err();
    assert_eq!((error.class(), statuses_sent(&server)), (ErrorClass::Conflict, 0), "{error}");
    assert_eq!(process.settle().await, []);
    assert_eq!(ready(&server).reason, "Accepted");
    let names: Vec<_> = slots_and_hosts(&server).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, [0, 1, 2, 3].map(|number| seeds::slot_name(UUID, number)));
    assert_eq!(creates_sent(&server, &slot_path(1)), 1, "and there is no second attempt");
    assert_not_overbooked(&server, &HOSTS);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_reported_and_ends_with_its_cause() {
    let clock = clock();
    let (server, process) = begin(&clock);
    server.fail_always(Verb::Create, &slots_path(), Fault::Forbidden);
    let error = process.reconcile().await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Transient, "{error}");
    let condition = ready(&server);
    assert_eq!(condition.reason, "Reserving");
    assert!(condition.message.contains("403"), "{}", condition.message);
    assert_eq!(process.world.scheduler.assumed(), 0, "nothing was changed, so no capacity stays taken");
    server.heal();
    process.settle().await;
    assert_accepted(&server, 3, &HOSTS);
}

/// The creation of one slot of three fails with an unknown outcome.
async fn in_doubt(fault: Fault) {
    let clock = clock();
    let (server, process) = begin(&clock);
    server.fail(Verb::Create, &slot_path(1), 1, fault);
    let error = process.reconcile().await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Conflict, "{error}");
    assert_eq!(process.world.scheduler.doubts().len(), 1, "its capacity counts as taken until it is read again");
    assert_eq!(process.settle().await, []);
    assert_accepted(&server, 3, &HOSTS);
    assert_eq!((process.world.scheduler.doubts().len(), process.world.scheduler.assumed()), (0, 0));
    let sent = creates_sent(&server, &slots_path());
    assert_eq!(sent, if fault == Fault::LoseAnswer { 3 } else { 4 }, "existing slots are not created again");
}

#[tokio::test(start_paused = true)]
async fn an_error_of_the_server_is_read_again_before_anything_else() {
    in_doubt(Fault::Internal).await;
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_read_again_and_nothing_made_twice() {
    in_doubt(Fault::LoseAnswer).await;
}

#[tokio::test(start_paused = true)]
async fn a_hanging_call_ends_after_four_seconds_in_doubt() {
    let clock = clock();
    let (server, process) = begin(&clock);
    server.fail(Verb::Create, &slot_path(1), 1, Fault::Hang);
    let started_at = Instant::now();
    let error = process.reconcile().await.unwrap_err();
    assert_eq!((error.class(), started_at.elapsed()), (ErrorClass::Conflict, Duration::from_secs(4)), "{error}");
    assert_eq!(process.world.scheduler.doubts().len(), 1);
    assert_eq!(process.settle().await, []);
    assert_accepted(&server, 3, &HOSTS);
}

/// The slot gets a host, and the outcome of that write is unknown.
async fn place_in_doubt(server: &Server, process: &Process, slot: &ObjectKey, fault: Fault) {
    server.fail(Verb::Patch, &slot_path(1), 1, fault);
    for _ in 0..5 {
        process.world.deliver().unwrap();
        if process.slots.reconcile(slot.clone()).await.is_err() {
            break;
        }
    }
    assert_eq!(process.world.scheduler.doubts().len(), 1, "{fault:?}");
}

#[tokio::test(start_paused = true)]
async fn a_doubt_ends_when_the_host_that_the_later_write_gave_is_known() {
    let clock = clock();
    let (server, process) = begin(&clock);
    assert_eq!(process.settle().await, []);
    let slot = ObjectKey::new("home".into(), seeds::slot_name(UUID, 1));
    server.edit::<Reservation>(&slot.name, &json!({ "spec": { "targetHost": null } })).unwrap();
    place_in_doubt(&server, &process, &slot, Fault::Internal).await;
    // The controller of commitments is told late that the slot has no host.
    server.fail(Verb::Get, &slot_path(1), 1, Fault::Slow { before: Duration::ZERO, after: Duration::from_secs(2) });
    let commitments = process.commitments.clone();
    let reading = tokio::spawn(async move { commitments.reconcile(commitment_key()).await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    place_in_doubt(&server, &process, &slot, Fault::LoseAnswer).await;
    let _ = reading.await.unwrap();
    let known = process.world.stores.reservations.get(&slot).unwrap();
    assert!(known.spec.target_host.is_some() && process.world.scheduler.doubts().is_empty());
    process.settle().await;
    assert_accepted(&server, 3, &HOSTS);
}

#[tokio::test(start_paused = true)]
async fn a_create_that_takes_effect_after_the_object_was_read_keeps_its_capacity() {
    let (clock, host) = (clock(), [("node1", 1)]);
    let server = server(&clock, &host, &seeds::waiting_commitment(UUID, 1));
    let process = Process::start(&server, &clock);
    let by = Duration::from_secs(2);
    server.fail(Verb::Create, &slot_path(0), 1, Fault::Late { by });
    process.reconcile().await.unwrap_err();
    let slot = ObjectKey::new("home".into(), seeds::slot_name(UUID, 0));
    process.world.writer(&process.world.stores.reservations).settle(&slot).await.unwrap();
    process.world.end_settled_doubts();
    server.create(&seeds::waiting_commitment("uuid-2", 1)).unwrap();
    process.world.deliver().unwrap();
    let other = ObjectKey::new("home".into(), names::commitment("uuid-2"));
    let _ = process.commitments.reconcile(other).await;
    tokio::time::sleep(by * 2).await;
    assert_not_overbooked(&server, &host);
    process.settle().await;
    let (first, second) = (seeds::slot_name(UUID, 0), seeds::slot_name("uuid-2", 0));
    assert_eq!(slots_and_hosts(&server), [(first, Some("node1".to_owned())), (second, None)]);
    assert_eq!(ready(&server).reason, "Accepted");
}

#[tokio::test(start_paused = true)]
async fn a_rejection_that_takes_effect_late_does_not_replace_an_acceptance() {
    let clock = clock();
    let server = server(&clock, &[("node1", 2)], &seeds::rejectable(UUID, 3));
    let process = Process::start(&server, &clock);
    let by = Duration::from_secs(2);
    server.fail(Verb::PatchStatus, &commitment_path(), 1, Fault::Late { by });
    process.reconcile().await.unwrap_err();
    assert!(statuses_sent(&server) == 1 && slots_and_hosts(&server).is_empty());
    server.create(&seeds::host("node2", 2)).unwrap();
    process.settle().await;
    assert_accepted(&server, 3, &HOSTS);
    tokio::time::sleep(by * 2).await;
    assert_eq!(ready(&server).reason, "Accepted");
    assert_eq!(process.settle().await, []);
    assert_accepted(&server, 3, &HOSTS);
}

#[tokio::test(start_paused = true)]
async fn an_object_in_the_way_that_cannot_be_read_keeps_the_capacity() {
    let clock = clock();
    let (server, process) = begin(&clock);
    let mut slot = berth_crds::testing::slot(UUID, 1);
    slot.metadata.name = Some(seeds::slot_name(UUID, 1));
    // The store of this process has not seen it yet.
    server.create(&slot).unwrap();
    server.fail(Verb::Get, &slot_path(1), 1, Fault::Unavailable);
    process.commitments.reconcile(commitment_key()).await.unwrap_err();
    assert_eq!(process.world.scheduler.doubts().len(), 1);
    process.settle().await;
    assert_eq!(ready(&server).reason, "Accepted");
    assert_eq!((process.world.scheduler.doubts().len(), process.world.scheduler.assumed()), (0, 0));
    assert_not_overbooked(&server, &HOSTS);
}

#[tokio::test(start_paused = true)]
async fn a_commitment_whose_writes_stay_in_doubt_reports_that_it_is_reserving() {
    let clock = clock();
    let (server, process) = begin(&clock);
    server.fail_always(Verb::Create, &slots_path(), Fault::Internal);
    for _ in 0..4 {
        process.reconcile().await.unwrap_err();
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(ready(&server).reason, "Reserving");
    assert!(slots_and_hosts(&server).is_empty());
    server.heal();
    process.settle().await;
    assert_accepted(&server, 3, &HOSTS);
}

#[tokio::test(start_paused = true)]
async fn a_failed_status_is_written_by_the_next_reconciliation() {
    for fault in [Fault::Conflict, Fault::Forbidden, Fault::Internal, Fault::LoseAnswer, Fault::Hang] {
        let clock = clock();
        let (server, process) = begin(&clock);
        server.fail(Verb::PatchStatus, &commitment_path(), 1, fault);
        process.reconcile().await.unwrap_err();
        assert_eq!(process.settle().await, [], "{fault:?}");
        assert_accepted(&server, 3, &HOSTS);
        process.settle_for_good().await;
    }
}
