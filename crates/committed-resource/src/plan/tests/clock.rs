//! Decisions while the clock cannot be trusted.

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
