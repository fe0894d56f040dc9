mod documents;

use berth_core::host::ConditionStatus;
use berth_core::slot::Slot;
use berth_core::testing::{at, spec};
use serde_json::json;

use super::*;
use crate::block_reason::UnreadableHost;
use crate::facts::{Served, Site};
use crate::plan::Verdict;
use crate::plan::tests::{FreeSlots, decided, facts, no_groups, now, partial, ready_condition, site, slot, unread};

const DELAYS: Delays = Delays { retry: Duration::from_secs(30), cap: Duration::from_secs(1800) };

const REFRESH: Duration = DELAYS.retry;

fn reported(after: &CommitmentFacts, decided: &CommitmentDecision) -> CommitmentReport {
    report(after, decided, DELAYS, now())
}

fn condition_of(report: &CommitmentReport) -> (bool, Reason, String) {
    let ready = report.ready.clone().unwrap();
    (ready.ready, ready.reason, ready.text())
}

fn object(status: &serde_json::Value) -> CommittedResource {
    serde_json::from_value(json!({
        "apiVersion": "cortex.cloud/v1alpha1", "kind": "CommittedResource",
        "metadata": {"name": "commitment-uuid-1", "generation": 2},
        "spec": {"commitmentUUID": "uuid-1", "flavorGroupName": "amber", "resourceType": "memory", "amount": "60Gi",
            "availabilityZone": "az-a", "projectID": "p", "domainID": "d", "state": "confirmed"},
        "status": status
    }))
    .unwrap()
}

fn reserving(message: &str) -> CommitmentReady {
    CommitmentReady::no(Reason::Reserving, message)
}

#[test]
fn all_slots_in_force_is_accepted_and_reconciled_again_after_the_end() {
    let mut after = facts("60Gi", vec![slot(0, 60, 15, Some("h"))]);
    after.spec.end = Some(at(100));
    let decided = decided(&mut after, &FreeSlots::of(0));
    let report = reported(&after, &decided);
    assert_eq!(condition_of(&report), (true, Reason::Accepted, "commitment successfully reserved".to_owned()));
    assert_eq!(report.requeue_after, Some(Duration::from_secs(101)));
}

#[test]
fn a_plan_of_which_slots_are_left_goes_on_after_the_pause() {
    let mut after = facts("120Gi", vec![slot(0, 60, 15, Some("h"))]);
    let decided = decided(&mut after, &FreeSlots::of(0));
    let paced = Some(crate::PacedCreates { slots: 0, requeue_after: Some(Duration::from_secs(7)) });
    let decided = CommitmentDecision { shortage: None, is_delayed: true, paced, ..decided };
    let report = reported(&after, &decided);
    let waiting = (false, Reason::Reserving, "waiting for reservation placement".to_owned());
    assert_eq!(condition_of(&report), waiting, "although all existing slots are ready");
    assert_eq!(report.requeue_after, Some(Duration::from_secs(7)));
}

#[test]
fn slots_on_their_way_are_waited_for_with_a_requeue() {
    let mut on_the_way = slot(0, 60, 15, Some("h"));
    (on_the_way.ready, on_the_way.status_host) = (None, None);
    let mut after = facts("60Gi", vec![on_the_way]);
    let decided = decided(&mut after, &FreeSlots::of(0));
    let report = reported(&after, &decided);
    assert_eq!(condition_of(&report), (false, Reason::Reserving, "waiting for reservation placement".to_owned()));
    assert_eq!(report.requeue_after, Some(DELAYS.cap));
}

#[test]
fn the_cause_is_named_that_keeps_a_slot_from_being_placed() {
    let text = "the scheduler cannot decide at the moment: external scheduler returned status 500: boom";
    let mut without_host = slot(0, 60, 15, None);
    without_host.ready = Some((ConditionStatus::Unknown, "SchedulerUnavailable".to_owned()));
    let mut after = CommitmentFacts { undecided: Some(text.to_owned()), ..facts("60Gi", vec![without_host]) };
    let decided = decided(&mut after, &FreeSlots::of(0));
    let report = reported(&after, &decided);
    assert_eq!(condition_of(&report), (false, Reason::Reserving, text.to_owned()));
    after.undecided = None;
    assert_eq!(condition_of(&reported(&after, &decided)).2, "waiting for reservation placement", "it recovered");
}

#[test]
fn own_creates_that_are_not_visible_yet_are_waited_for() {
    let mut before = facts("120Gi", vec![slot(0, 60, 15, Some("h"))]);
    let decided = decided(&mut before, &FreeSlots::of(1));
    let report = reported(&before, &decided);
    assert_eq!(condition_of(&report).2, "waiting for reservation placement", "one slot is ready, two are planned");
}

/// For example after a restart, when the slots are tried after their commitment.
#[test]
fn numbers_that_are_not_known_yet_are_fetched_after_the_retry_interval() {
    let mut failed = slot(0, 60, 15, None);
    failed.ready = Some((ConditionStatus::False, "NoHostsFound".to_owned()));
    let long_ago = Some(ready_condition(ConditionStatus::False, Reason::Reserving, "insufficient capacity", 900));
    let mut after = CommitmentFacts { ready: long_ago, ..facts("60Gi", vec![failed]) };
    let decided = decided(&mut after, &FreeSlots::of(0));
    let report = reported(&after, &decided);
    assert_eq!(condition_of(&report).2, "insufficient capacity: 0/1 reservation slots could be placed");
    assert_eq!(report.requeue_after, Some(DELAYS.retry));
    after.shortage = Some(berth_scheduler::Shortage { hosts: 24, ..berth_scheduler::Shortage::default() });
    assert!(reported(&after, &decided).requeue_after > Some(DELAYS.retry), "they are known");
}

#[test]
fn new_generation_is_reported_again() {
    let ready = CommitmentReady::no(Reason::Planned, Message::NotYetActive);
    let old = object(&json!({"conditions": [{"type": "Ready", "status": "False", "reason": "Planned",
        "message": "commitment is not yet active", "observedGeneration": 1,
        "lastTransitionTime": "2026-03-01T00:00:00Z"}]}));
    let condition = status(&old, &ready, REFRESH, now()).conditions.remove(0);
    assert_eq!(condition.observed_generation, Some(2));
    assert!(condition.last_transition_time.0 < now(), "same reason: the time of the transition is kept");
}

#[test]
fn a_refused_whole_is_rejected_with_numbers() {
    let mut before = facts("150Gi", vec![slot(0, 60, 15, Some("h"))]);
    before.spec.allow_rejection = true;
    let decided = decided(&mut before, &FreeSlots::of(1));
    let text = "insufficient capacity: 2/3 reservation slots could be placed: 24 hosts; zone 16, capacity 8";
    assert_eq!(condition_of(&reported(&before, &decided)), (false, Reason::Rejected, text.to_owned()));
}

#[test]
fn without_rejection_it_is_tried_again() {
    let mut before = facts("150Gi", vec![slot(0, 60, 15, Some("h"))]);
    let decided = decided(&mut before, &FreeSlots::of(1));
    let mut without_host = slot(2, 30, 10, None);
    without_host.parent_generation = 1;
    let mut after = facts("150Gi", vec![slot(0, 60, 15, Some("h")), slot(1, 60, 15, Some("h0")), without_host]);
    after.ready = Some(ready_condition(ConditionStatus::False, Reason::Reserving, "insufficient capacity", 45));
    let report = reported(&after, &decided);
    let text = "insufficient capacity: 2/3 reservation slots could be placed: 24 hosts; zone 16, capacity 8";
    assert_eq!(condition_of(&report), (false, Reason::Reserving, text.to_owned()));
    assert_eq!(report.requeue_after, Some(Duration::from_secs(60)), "doubled once after 45 s");
}

#[test]
fn a_zone_without_hosts_reports_what_to_change() {
    let mut before = facts("60Gi", vec![]);
    let mut decided = decided(&mut before, &FreeSlots::of(0));
    decided.shortage.as_mut().unwrap().zone_is_empty = true;
    let (_, _, text) = condition_of(&reported(&before, &decided));
    let expected = "24 hosts; zone 16, capacity 8; no host is in zone az-a, correct spec.availabilityZone or label hosts \
                    with it";
    assert!(text.ends_with(expected), "{text}");
}

#[test]
fn a_known_lack_is_reported_also_of_what_was_accepted() {
    let blocked = CommitmentDecision::blocked(no_groups().into());
    for ready in [None, Some(ready_condition(ConditionStatus::True, Reason::Accepted, "", 0))] {
        let after = CommitmentFacts { ready, ..facts("60Gi", vec![]) };
        let ready = condition_of(&reported(&after, &blocked));
        assert_eq!(
            ready,
            (false, Reason::Reserving, "flavor knowledge not ready: flavor groups knowledge is not ready".to_owned())
        );
    }
}

#[test]
fn a_partial_read_leaves_a_verdict_alone() {
    let mut after = unread(facts("60Gi", vec![]), "home", "its watch fails");
    let decided = decided(&mut after, &FreeSlots::of(0));
    assert!(condition_of(&reported(&after, &decided)).2.ends_with(": its watch fails"));
    after.ready = Some(ready_condition(ConditionStatus::True, Reason::Accepted, "", 0));
    let report = reported(&after, &decided);
    assert_eq!((report.ready, report.requeue_after), (None, Some(DELAYS.retry)));
}

#[test]
fn a_lack_of_capacity_beside_an_unreadable_host_does_not_reject() {
    let mut before = facts("60Gi", vec![]);
    before.spec.allow_rejection = true;
    let host_unreadable = Some(UnreadableHost { name: "node-7".to_owned(), error: "x".to_owned() });
    before.site = Ok(Site { host_unreadable, ..site("home") });
    let decided = decided(&mut before, &FreeSlots::of(0));
    assert!(decided.is_refused(&before), "nothing is created");
    let (_, reason, text) = condition_of(&reported(&before, &decided));
    assert_eq!(reason, Reason::Reserving);
    assert!(text.ends_with("; Hypervisor node-7 cannot be read, correct or delete it: x"), "{text}");
}

#[test]
fn a_commitment_in_the_wrong_cluster_reports_where_it_belongs() {
    let mut before = CommitmentFacts { belongs_to: Some("b".into()), ..facts("60Gi", vec![]) };
    let decided = decided(&mut before, &FreeSlots::of(1));
    let text = "availability zone az-a belongs to cluster b: create the commitment there, then delete this one; its slots \
                in cluster home stay until then";
    assert_eq!(condition_of(&reported(&before, &decided)), (false, Reason::WrongCluster, text.to_owned()));
}

#[test]
fn a_slot_that_others_hold_keeps_the_commitment() {
    let going = Slot { terminating: true, ..slot(0, 60, 15, Some("h")) };
    let mut after = facts("60Gi", vec![going]);
    after.deleting = true;
    let decided = decided(&mut after, &FreeSlots::of(0));
    let text = "waiting for slots in cluster home: commitment-uuid-1-0 is kept by its finalizers".to_owned();
    assert_eq!(condition_of(&reported(&after, &decided)), (false, Reason::Releasing, text));
}

#[test]
fn a_deletion_that_waits_for_a_cluster_is_reconciled_again() {
    let mut before = unread(facts("60Gi", vec![slot(0, 60, 15, Some("h"))]), "remote", "its watch fails");
    before.deleting = true;
    let decided = decided(&mut before, &FreeSlots::of(0));
    let report = reported(&before, &decided);
    assert_eq!(
        condition_of(&report),
        (false, Reason::Releasing, format!("waiting for slots in cluster remote: {}", partial("its watch fails")))
    );
    assert_eq!(report.requeue_after, Some(DELAYS.retry));
}

#[test]
fn what_is_over_stays_over_while_its_slots_cannot_be_read() {
    let mut before = unread(facts("60Gi", vec![slot(0, 60, 15, Some("h"))]), "home", "its watch fails");
    before.ready = Some(ready_condition(ConditionStatus::False, Reason::Inactive(CommitmentState::Expired), "", 0));
    let decided = decided(&mut before, &FreeSlots::of(0));
    let report = reported(&before, &decided);
    assert_eq!((report.ready, report.requeue_after), (None, Some(DELAYS.retry)));
}

#[test]
fn acceptance_takes_a_copy_of_the_spec() {
    let ready = CommitmentReady { ready: true, ..CommitmentReady::no(Reason::Accepted, Message::Reserved) };
    let object = object(&json!({}));
    let first = status(&object, &ready, REFRESH, now());
    assert_eq!(first.accepted_spec.as_ref(), Some(&object.spec));
    assert_eq!(first.status_summary.as_deref(), Some("Accepted · 0 VMs · no expiry"));
    assert_eq!(first.conditions[0].observed_generation, Some(2));
    let requeue_after = CommittedResource { status: Some(first.clone()), ..object };
    let later = at(60);
    assert_eq!(status(&requeue_after, &ready, REFRESH, later), first, "accepted again writes nothing");
}

#[test]
fn a_detail_alone_is_refreshed_at_most_every_retry_interval() {
    let insufficient = |placed, counts: &str| {
        let message = Message::InsufficientCapacity { placed, wanted: 2 };
        CommitmentReady::no(Reason::Reserving, message).detailed(Some(counts.to_owned()))
    };
    let first = status(&object(&json!({})), &insufficient(1, "24 hosts; capacity 24"), REFRESH, at(0));
    let old = CommittedResource { status: Some(first.clone()), ..object(&json!({})) };
    let other = insufficient(1, "24 hosts; capacity 23");
    assert_eq!(status(&old, &other, REFRESH, at(29)), first);
    assert_eq!(time_until_refresh(&old, &other, REFRESH, at(29)), Some(Duration::from_secs(1)));
    let requeue = |ready: &CommitmentReady, requeue_after: Option<u64>, seconds| {
        let requeue_after = requeue_after.map(Duration::from_secs);
        let report = CommitmentReport { ready: Some(ready.clone()), requeue_after };
        report.time_until_requeue(&old, REFRESH, at(seconds)).map(|time| time.as_secs())
    };
    assert_eq!(requeue(&other, Some(600), 29), Some(1), "a long back-off does not keep the old text");
    assert_eq!((requeue(&other, None, 29), requeue(&other, Some(600), 31)), (Some(1), Some(600)));
    let unknown = CommitmentReady { detail: None, ..insufficient(1, "") };
    assert_eq!(status(&old, &unknown, REFRESH, at(90)), first, "an unknown detail replaces none");
    let refreshed = status(&old, &other, REFRESH, at(30));
    assert!(refreshed.conditions[0].message.ends_with("capacity 23"), "{refreshed:?}");
    assert_eq!(refreshed.conditions[0].last_transition_time, first.conditions[0].last_transition_time);
    let old = CommittedResource { status: Some(refreshed.clone()), ..old };
    assert_eq!(status(&old, &other, REFRESH, at(90)), refreshed, "the same detail is no reason to write");
    assert_eq!(time_until_refresh(&old, &other, REFRESH, at(40)), None);
    assert_ne!(status(&old, &insufficient(0, "24 hosts; capacity 23"), REFRESH, at(31)), refreshed);
}

#[test]
fn transition_time_moves_with_the_reason_and_with_recovery() {
    let since = |status: &CommittedResourceStatus| status.conditions[0].last_transition_time.0;
    let step = |old: CommittedResourceStatus, ready: &CommitmentReady, seconds| {
        status(&CommittedResource { status: Some(old), ..object(&json!({})) }, ready, REFRESH, at(seconds))
    };
    let failing = step(CommittedResourceStatus::default(), &reserving("one"), 0);
    let other_text = step(failing.clone(), &reserving("two"), 10);
    assert_eq!(since(&other_text), at(0), "same reason: the time of the transition is kept");
    let recovered = step(other_text, &CommitmentReady::waiting(), 20);
    assert_eq!(since(&recovered), at(20), "the first success resets the back-off");
    let rejected = step(recovered, &CommitmentReady::no(Reason::Rejected, "no"), 30);
    assert_eq!(since(&rejected), at(30));
}

#[test]
fn old_duplicate_conditions_become_one() {
    let condition = |reason: &str| {
        json!({"type": "Ready", "status": "False", "reason": reason, "message": "",
        "lastTransitionTime": "2026-03-01T00:00:00Z"})
    };
    let old = object(&json!({"conditions": [condition("Reserving"), condition("Planned")]}));
    let new = status(&old, &CommitmentReady::no(Reason::Rejected, "no"), REFRESH, now());
    assert_eq!(new.conditions.len(), 1);
}

#[test]
fn a_duplicate_names_the_object_that_is_served() {
    for (cluster, name) in [("home", "commitment-b"), ("b", "commitment-b of cluster b")] {
        let served = ObjectKey::new(cluster.into(), "commitment-b");
        let plan = CommitmentFacts {
            served_instead: Some(Served { key: served.clone(), protects: true }),
            ..facts("60Gi", vec![])
        };
        let decided = decided(&mut plan.clone(), &FreeSlots::of(0));
        assert_eq!(decided.plan.verdict, Verdict::Duplicate(served));
        let (_, reason, text) = condition_of(&reported(&plan, &decided));
        assert_eq!(reason, Reason::DuplicateUuid);
        assert!(text.contains(&format!("{name} has the same spec.commitmentUUID")), "{text}");
    }
    assert_eq!(spec("1").group.as_str(), "amber");
}
