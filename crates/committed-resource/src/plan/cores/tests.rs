use berth_core::Quantity;
use berth_core::commitment::{ResourceType, State};
use berth_core::host::ConditionStatus;
use berth_core::slot::Slot;
use berth_core::testing::{at, spec};
use berth_crds::CommitmentState;
use berth_crds::conditions::commitment::Reason;

use super::*;
use crate::plan::tests::{facts, no_groups, now, said, slot};
use crate::plan::{Finalizer, Limits, plan};

/// A commitment that wants so many cores of a hundred.
fn wanting(amount: &str) -> Facts {
    let mut facts = facts(amount, vec![]);
    facts.spec.resource = ResourceType::Cores;
    facts.capacity = Capacity::Total(Cores::new(100));
    facts
}

/// The same, and what was accepted is so many `of`.
fn had(facts: Facts, of: ResourceType, amount: &str) -> Facts {
    let accepted = Spec { resource: of, amount: Quantity::parse(amount).unwrap(), ..facts.spec.clone() };
    Facts { accepted: Some(accepted), ..facts }
}

fn accepted(facts: Facts) -> Facts {
    Facts { ready: Some(said(ConditionStatus::True, Reason::Accepted, "", 10)), ..facts }
}

fn rejected(facts: Facts) -> Facts {
    Facts { ready: Some(said(ConditionStatus::False, Reason::Rejected, "", 10)), ..facts }
}

fn with_slots(mut facts: Facts, slots: &[Slot]) -> Facts {
    facts.holdings.values_mut().for_each(|holding| holding.slots = slots.to_vec());
    facts
}

fn planned(facts: &Facts) -> Plan {
    plan(facts, Limits::default(), now())
}

fn counts(facts: &Facts) -> Option<i64> {
    match planned(facts).course {
        Course::Count(claim) => Some(claim.cores.get()),
        _ => None,
    }
}

#[test]
fn document_20_section_13_cores_are_counted_and_have_no_slots_and_no_finalizer() {
    let plan = planned(&wanting("40"));
    let place = Place { group: "amber".into(), zone: "az-a".into() };
    assert_eq!(plan.course, Course::Count(Claim { place, cores: Cores::new(40), total: Cores::new(100) }));
    assert_eq!((plan.is_empty(), plan.finalizer), (true, Finalizer::Leave));
}

#[test]
fn document_20_section_19_no_10d_what_was_accepted_for_the_generation_is_not_asked_again() {
    let facts = accepted(had(wanting("40"), ResourceType::Cores, "40"));
    for capacity in [Capacity::NoObject, Capacity::Total(Cores::ZERO), Capacity::Unknown(no_groups().into())] {
        assert_eq!(planned(&Facts { capacity, ..facts.clone() }).course, Course::Settled);
    }
    let somebody_edited = had(facts.clone(), ResourceType::Cores, "8");
    assert_eq!(counts(&somebody_edited), Some(40), "what is said is not what was accepted");
    assert_eq!(counts(&Facts { accepted: None, ..facts }), Some(40));
}

#[test]
fn document_20_section_13_a_rejection_sticks_for_its_generation() {
    let facts = rejected(wanting("40"));
    assert_eq!(planned(&facts).course, Course::RolledBack);
    assert_eq!(counts(&Facts { generation: 2, ..facts }), Some(40));
}

#[test]
fn u44_to_hold_less_of_what_it_has_takes_nothing_from_anybody() {
    let shrunk = |amount| Facts {
        generation: 2,
        capacity: Capacity::Total(Cores::ZERO),
        ..accepted(had(wanting(amount), ResourceType::Cores, "40"))
    };
    assert_eq!(planned(&shrunk("30")).course, Course::Covered);
    assert_eq!(planned(&shrunk("40")).course, Course::Covered);
    assert_eq!(counts(&shrunk("41")), Some(41));
    let mut moved = shrunk("30");
    moved.spec.zone = "az-b".into();
    assert_eq!(counts(&moved), Some(30));
    let began_again = Facts { ready: Some(said(ConditionStatus::False, Reason::Planned, "", 1)), ..shrunk("30") };
    assert_eq!(counts(&began_again), Some(30), "it held nothing in between");
}

#[test]
fn no_cores_need_no_capacity() {
    let facts = Facts { capacity: Capacity::NoObject, ..wanting("0") };
    assert_eq!(planned(&facts).course, Course::Covered);
}

#[test]
fn a_spec_that_makes_no_sense_is_refused_with_what_to_change() {
    let text = |change: fn(&mut Spec)| {
        let mut facts = wanting("40");
        change(&mut facts.spec);
        match planned(&facts).course {
            Course::Refused { text, retry: false, .. } => text,
            course => panic!("{course:?}"),
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
fn u37_an_unknown_group_without_capacity_is_refused_while_the_groups_are_readable() {
    let mut facts = Facts { capacity: Capacity::NoObject, ..wanting("40") };
    facts.spec.group = "unheard-of".into();
    let text = "flavor group not found: unheard-of; spec.flavorGroupName must be one of: amber";
    let refused = |retry| Course::Refused { text: text.to_owned(), retry, limit: None };
    assert_eq!(planned(&facts).course, refused(true));
    facts.spec.allow_rejection = true;
    assert_eq!(planned(&facts).course, refused(false));
    let unreadable = Facts { groups: Err(no_groups()), ..facts.clone() };
    let outdated = Facts { outdated: Some(no_groups()), ..facts.clone() };
    for facts in [unreadable, outdated] {
        let waits =
            matches!(planned(&facts).course, Course::NoCapacity { message: Message::WaitingForCapacityData, .. });
        assert!(waits);
    }
    facts.capacity = Capacity::Total(Cores::new(100));
    assert_eq!(counts(&facts), Some(40), "who says how many there are knows the group");
}

#[test]
fn document_20_section_5_states_without_capacity_ask_for_nothing() {
    let over = wanting("40");
    let with = |change: fn(&mut Spec)| {
        let mut facts = over.clone();
        change(&mut facts.spec);
        planned(&facts).course
    };
    assert_eq!(with(|spec| spec.state = State::Planned), Course::Planned);
    assert_eq!(with(|spec| spec.state = State::Superseded), Course::Over(State::Superseded));
    assert_eq!(with(|spec| spec.end = Some(at(-1))), Course::Over(State::Expired));
}

fn one_slot() -> Vec<Slot> {
    vec![slot(0, 60, 15, Some("h"))]
}

#[test]
fn a_commitment_that_was_one_of_memory_keeps_its_slots_until_its_cores_are_accepted() {
    let was_memory = Facts { generation: 2, ..accepted(had(wanting("40"), ResourceType::Memory, "60Gi")) };
    let facts = with_slots(was_memory, &one_slot());
    let plan = planned(&facts);
    assert_eq!((counts(&facts), plan.leave.len()), (Some(40), 0), "as after a change of the zone");
    let now_cores = Facts { generation: 1, ..accepted(had(facts, ResourceType::Cores, "40")) };
    let plan = planned(&now_cores);
    assert_eq!((plan.course, plan.leave.len()), (Course::Settled, 1));
}

#[test]
fn slots_that_no_accepted_spec_asks_for_are_given_up_at_once() {
    let plan = planned(&with_slots(wanting("40"), &one_slot()));
    assert_eq!((plan.leave.len(), plan.finalizer), (1, Finalizer::Add), "until they have gone it must not go (U50)");
}

#[test]
fn document_20_section_8_3_refused_cores_leave_the_accepted_memory_as_it_is() {
    let memory = Spec { end: None, ..spec("60Gi") };
    let facts = Facts { accepted: Some(memory), has_finalizer: true, ..rejected(wanting("400")) };
    let kept = planned(&with_slots(facts.clone(), &one_slot()));
    assert_eq!((kept.course.clone(), kept.leave.len(), kept.slots.kept), (Course::RolledBack, 0, 1));
    let lost = planned(&facts);
    assert_eq!(lost.slots.create.len(), 1, "and keep it up");
}

#[test]
fn refused_memory_after_accepted_cores_is_no_slot_of_a_few_bytes() {
    let mut facts = had(rejected(facts("600Gi", vec![])), ResourceType::Cores, "40");
    facts.has_finalizer = true;
    let plan = planned(&with_slots(facts, &one_slot()));
    assert_eq!((plan.course.clone(), plan.leave.len(), plan.slots.is_empty()), (Course::RolledBack, 1, true));
}

#[test]
fn u14_and_d1_hold_for_cores_as_well() {
    let misplaced = Facts { belongs_to: Some("remote".into()), ..wanting("40") };
    assert_eq!(planned(&misplaced).course, Course::WrongCluster("remote".into()));
    let mut said_over = wanting("40");
    let over = Reason::Inactive(CommitmentState::Expired);
    said_over.ready = Some(said(ConditionStatus::False, over, "", 10));
    assert_eq!(planned(&said_over).course, Course::Over(State::Expired), "U38");
}
