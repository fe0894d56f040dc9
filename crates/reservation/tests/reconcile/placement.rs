//! How a slot without a host gets one, step by step, and its condition when a step fails.

use std::time::Duration;

use berth_cluster::{Action, Classified, ErrorClass, ObjectKey, Reconciler as _};
use berth_core::ClusterName;
use berth_crds::{Hypervisor, Knowledge, Reservation, names};
use berth_scheduler::{Pipelines, Scheduler as _};
use berth_testkit::Verb;
use serde_json::json;

use crate::support::*;

const RETRY: Action = Action::RequeueAfter(Duration::from_secs(60));

/// Slot 0 without a host, reconciled once: its condition, and whether it has read its commitment.
async fn reported(process: &Process) -> (String, String, String) {
    process.make(0, None);
    assert_eq!(process.reconcile(0).await.unwrap(), RETRY, "no burst of attempts");
    let (ready, status) = (process.ready(0), process.slot(0).status.unwrap());
    assert_eq!(
        status.committed_resource_reservation.unwrap().observed_parent_generation,
        Some(1),
        "the watch event of its own write"
    );
    assert_eq!(ready.observed_generation, process.slot(0).metadata.generation);
    (ready.status, ready.reason, ready.message)
}

fn condition(status: &str, reason: &str, message: &str) -> (String, String, String) {
    (status.to_owned(), reason.to_owned(), message.to_owned())
}

#[tokio::test(start_paused = true)]
async fn unreadable_flavor_groups_are_unknown_and_keep_the_commitment_waiting() {
    let process = begin(&[("node1", 1)]);
    process.world.server.delete::<Knowledge>(names::FLAVOR_GROUPS).unwrap();
    // A process that never read any.
    let process = Process::start(&process.world.server, process.clock);
    let (status, reason, message) = reported(&process).await;
    assert_eq!((status.as_str(), reason.as_str()), ("Unknown", "FlavorDataUnavailable"));
    assert!(message.starts_with("flavor groups are not available: "), "{message}");
}

#[tokio::test(start_paused = true)]
async fn an_unknown_flavor_is_final_until_the_flavor_groups_change() {
    let process = begin(&[("node1", 1)]);
    process.make(1, None);
    let nameless = json!({ "spec": { "committedResourceReservation": { "resourceName": "other" } } });
    process.edit(1, &nameless);
    process.reconcile(1).await.unwrap();
    let ready = process.ready(1);
    assert_eq!((ready.status.as_str(), ready.reason.as_str()), ("False", "FlavorNotFound"));
    assert_eq!(ready.message, format!("flavor other not found in flavor group {}", berth_crds::testing::GROUP));
}

#[tokio::test(start_paused = true)]
async fn without_any_hypervisor() {
    let expected = condition("False", "NoHostsAvailable", "no hypervisors available for scheduling");
    assert_eq!(reported(&begin(&[])).await, expected);
}

#[tokio::test(start_paused = true)]
async fn a_scheduler_that_cannot_decide_is_unknown() {
    let process = begin(&[("node1", 1)]);
    process.world.scheduler.set_pipelines(Pipelines::default());
    let (status, reason, message) = reported(&process).await;
    assert_eq!((status.as_str(), reason.as_str()), ("Unknown", "SchedulerUnavailable"));
    assert!(message.contains("pipeline not found or not ready"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn no_host_is_left() {
    let process = begin(&[("node1", 0)]);
    let expected = condition("False", "NoHostsFound", "no hosts found for reservation: 1 host; capacity 1");
    assert_eq!(reported(&process).await, expected);
    process.rests().await;
}

/// The second reconciliation writes host and condition at once, so a slot without a host takes two writes, not three.
#[tokio::test(start_paused = true)]
async fn a_host_is_one_patch_of_the_spec_and_the_next_reconciliation_confirms_it() {
    let process = begin(&[("node1", 1)]);
    process.make(0, None);
    process.reconcile(0).await.unwrap();
    let log = process.world.server.log();
    let [patch] = &log[..] else { panic!("{log:?}") };
    assert_eq!((patch.verb, &patch.body["spec"]), (Verb::Patch, &json!({ "targetHost": "node1" })));
    assert_eq!(process.slot(0).status, None, "spec and status are never written in one reconciliation");
    process.reconcile(0).await.unwrap();
    assert_eq!(process.ready(0).reason, "ReservationActive");
    process.rests().await;
}

#[tokio::test(start_paused = true)]
async fn a_slot_that_is_gone_meanwhile_is_no_failure() {
    let process = begin(&[("node1", 1)]);
    process.make(0, None);
    process.world.server.before(Verb::Patch, &path(0), 1, |server| {
        server.delete::<Reservation>(&name(0)).unwrap();
    });
    process.reconcile(0).await.unwrap();
    assert_eq!((process.settle().await, process.world.scheduler.assumed()), (vec![], 0));
}

#[tokio::test(start_paused = true)]
async fn a_revoked_slot_reports_it_and_is_placed_anew() {
    let process = begin(&[("node1", 1)]);
    process.make(0, Some("node1"));
    process.settle().await;
    process.edit(0, &json!({ "spec": { "targetHost": null } }));
    process.reconcile(0).await.unwrap();
    let ready = process.ready(0);
    let expected = condition("False", "PlacementRevoked", "target host was cleared; pending re-placement");
    assert_eq!((ready.status, ready.reason, ready.message), expected);
    assert_eq!(process.hosts(0), (None, None), "the capacity of the status is released");
    assert_eq!(process.settle().await, []);
    assert_eq!(process.ready(0).reason, "ReservationActive");
}

#[tokio::test(start_paused = true)]
async fn a_slot_that_was_made_around_a_vm() {
    let process = begin(&[("node1", 1)]);
    let mut slot = berth_crds::testing::slot(UUID, 0);
    slot.spec.target_host = Some("node1".to_owned());
    let vm = json!({ "creationTimestamp": "2026-03-01T08:00:00Z", "resources": { "memory": "480Gi", "cpu": "30" } });
    let data = slot.spec.committed_resource_reservation.as_mut().unwrap();
    data.allocations.insert("vm-1".to_owned(), serde_json::from_value(vm).unwrap());
    process.world.server.create(&slot).unwrap();
    process.reconcile(0).await.unwrap();
    let ready = process.ready(0);
    let expected = condition("True", "PreAllocated", "reservation pre-allocated with VM allocations");
    assert_eq!((ready.status, ready.reason, ready.message), expected);
    assert_eq!(process.hosts(0).1.as_deref(), Some("node1"));
}

#[tokio::test(start_paused = true)]
async fn a_slot_that_is_not_ready_where_it_is_does_not_move() {
    let process = begin(&[("node1", 1), ("node2", 5)]);
    process.make(0, Some("node1"));
    process.settle().await;
    let by_hand = json!([{ "type": "Ready", "status": "False", "reason": "ByHand", "message": "",
                           "lastTransitionTime": "2026-03-01T08:00:00Z" }]);
    let change = json!({ "status": { "conditions": by_hand } });
    process.world.server.edit_status::<Reservation>(&name(0), &change).unwrap();
    assert_eq!(process.settle().await, []);
    assert_eq!((process.hosts(0).0.as_deref(), process.ready(0).reason.as_str()), (Some("node1"), "ReservationActive"));
}

/// Nothing of the first write has been seen when the second slot asks.
#[tokio::test(start_paused = true)]
async fn two_slots_back_to_back_on_a_stale_cache_never_share_capacity() {
    let process = begin(&[("node1", 1)]);
    process.make(0, None);
    process.make(1, None);
    process.world.deliver().unwrap();
    for number in [0, 1] {
        process.slots.reconcile(ObjectKey::new(ClusterName::home(), name(number))).await.unwrap();
    }
    let placed = [0, 1].map(|number| process.slot(number).spec.target_host);
    assert_eq!(placed, [Some("node1".to_owned()), None]);
    assert_eq!(process.settle().await, [], "a placed slot that is not ready blocks");
    assert_eq!(process.hosts(1), (None, None));
}

/// A VM that was booked in the meantime is read before anything is removed.
#[tokio::test(start_paused = true)]
async fn revocation_rests_on_what_was_read() {
    let process = begin(&[("node1", 1)]);
    process.make(0, Some("node1"));
    process.settle().await;
    process.world.server.delete::<Hypervisor>("node1").unwrap();
    process.reconcile(0).await.unwrap();
    tokio::time::sleep(GRACE).await;
    process.world.server.before(Verb::Patch, &path(0), 1, |server| {
        server.edit::<Reservation>(&name(0), &json!({ "metadata": { "labels": { "test": "edited" } } })).unwrap();
    });
    assert_eq!(process.reconcile(0).await.unwrap_err().class(), ErrorClass::Conflict);
    assert_eq!(process.slot(0).spec.target_host.as_deref(), Some("node1"));
    process.settle().await;
    assert_eq!(process.ready(0).reason, "NoHostsAvailable");
}

/// Until the VM has arrived, it blocks the source host and the target host.
#[tokio::test(start_paused = true)]
async fn slot_on_its_way_keeps_the_capacity_that_it_leaves() {
    let process = begin(&[("node1", 1), ("node2", 1)]);
    process.make(0, Some("node1"));
    process.settle().await;
    process.send_to(0, "node2");
    process.make(1, None);
    process.reconcile(1).await.unwrap();
    assert_eq!((process.hosts(1), process.ready(1).reason.as_str()), ((None, None), "NoHostsFound"));
    assert_eq!(process.settle().await, []);
    assert_eq!((process.hosts(0), process.hosts(1)), (on("node2"), on("node1")));
    process.rests().await;
}

#[tokio::test(start_paused = true)]
async fn a_slot_is_placed_as_soon_as_its_commitment_was_planned_and_says_nothing_before() {
    let process = begin(&[("node1", 1)]);
    let scheduler = &process.world.scheduler;
    scheduler.commitment_changed(&UUID.into(), [("uid".to_owned(), 1)].into());
    process.make(0, None);
    assert_eq!(process.settle().await, []);
    assert_eq!((process.hosts(0), process.slot(0).status), ((None, None), None));
    scheduler.planned(&UUID.into(), "uid", 1);
    assert_eq!(process.settle().await, []);
    assert_eq!(process.hosts(0), on("node1"));
    process.rests().await;
}
