//! Worked examples of Ready conditions of commitments, as tables.

use berth_core::Bytes;
use berth_core::commitment::{Spec, State};
use berth_core::host::ConditionStatus::{False, True, Unknown};

use super::*;
use crate::plan::{Limits, plan};

const GENERATION: i64 = 7;

/// A slot of the table: the generation that it has processed, and its condition.
type Shown = Option<(i64, ConditionStatus, &'static str)>;

fn shows(number: u64, shown: Shown) -> Slot {
    let host = matches!(shown, Some((_, True, _))).then_some("h");
    let (observed, ready) = shown.map_or((0, None), |(seen, status, reason)| (seen, Some((status, reason.to_owned()))));
    Slot {
        parent_generation: GENERATION,
        observed_parent_generation: observed,
        ready,
        ..slot(number, if number < 2 { 60 } else { 30 }, if number < 2 { 15 } else { 10 }, host)
    }
}

/// The verdict on slots a, b and c of a commitment of three, of which the last may be missing.
fn verdict(slots: &[Shown]) -> (bool, Reason, String) {
    let slots: Vec<Slot> = (0..).zip(slots).map(|(number, shown)| shows(number, *shown)).collect();
    let mut before = CommitmentFacts { generation: GENERATION, ..facts("150Gi", slots) };
    let after = before.clone();
    let decided = decided(&mut before, &FreeSlots::of(1));
    assert_eq!(decided.plan.slots.total(), 3, "expected by the planner");
    condition_of(&reported(&after, &decided))
}

/// The second slot is not ready, so an earlier generation does not count (`Slot::generation_verdict`).
#[test]
fn table_of_three_slots() {
    const OK: Shown = Some((7, True, "ReservationActive"));
    let accepted = (true, Reason::Accepted, "commitment successfully reserved".to_owned());
    let pending = (false, Reason::Reserving, "waiting for reservation placement".to_owned());
    let text = "insufficient capacity: 1/3 reservation slots could be placed";
    let failed = (false, Reason::Reserving, text.to_owned());
    for (slots, expected) in [
        (vec![OK, OK, OK], accepted),
        (vec![OK, Some((6, False, "NoHostsFound")), OK], pending.clone()),
        (vec![OK, Some((7, False, "NoHostsFound")), None], failed),
        (vec![OK, Some((7, Unknown, "SchedulerUnavailable")), OK], pending.clone()),
        (vec![OK, OK], pending),
    ] {
        assert_eq!(verdict(&slots), expected, "{slots:?}");
    }
}

#[test]
fn nothing_wanted_is_accepted_at_once() {
    let mut nothing = facts("0", vec![]);
    let decided = decided(&mut nothing, &FreeSlots::of(0));
    assert_eq!(condition_of(&reported(&nothing, &decided)).1, Reason::Accepted);
}

#[test]
fn slots_that_are_being_deleted_count_neither_as_ready_nor_as_failed() {
    let going = |ready| Slot { terminating: true, ready, ..slot(1, 60, 15, None) };
    let failed = Some((False, "NoHostsFound".to_owned()));
    for ready in [None, failed, Some((True, "ReservationActive".to_owned()))] {
        let mut before = facts("60Gi", vec![slot(0, 60, 15, Some("h")), going(ready)]);
        let decided = decided(&mut before, &FreeSlots::of(0));
        assert_eq!(condition_of(&reported(&before, &decided)).1, Reason::Accepted);
        before.spec.amount = spec("120Gi").amount;
        let decided = super::decided(&mut before, &FreeSlots::of(1));
        assert_eq!(condition_of(&reported(&before, &decided)).2, "waiting for reservation placement");
    }
}

/// The change of the facts in a row of the table. A row has a spec, and its condition when nothing fits, with and
/// without `allowRejection`. The reason does not depend on the state, also not for an invalid spec, which is always
/// rejected.
type Change<'c> = &'c dyn Fn(&mut CommitmentFacts);

#[test]
fn what_allow_rejection_means() {
    use Reason::{Rejected, Reserving};
    let no_capacity = |facts: &mut CommitmentFacts| facts.spec.amount = spec("150Gi").amount;
    let no_group = |facts: &mut CommitmentFacts| facts.spec.group = "none".into();
    let invalid = |facts: &mut CommitmentFacts| facts.spec.uuid = "x".into();
    let unreadable = |facts: &mut CommitmentFacts| facts.groups = Err(no_groups());
    let table: [(&str, Change<'_>, [Reason; 2]); 4] = [
        ("insufficient capacity: ", &no_capacity, [Rejected, Reserving]),
        ("flavor group not found: none", &no_group, [Rejected, Reserving]),
        ("unexpected commitment format", &invalid, [Rejected, Rejected]),
        ("flavor knowledge not ready: flavor groups knowledge is not ready", &unreadable, [Reserving, Reserving]),
    ];
    for state in [State::Pending, State::Guaranteed, State::Confirmed] {
        for (text, change, reasons) in &table {
            for (allow_rejection, reason) in [true, false].into_iter().zip(reasons) {
                let mut before = facts("150Gi", vec![]);
                before.spec = Spec { state, allow_rejection, ..before.spec };
                change(&mut before);
                let decided = decided(&mut before, &FreeSlots::of(1));
                let ready = condition_of(&reported(&before, &decided));
                assert!(
                    ready.1 == *reason && ready.2.starts_with(text),
                    "{state:?} {allow_rejection} {text}: {ready:?}"
                );
            }
        }
    }
}

#[test]
fn the_slot_limit_is_final_for_who_may_be_rejected() {
    let limits = Limits { max_new_slots: Some(2) };
    let mut before = facts("150Gi", vec![]);
    before.spec.allow_rejection = true;
    let plan = plan(&before, limits, Ok(now()));
    let decided = CommitmentDecision {
        plan,
        hosts: vec![],
        shortage: None,
        used: Vec::new(),
        is_delayed: false,
        paced: None,
        assumed: vec![],
        cores: None,
    };
    let text = "commitment would create 3 new reservation slots, exceeds limit of 2".to_owned();
    let report = reported(&before, &decided);
    assert_eq!((condition_of(&report), report.requeue_after), ((false, Reason::Rejected, text), None));
}

/// The failure of a spec is final if the commitment was not accepted before, and otherwise not, in any state.
#[test]
fn a_slot_that_is_lost_after_acceptance_does_not_reject() {
    for state in [State::Pending, State::Confirmed] {
        let lost = Slot { ready: Some((False, "NoHostsFound".to_owned())), ..slot(0, 60, 15, None) };
        let mut before = facts("60Gi", vec![lost]);
        before.spec = Spec { state, allow_rejection: true, ..before.spec };
        let never_accepted = decided(&mut before, &FreeSlots::of(0));
        assert_eq!(condition_of(&reported(&before, &never_accepted)).1, Reason::Rejected, "it was never accepted");
        before.accepted = Some(before.spec.clone());
        let decided = decided(&mut before, &FreeSlots::of(0));
        let (_, reason, text) = condition_of(&reported(&before, &decided));
        assert_eq!(reason, Reason::Reserving);
        assert_eq!(text, "insufficient capacity: 0/1 reservation slots could be placed");
    }
}

#[test]
fn what_is_over_reports_which_end_it_met() {
    let over = |state, end: Option<i64>| {
        let mut before = facts("60Gi", vec![]);
        before.spec = Spec { state, end: end.map(at), ..before.spec };
        let decided = decided(&mut before, &FreeSlots::of(0));
        let report = reported(&before, &decided);
        assert_eq!(report.requeue_after, None);
        let (ready, reason, text) = condition_of(&report);
        assert_eq!((ready, text.as_str()), (false, "commitment is no longer active"));
        reason.as_str()
    };
    assert_eq!(over(State::Superseded, None), "superseded");
    assert_eq!(over(State::Expired, None), "expired");
    assert_eq!(over(State::Confirmed, Some(-1)), "expired", "not the value of spec.state");
}

#[test]
fn new_spec_or_a_first_failure_begins_with_the_base() {
    let after = |ready| {
        let mut before = CommitmentFacts { ready, ..facts("60Gi", vec![]) };
        let decided = decided(&mut before, &FreeSlots::of(0));
        reported(&before, &decided).requeue_after
    };
    let since = |seconds| Some(ready_condition(False, Reason::Reserving, "insufficient capacity", seconds));
    assert_eq!(after(None), Some(Duration::from_secs(30)));
    assert_eq!(after(since(29)), Some(Duration::from_secs(30)));
    assert_eq!(after(since(30)), Some(Duration::from_secs(60)));
    assert_eq!(after(since(100_000)), Some(DELAYS.cap));
    assert_eq!(after(Some(ready_condition(False, Reason::Planned, "", 100_000))), Some(Duration::from_secs(30)));
}

#[test]
fn amounts_are_rounded_up_to_mib_before_they_are_planned() {
    let mut before = facts("63000000000", vec![]);
    let decided = decided(&mut before, &FreeSlots::of(9));
    let held: Bytes = decided.plan.slots.create.iter().map(|new| new.size.memory).sum();
    assert_eq!(held, Bytes::from_mib(60_082), "60081.48 MiB");
}
