use berth_core::Quantity;
use berth_core::commitment::{ResourceType, State};
use berth_core::host::ConditionStatus;
use berth_core::slot::Slot;
use berth_core::testing::{at, spec};
use berth_crds::CommitmentState;
use berth_crds::conditions::commitment::Reason;

use super::*;
use crate::plan::tests::{facts, no_groups, now, ready_condition, slot};
use crate::plan::{Finalizer, Limits, plan};

/// A commitment that wants this many cores of a hundred.
fn wanting(amount: &str) -> CommitmentFacts {
    let mut facts = facts(amount, vec![]);
    facts.spec.resource = ResourceType::Cores;
    facts.capacity = Capacity::Total(Cores::new(100));
    facts
}

/// The same commitment, which was accepted with this amount of `of`.
fn had(facts: CommitmentFacts, of: ResourceType, amount: &str) -> CommitmentFacts {
    let accepted = Spec { resource: of, amount: Quantity::parse(amount).unwrap(), ..facts.spec.clone() };
    CommitmentFacts { accepted: Some(accepted), ..facts }
}

fn accepted(facts: CommitmentFacts) -> CommitmentFacts {
    CommitmentFacts { ready: Some(ready_condition(ConditionStatus::True, Reason::Accepted, "", 10)), ..facts }
}

fn rejected(facts: CommitmentFacts) -> CommitmentFacts {
    let spec = Spec { allow_rejection: true, ..facts.spec };
    CommitmentFacts { ready: Some(ready_condition(ConditionStatus::False, Reason::Rejected, "", 10)), spec, ..facts }
}

fn with_slots(mut facts: CommitmentFacts, slots: &[Slot]) -> CommitmentFacts {
    facts.holdings.values_mut().for_each(|holding| holding.slots = slots.to_vec());
    facts
}

fn planned(facts: &CommitmentFacts) -> CommitmentPlan {
    plan(facts, Limits::default(), Ok(now()))
}

fn counts(facts: &CommitmentFacts) -> Option<i64> {
    match planned(facts).verdict {
        Verdict::Count(claim) => Some(claim.cores.get()),
        _ => None,
    }
}

#[test]
fn cores_are_counted_and_have_no_slots_and_no_finalizer() {
    let plan = planned(&wanting("40"));
    let place = GroupAndZone { group: "amber".into(), zone: "az-a".into() };
    assert_eq!(plan.verdict, Verdict::Count(CoresClaim { place, cores: Cores::new(40), total: Cores::new(100) }));
    assert_eq!((plan.is_empty(), plan.finalizer), (true, Finalizer::Leave));
}

#[test]
fn what_was_accepted_for_the_generation_is_not_asked_again() {
    let facts = accepted(had(wanting("40"), ResourceType::Cores, "40"));
    for capacity in [Capacity::NoObject, Capacity::Total(Cores::ZERO), Capacity::Unknown(no_groups().into())] {
        assert_eq!(planned(&CommitmentFacts { capacity, ..facts.clone() }).verdict, Verdict::Settled);
    }
    let edited_by_hand = had(facts.clone(), ResourceType::Cores, "8");
    assert_eq!(counts(&edited_by_hand), Some(40), "the status differs from the accepted amount");
    assert_eq!(counts(&CommitmentFacts { accepted: None, ..facts }), Some(40));
}

#[test]
fn rejection_sticks_for_its_generation() {
    let facts = rejected(wanting("40"));
    assert_eq!(planned(&facts).verdict, Verdict::RolledBack);
    assert_eq!(counts(&CommitmentFacts { generation: 2, ..facts }), Some(40));
}

#[test]
fn to_hold_less_of_what_it_has_takes_nothing_from_anybody() {
    let shrunk = |amount| CommitmentFacts {
        generation: 2,
        capacity: Capacity::Total(Cores::ZERO),
        ..accepted(had(wanting(amount), ResourceType::Cores, "40"))
    };
    assert_eq!(planned(&shrunk("30")).verdict, Verdict::Covered);
    assert_eq!(planned(&shrunk("40")).verdict, Verdict::Covered);
    assert_eq!(counts(&shrunk("41")), Some(41));
    let mut moved = shrunk("30");
    moved.spec.zone = "az-b".into();
    assert_eq!(counts(&moved), Some(30));
    let began_again = CommitmentFacts {
        ready: Some(ready_condition(ConditionStatus::False, Reason::Planned, "", 1)),
        ..shrunk("30")
    };
    assert_eq!(counts(&began_again), Some(30), "it held nothing in between");
}

#[test]
fn no_cores_need_no_capacity() {
    let facts = CommitmentFacts { capacity: Capacity::NoObject, ..wanting("0") };
    assert_eq!(planned(&facts).verdict, Verdict::Covered);
}

#[test]
fn a_spec_that_makes_no_sense_is_refused_with_what_to_change() {
    let text = |change: fn(&mut Spec)| {
        let mut facts = wanting("40");
        change(&mut facts.spec);
        match planned(&facts).verdict {
            Verdict::Refused { text, retry: false, .. } => text,
            verdict => panic!("{verdict:?}"),
        }
    };
    assert!(
        text(|spec| spec.amount = Quantity::from_units(-4)).ends_with("spec.amount is -4, it must not be negative")
    );
    assert!(text(|spec| spec.group = "".into()).ends_with("spec.flavorGroupName must not be empty"));
    assert!(text(|spec| spec.zone = "".into()).ends_with("spec.availabilityZone must not be empty"));
    assert!(text(|spec| spec.uuid = "x".into()).contains("6 to 40 characters"));
}

#[test]
fn an_unknown_group_without_capacity_is_refused_while_the_groups_are_readable() {
    let mut facts = CommitmentFacts { capacity: Capacity::NoObject, ..wanting("40") };
    facts.spec.group = "unheard-of".into();
    let text = "flavor group not found: unheard-of; spec.flavorGroupName must be one of: amber";
    let refused = |retry| Verdict::Refused { text: text.to_owned(), retry, limit: None };
    assert_eq!(planned(&facts).verdict, refused(true));
    facts.spec.allow_rejection = true;
    assert_eq!(planned(&facts).verdict, refused(false));
    let unreadable = CommitmentFacts { groups: Err(no_groups()), ..facts.clone() };
    let waits =
        matches!(planned(&unreadable).verdict, Verdict::NoCapacity { message: Message::WaitingForCapacityData, .. });
    assert!(waits);
    let outdated = CommitmentFacts { outdated: Some(no_groups()), ..facts.clone() };
    assert_eq!(planned(&outdated).verdict, Verdict::Blocked(no_groups().into()));
    facts.capacity = Capacity::Total(Cores::new(100));
    assert_eq!(counts(&facts), Some(40), "a capacity object proves that the group exists");
}

#[test]
fn states_without_capacity_ask_for_nothing() {
    let over = wanting("40");
    let with = |change: fn(&mut Spec)| {
        let mut facts = over.clone();
        change(&mut facts.spec);
        planned(&facts).verdict
    };
    assert_eq!(with(|spec| spec.state = State::Planned), Verdict::Planned);
    assert_eq!(with(|spec| spec.state = State::Superseded), Verdict::Over(State::Superseded));
    assert_eq!(with(|spec| spec.end = Some(at(-1))), Verdict::Over(State::Expired));
}

fn one_slot() -> Vec<Slot> {
    vec![slot(0, 60, 15, Some("h"))]
}

#[test]
fn a_commitment_that_was_one_of_memory_keeps_its_slots_until_its_cores_are_accepted() {
    let was_memory = CommitmentFacts { generation: 2, ..accepted(had(wanting("40"), ResourceType::Memory, "60Gi")) };
    let facts = with_slots(was_memory, &one_slot());
    let plan = planned(&facts);
    assert_eq!((counts(&facts), plan.leave.len()), (Some(40), 0), "as after a change of the zone");
    let now_cores = CommitmentFacts { generation: 1, ..accepted(had(facts, ResourceType::Cores, "40")) };
    let plan = planned(&now_cores);
    assert_eq!((plan.verdict, plan.leave.len()), (Verdict::Settled, 1));
}

#[test]
fn slots_that_no_accepted_spec_asks_for_are_given_up_at_once() {
    let plan = planned(&with_slots(wanting("40"), &one_slot()));
    assert_eq!(
        (plan.leave.len(), plan.finalizer),
        (1, Finalizer::Add),
        "the object must stay until its slots are gone"
    );
}

#[test]
fn refused_cores_leave_the_accepted_memory_as_it_is() {
    let memory = Spec { end: None, ..spec("60Gi") };
    let facts = CommitmentFacts { accepted: Some(memory), has_finalizer: true, ..rejected(wanting("400")) };
    let kept = planned(&with_slots(facts.clone(), &one_slot()));
    assert_eq!((kept.verdict.clone(), kept.leave.len(), kept.slots.kept), (Verdict::RolledBack, 0, 1));
    let lost = planned(&facts);
    assert_eq!(lost.slots.create.len(), 1, "and keep the finalizer");
}

#[test]
fn refused_memory_after_accepted_cores_is_no_slot_of_a_few_bytes() {
    let mut facts = had(rejected(facts("600Gi", vec![])), ResourceType::Cores, "40");
    facts.has_finalizer = true;
    let plan = planned(&with_slots(facts, &one_slot()));
    assert_eq!((plan.verdict.clone(), plan.leave.len(), plan.slots.is_empty()), (Verdict::RolledBack, 1, true));
}

#[test]
fn hold_for_cores_as_well() {
    let misplaced = CommitmentFacts { belongs_to: Some("remote".into()), ..wanting("40") };
    assert_eq!(planned(&misplaced).verdict, Verdict::WrongCluster("remote".into()));
    let mut reported_end = wanting("40");
    let over = Reason::Inactive(CommitmentState::Expired);
    reported_end.ready = Some(ready_condition(ConditionStatus::False, over, "", -20));
    reported_end.spec.end = Some(at(10));
    assert_eq!(planned(&reported_end).verdict, Verdict::Over(State::Expired));
}
