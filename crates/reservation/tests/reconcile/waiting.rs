//! Slots without a host: how often they are tried, together with which others, and what the scheduler is asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use berth_cluster::{Action, ObjectKey, Reconciler as _, RequestClass};
use berth_core::ClusterName;
use berth_crds::{Knowledge, Reservation, names};
use berth_testkit::seeds;
use serde_json::json;

use crate::support::*;

const RETRY: Duration = Duration::from_secs(60);
const SLOTS: u64 = 20;

/// A full cloud in which the slots of a commitment wait, and a counter of the scheduler's answers.
async fn waiting() -> (Process, Arc<AtomicUsize>) {
    let process = begin(&[("node1", 1)]);
    (0..=SLOTS).for_each(|number| process.make(number, None));
    let answers = Arc::new(AtomicUsize::new(0));
    let counted = answers.clone();
    process.world.scheduler.on_answer(move |_, _| _ = counted.fetch_add(1, Ordering::SeqCst));
    assert_eq!(process.settle().await, []);
    (process, answers)
}

fn key(number: u64) -> ObjectKey {
    ObjectKey::new(ClusterName::home(), name(number))
}

fn placed(process: &Process) -> Vec<u64> {
    (0..=SLOTS).filter(|number| process.hosts(*number).0.is_some()).collect()
}

#[tokio::test(start_paused = true)]
async fn waiting_slots_are_not_tried_when_they_are_reconciled_and_one_of_them_has_the_timer() {
    let (process, answers) = waiting().await;
    assert_eq!(placed(&process), [0], "the first one by number");
    assert!((1..=SLOTS).all(|number| process.ready(number).reason == "NoHostsFound"));
    answers.store(0, Ordering::SeqCst);
    let mut timers = Vec::new();
    for number in 1..=SLOTS {
        match process.reconcile(number).await.unwrap() {
            Action::RequeueAfter(delay) => timers.push((number, delay)),
            Action::AwaitChange => {}
        }
    }
    assert_eq!(answers.load(Ordering::SeqCst), 0, "nothing has changed, so the scheduler is not asked");
    let [(timer, delay)] = timers[..] else { panic!("{timers:?}") };
    assert!(delay <= RETRY);
    tokio::time::sleep(delay).await;
    assert_eq!(process.reconcile(timer).await.unwrap(), Action::RequeueAfter(RETRY * 2));
    assert_eq!(answers.load(Ordering::SeqCst), 2, "all together, and itself");
    assert_eq!(process.settle().await, []);
    assert_eq!(answers.load(Ordering::SeqCst), 2, "the others only report the new outcome");
    process.rests().await;
}

/// For example because a filter is left out that removed all hosts.
#[tokio::test(start_paused = true)]
async fn another_pipeline_and_other_flavor_groups_make_all_of_them_due_at_once() {
    let (process, answers) = waiting().await;
    let spec = json!({ "schedulingDomain": "nova", "type": "filter-weigher" });
    let pipeline = json!({ "apiVersion": "cortex.cloud/v1alpha1", "kind": "Pipeline", "metadata": { "name": "other" },
                           "spec": spec });
    for change in ["pipeline", "flavor groups"] {
        answers.store(0, Ordering::SeqCst);
        if change == "pipeline" {
            process.world.server.create_raw(pipeline.clone()).unwrap();
        } else {
            let touched = json!({ "metadata": { "labels": { "touched": "once" } } });
            process.world.server.edit::<Knowledge>(names::FLAVOR_GROUPS, &touched).unwrap();
        }
        assert_eq!(process.settle().await, []);
        assert_eq!(answers.load(Ordering::SeqCst), 2, "{change}: all together, and the first one itself");
    }
    process.rests().await;
}

#[tokio::test(start_paused = true)]
async fn capacity_that_becomes_free_is_used_without_a_retry() {
    let (process, _) = waiting().await;
    process.world.server.create(&seeds::host("node2", 3)).unwrap();
    assert_eq!(process.settle().await, []);
    assert_eq!(placed(&process), [0, 1, 2, 3]);
    process.rests().await;
}

#[tokio::test(start_paused = true)]
async fn the_timer_moves_on_when_its_slot_gets_a_host_or_is_deleted() {
    let (process, _) = waiting().await;
    process.world.server.create(&seeds::host("node2", SLOTS - 2)).unwrap();
    assert_eq!(process.settle().await, []);
    assert_eq!(placed(&process).len() as u64, SLOTS - 1);
    let mut left: Vec<u64> = (0..=SLOTS).filter(|number| process.hosts(*number).0.is_none()).collect();
    while !left.is_empty() {
        let mut timers = Vec::new();
        for number in &left {
            if process.reconcile(*number).await.unwrap() != Action::AwaitChange {
                timers.push(*number);
            }
        }
        let [timer] = timers[..] else { panic!("{timers:?} of {left:?}") };
        process.world.server.delete::<Reservation>(&name(timer)).unwrap();
        assert_eq!(process.settle().await, []);
        left.retain(|number| *number != timer);
    }
}

#[tokio::test(start_paused = true)]
async fn a_restarted_process_tries_all_slots_of_a_commitment_together() {
    let (process, _) = waiting().await;
    let process = Process::start(&process.world.server, process.clock);
    let answers = Arc::new(AtomicUsize::new(0));
    let counted = answers.clone();
    process.world.scheduler.on_answer(move |_, _| _ = counted.fetch_add(1, Ordering::SeqCst));
    process.world.slots.add(process.slots.first_keys());
    assert_eq!(process.settle().await, []);
    assert_eq!(answers.load(Ordering::SeqCst), 2);
    assert_eq!(process.world.scheduler.waiting_slots().len() as u64, SLOTS);
}

#[tokio::test(start_paused = true)]
async fn slots_with_a_host_come_before_waiting_ones() {
    let (process, _) = waiting().await;
    assert_eq!(process.slots.request_class(&key(0)), RequestClass::Finish);
    assert_eq!(process.slots.request_class(&key(1)), RequestClass::Retry);
}
