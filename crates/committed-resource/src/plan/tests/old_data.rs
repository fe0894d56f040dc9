//! Objects that were stored before our validation rules are kept, whatever is wrong with them.

use super::*;

/// Accepted, rejected or expired, without the finalizer.
fn old(ready: Reason, accepted: Option<Spec>) -> CommitmentFacts {
    let status = if ready == Reason::Accepted { ConditionStatus::True } else { ConditionStatus::False };
    let slots = vec![slot(0, 30, 10, Some("h"))];
    CommitmentFacts {
        ready: Some(ready_condition(status, ready, "", 5)),
        accepted,
        has_finalizer: false,
        ..facts("30Gi", slots)
    }
}

fn without_project(spec: Spec) -> Spec {
    Spec { project: "".into(), ..spec }
}

#[test]
fn an_accepted_spec_that_makes_no_sense_stays_accepted_and_keeps_its_slots() {
    let mut facts = old(Reason::Accepted, None);
    facts.spec = without_project(facts.spec);
    let plan = plan(&facts, Limits::default(), Ok(now()));
    assert_eq!((plan.verdict, plan.leave, plan.finalizer), (Verdict::Settled, vec![], Finalizer::Add));
}

#[test]
fn slots_of_an_accepted_spec_that_makes_no_sense_stay_when_the_wanted_one_is_refused() {
    let mut facts = old(Reason::Rejected, Some(without_project(spec("30Gi"))));
    facts.spec.allow_rejection = true;
    let plan = plan(&facts, Limits::default(), Ok(now()));
    assert_eq!((plan.verdict, plan.leave, plan.finalizer), (Verdict::RolledBack, vec![], Finalizer::Add));
}

#[test]
fn slots_are_protected_also_while_nothing_can_be_planned() {
    let blocked =
        CommitmentFacts { site: Err(RouteError::NotConfigured { gvk: String::new() }), ..old(Reason::Reserving, None) };
    let misplaced = CommitmentFacts { belongs_to: Some("other".into()), ..old(Reason::Accepted, None) };
    for facts in [blocked, misplaced] {
        let plan = plan(&facts, Limits::default(), Ok(now()));
        assert!(plan.slots.is_empty() && plan.finalizer == Finalizer::Add, "{plan:?}");
        let protected = CommitmentFacts { has_finalizer: true, ..facts };
        assert!(super::plan(&protected, Limits::default(), Ok(now())).is_empty());
    }
}

#[test]
fn the_state_as_a_reason_is_an_end() {
    let mut facts = CommitmentFacts { holdings: [].into(), ..old(Reason::Inactive(CommitmentState::Confirmed), None) };
    facts.spec.end = Some(at(-10));
    assert_eq!(plan(&facts, Limits::default(), Ok(now())).verdict, Verdict::Over(State::Expired));
}
