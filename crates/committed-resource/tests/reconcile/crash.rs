//! The process ends between any two writes, and another one continues: nothing leaks, and nothing is taken twice.

use std::sync::Arc;

use berth_crds::{CommittedResource, names};
use berth_telemetry::clock::Clock;
use berth_testkit::{Fault, Server, Verb, seeds};
use serde_json::json;

use crate::support::*;

const HOSTS: [(&str, u64); 2] = [("node1", 2), ("node2", 2)];

/// Runs until this many writes have taken effect.
async fn run_until(server: &Server, process: Process, writes: usize) {
    server.stop_after(writes);
    tokio::select! {
        biased;
        () = server.stopped() => {}
        _ = process.settle() => panic!("fewer than {writes} writes"),
    }
    drop(process);
    server.heal();
}

/// A process for which the amount of the commitment has just become this many slots; with `before` it was accepted with
/// that many.
async fn changed(before: Option<u64>, after: usize) -> (Arc<dyn Clock>, Server, Process) {
    let (clock, amount) = (clock(), u64::try_from(after).unwrap());
    let server = server(&clock, &HOSTS, &seeds::waiting_commitment(UUID, before.unwrap_or(amount)));
    let process = Process::start(&server, &clock);
    if before.is_some() {
        assert_eq!(process.settle().await, []);
        let patch = json!({ "spec": { "amount": seeds::slots(amount) } });
        server.edit::<CommittedResource>(&names::commitment(UUID), &patch).unwrap();
    }
    (clock, server, process)
}

/// The change without a crash, then with one after each number of writes.
async fn with_crashes(before: Option<u64>, after: usize) {
    let (_, server, process) = changed(before, after).await;
    let version = server.version();
    process.settle().await;
    assert_accepted(&server, after, &HOSTS);
    for writes in 0..=usize::try_from(server.version() - version).unwrap() {
        let (clock, server, first) = changed(before, after).await;
        run_until(&server, first, writes).await;
        assert_not_overbooked(&server, &HOSTS);
        let second = Process::start(&server, &clock);
        assert_eq!(second.settle().await, [], "after {writes} writes");
        assert_accepted(&server, after, &HOSTS);
        second.settle_for_good().await;
        assert_eq!(second.world.scheduler.assumed(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_crash_between_any_two_writes_of_the_first_placement() {
    with_crashes(None, 3).await;
}

#[tokio::test(start_paused = true)]
async fn a_crash_between_any_two_writes_of_growing() {
    with_crashes(Some(1), 3).await;
}

#[tokio::test(start_paused = true)]
async fn a_crash_between_any_two_writes_of_shrinking() {
    with_crashes(Some(3), 1).await;
}

#[tokio::test(start_paused = true)]
async fn a_crash_between_any_two_writes_of_a_deletion_leaks_no_slot() {
    for crash_after in 0..=4 {
        let clock = clock();
        let server = server(&clock, &HOSTS, &seeds::waiting_commitment(UUID, 3));
        let first = Process::start(&server, &clock);
        assert_eq!(first.settle().await, []);
        server.delete::<CommittedResource>(&names::commitment(UUID)).unwrap();
        run_until(&server, first, crash_after).await;
        let second = Process::start(&server, &clock);
        assert_eq!(second.settle().await, []);
        assert_eq!(slots_and_hosts(&server), [], "after {crash_after} writes");
        assert_eq!(server.all::<CommittedResource>().unwrap(), []);
    }
}

#[tokio::test(start_paused = true)]
async fn a_reconciliation_that_is_cut_off_while_it_creates_slots_holds_their_hosts_until_they_were_read_again() {
    let clock = clock();
    let server = server(&clock, &HOSTS, &seeds::waiting_commitment(UUID, 1));
    let process = Process::start(&server, &clock);
    server.fail(Verb::Create, &slot_path(0), 1, Fault::Hang);
    let cut = std::time::Duration::from_secs(1);
    assert!(tokio::time::timeout(cut, process.reconcile()).await.is_err());
    assert_eq!(process.world.scheduler.assumed(), 1, "the slot may exist");
    assert_eq!(process.world.scheduler.doubts().len(), 1);
    assert_eq!(process.settle().await, []);
    assert_accepted(&server, 1, &HOSTS);
    process.settle_for_good().await;
    assert_eq!(process.world.scheduler.assumed(), 0);
}
