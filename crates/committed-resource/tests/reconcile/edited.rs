//! The spec changes between plan and report: the status of a generation was planned for that generation.

use std::sync::Arc;

use berth_crds::{CommittedResource, names};
use berth_testkit::{Server, Verb, World, seeds};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::support::*;

const HOSTS: [(&str, u64); 2] = [("node1", 2), ("node2", 2)];

fn amount(slots: u64) -> Value {
    json!({ "spec": { "amount": seeds::slots(slots) } })
}

/// Before the nth such write a user edits the spec, and the store sees it in the middle of the reconciliation. Returns
/// a cell with the number of writes before the edit.
fn edit_before(world: &World, verb: Verb, nth: usize, patch: Value) -> Arc<Mutex<Option<usize>>> {
    let (at, follower) = (Arc::new(Mutex::new(None)), world.clone());
    let noted = at.clone();
    world.server.before(verb, &slots_path(), nth, move |server| {
        server.edit::<CommittedResource>(&names::commitment(UUID), &patch).unwrap();
        follower.deliver().unwrap();
        *noted.lock() = Some(server.log().len());
    });
    at
}

/// One reconciliation, in which the edit happens; no status that it writes may have the new generation or copy the new
/// spec.
async fn reconcile_stamps_nothing_new(process: &Process, server: &Server, at: &Mutex<Option<usize>>, generation: i64) {
    let before = commitment(server).status.and_then(|status| status.accepted_spec);
    let _ = process.reconcile().await;
    assert!(at.lock().is_some(), "the edit has happened");
    assert_eq!(commitment(server).metadata.generation, Some(generation));
    let status = commitment(server).status.unwrap_or_default();
    for condition in &status.conditions {
        assert_ne!(condition.observed_generation, Some(generation), "{condition:?}");
    }
    assert_eq!(status.accepted_spec, before);
}

async fn edited_while(verb: Verb, first: u64, second: u64, third: u64) {
    let clock = clock();
    let server = server(&clock, &HOSTS, &seeds::waiting_commitment(UUID, first));
    let process = Process::start(&server, &clock);
    assert_eq!(process.settle().await, []);
    server.edit::<CommittedResource>(&names::commitment(UUID), &amount(second)).unwrap();
    let nth = if verb == Verb::Create { 2 } else { 1 };
    let at = edit_before(&process.world, verb, nth, amount(third));
    reconcile_stamps_nothing_new(&process, &server, &at, 3).await;
    process.settle().await;
    assert_accepted(&server, usize::try_from(third).unwrap(), &HOSTS);
    process.settle_for_good().await;
}

#[tokio::test(start_paused = true)]
async fn an_edit_before_the_second_create() {
    edited_while(Verb::Create, 1, 3, 2).await;
}

#[tokio::test(start_paused = true)]
async fn an_edit_before_a_delete() {
    edited_while(Verb::Delete, 3, 1, 4).await;
}

#[tokio::test(start_paused = true)]
async fn an_edit_while_the_first_slots_are_made() {
    let clock = clock();
    let server = server(&clock, &HOSTS, &seeds::waiting_commitment(UUID, 3));
    let process = Process::start(&server, &clock);
    let at = edit_before(&process.world, Verb::Create, 2, amount(4));
    reconcile_stamps_nothing_new(&process, &server, &at, 2).await;
    process.settle().await;
    assert_accepted(&server, 4, &HOSTS);
}

#[tokio::test(start_paused = true)]
async fn an_edit_that_cannot_be_placed_is_rejected_and_the_old_amount_stays() {
    let clock = clock();
    let server = server(&clock, &HOSTS, &seeds::rejectable(UUID, 1));
    let process = Process::start(&server, &clock);
    assert_eq!(process.settle().await, []);
    server.edit::<CommittedResource>(&names::commitment(UUID), &amount(3)).unwrap();
    let at = edit_before(&process.world, Verb::Create, 2, amount(9));
    reconcile_stamps_nothing_new(&process, &server, &at, 3).await;
    process.settle().await;
    let condition = ready(&server);
    assert_eq!((condition.reason.as_str(), condition.observed_generation), ("Rejected", Some(3)), "{condition:?}");
    let accepted = commitment(&server).status.unwrap().accepted_spec.unwrap();
    assert_eq!(accepted.amount, seeds::slots(1).as_str().into());
    assert_eq!(slots_and_hosts(&server).len(), 1, "rolled back to the accepted spec");
    process.settle_for_good().await;
}

#[tokio::test(start_paused = true)]
async fn an_edit_just_before_the_status_that_the_store_has_not_seen() {
    let clock = clock();
    let server = server(&clock, &HOSTS, &seeds::waiting_commitment(UUID, 1));
    let process = Process::start(&server, &clock);
    assert_eq!(process.settle().await, []);
    server.edit::<CommittedResource>(&names::commitment(UUID), &amount(2)).unwrap();
    // The second status of this generation is the one that accepts it.
    server.before(Verb::PatchStatus, &commitment_path(), 2, |server| {
        server.edit::<CommittedResource>(&names::commitment(UUID), &amount(3)).unwrap();
    });
    server.before(Verb::PatchStatus, &commitment_path(), 3, |server| {
        let status = commitment(server).status.unwrap();
        assert_ne!(
            status.accepted_spec.unwrap().amount,
            seeds::slots(3).as_str().into(),
            "the new generation is not planned yet"
        );
    });
    process.settle().await;
    assert_accepted(&server, 3, &HOSTS);
}

#[tokio::test(start_paused = true)]
async fn a_commitment_that_goes_just_before_its_finalizer_gets_no_slots() {
    let clock = clock();
    let server = server(&clock, &HOSTS, &seeds::waiting_commitment(UUID, 2));
    let process = Process::start(&server, &clock);
    server.before(Verb::Patch, &commitment_path(), 1, |server| {
        server.delete::<CommittedResource>(&names::commitment(UUID)).unwrap();
    });
    let failures = process.settle().await;
    assert!(failures.len() <= 1, "{failures:?}");
    assert_eq!(slots_and_hosts(&server), []);
    process.settle_for_good().await;
}

/// No rule refused it when it was created.
#[tokio::test(start_paused = true)]
async fn an_old_commitment_that_ends_before_it_starts_gets_its_slots() {
    let clock = clock();
    let mut object = serde_json::to_value(seeds::waiting_commitment(UUID, 2)).unwrap();
    object["spec"]["startTime"] = json!("2027-03-01T00:00:00Z");
    object["spec"]["endTime"] = json!("2027-02-01T00:00:00Z");
    let server = server_with_raw(&clock, object);
    let process = Process::start(&server, &clock);
    assert_eq!(process.settle_for_good().await, []);
    assert_accepted(&server, 2, &[("node1", 2)]);
}
