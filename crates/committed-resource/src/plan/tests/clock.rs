//! Ends, and clocks that are wrong.

use berth_telemetry::clock::UntrustedClock;
use jiff::SignedDuration;

use super::*;

#[test]
fn while_the_clock_cannot_be_trusted_nothing_ends_and_nothing_begins_that_may_be_over() {
    let at_time = |facts: &CommitmentFacts, now| plan(facts, Limits::default(), now);
    let skewed = Err(UntrustedClock::Skewed(SignedDuration::from_hours(2)));
    let ending = |slots| {
        let facts = facts("60Gi", slots);
        CommitmentFacts { spec: Spec { end: Some(at(-1)), ..facts.spec.clone() }, ..facts }
    };
    let held = ending(vec![slot(0, 60, 15, Some("h"))]);
    assert_eq!(at_time(&held, Ok(now())).verdict, Verdict::Over(State::Expired));
    let kept = at_time(&held, skewed);
    assert_eq!((kept.verdict.clone(), names(&kept).0), (Verdict::Reserve, 0));
    let grown = CommitmentFacts { spec: Spec { amount: spec("120Gi").amount, ..held.spec.clone() }, ..held };
    assert_eq!(names(&at_time(&grown, skewed)).2, 1, "a user has asked for more");
    let new = ending(vec![]);
    let Verdict::Blocked(why) = at_time(&new, skewed).verdict else { panic!("it may be over") };
    assert!(why.to_string().starts_with("whether it has ended is not known: the clock of this process is 2h ahead"));
    assert_eq!(at_time(&facts("60Gi", vec![]), skewed).verdict, Verdict::Reserve, "it has no end");
}

/// The end of the spec is ahead again, because the clock was set back since its condition was written.
fn ended_before_the_clock_was_set_back(slots: Vec<Slot>) -> CommitmentFacts {
    let expired = ready_condition(ConditionStatus::False, Reason::Inactive(CommitmentState::Expired), "", -100);
    let mut facts = CommitmentFacts { ready: Some(expired), ..facts("60Gi", slots) };
    facts.spec.end = Some(at(100));
    facts
}

#[test]
fn expiry_is_not_taken_back_by_a_clock() {
    let facts = ended_before_the_clock_was_set_back(vec![]);
    assert_eq!(planned(&facts).verdict, Verdict::Over(State::Expired));
    assert_eq!(
        planned(&CommitmentFacts { generation: 2, ..facts }).verdict,
        Verdict::Reserve,
        "a new spec counts as a new commitment"
    );
}

#[test]
fn an_end_that_was_written_by_hand_is_not_believed() {
    for reason in [Reason::Inactive(CommitmentState::Expired), Reason::Inactive(CommitmentState::Superseded)] {
        let forged = || Some(ready_condition(ConditionStatus::False, reason, "", 0));
        let slots = || vec![slot(0, 60, 15, Some("h"))];
        let mut facts = CommitmentFacts { ready: forged(), ..facts("60Gi", slots()) };
        for end in [None, Some(at(1))] {
            facts.spec.end = end;
            let plan = planned(&facts);
            assert_eq!((plan.verdict.clone(), names(&plan).0), (Verdict::Reserve, 0), "{reason:?} {end:?}");
        }
    }
    let plan = planned(&ended_before_the_clock_was_set_back(vec![slot(0, 60, 15, Some("h"))]));
    assert_eq!((plan.verdict.clone(), plan.is_empty()), (Verdict::Over(State::Expired), true), "nor does it release");
}
