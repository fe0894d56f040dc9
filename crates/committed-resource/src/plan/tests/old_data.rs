//! What was stored before our rules came is kept, whatever is wrong with it.

use super::*;

/// Accepted, refused or over by now, without the finalizer.
fn old(says: Reason, accepted: Option<Spec>) -> Facts {
    let status = if says == Reason::Accepted { ConditionStatus::True } else { ConditionStatus::False };
    let slots = vec![slot(0, 30, 10, Some("h"))];
    Facts { ready: Some(said(status, says, "", 5)), accepted, has_finalizer: false, ..facts("30Gi", slots) }
}

fn without_project(spec: Spec) -> Spec {
    Spec { project: "".into(), ..spec }
}

#[test]
fn an_accepted_spec_that_makes_no_sense_stays_accepted_and_keeps_its_slots() {
    let mut facts = old(Reason::Accepted, None);
    facts.spec = without_project(facts.spec);
    let plan = plan(&facts, Limits::default(), now());
    assert_eq!((plan.course, plan.leave, plan.finalizer), (Course::Settled, vec![], Finalizer::Add));
}

#[test]
fn slots_of_an_accepted_spec_that_makes_no_sense_stay_when_the_wanted_one_is_refused() {
    let facts = old(Reason::Rejected, Some(without_project(spec("30Gi"))));
    let plan = plan(&facts, Limits::default(), now());
    assert_eq!((plan.course, plan.leave, plan.finalizer), (Course::RolledBack, vec![], Finalizer::Add));
}

#[test]
fn u50_slots_are_protected_also_while_nothing_can_be_planned() {
    let hindered =
        Facts { site: Err(RouteError::NotConfigured { gvk: String::new() }), ..old(Reason::Reserving, None) };
    let misplaced = Facts { belongs_to: Some("other".into()), ..old(Reason::Accepted, None) };
    for facts in [hindered, misplaced] {
        let plan = plan(&facts, Limits::default(), now());
        assert!(plan.slots.is_empty() && plan.finalizer == Finalizer::Add, "{plan:?}");
        let protected = Facts { has_finalizer: true, ..facts };
        assert!(super::plan(&protected, Limits::default(), now()).is_empty());
    }
}

#[test]
fn u38_the_state_as_a_reason_is_an_end_that_no_clock_takes_back() {
    let facts = Facts { holdings: [].into(), ..old(Reason::Inactive(CommitmentState::Confirmed), None) };
    assert_eq!(plan(&facts, Limits::default(), now()).course, Course::Over(State::Expired));
}
