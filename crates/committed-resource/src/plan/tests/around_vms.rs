//! Slots around VMs are pinned, and only the others are placed.

use berth_core::Quantity;
use berth_core::planner::RunningVm;

use super::*;

fn growing(amount: &str, vms: &[(&str, &str)]) -> CommitmentFacts {
    let vm = |(id, flavor): &(&str, &str)| RunningVm { id: (*id).into(), host: "v".into(), flavor: (*flavor).into() };
    CommitmentFacts { vms: vms.iter().map(vm).collect(), ..facts(amount, vec![]) }
}

fn hosts(decided: &CommitmentDecision) -> Vec<&str> {
    decided.hosts.iter().map(|host| host.as_ref().map_or("-", |host| host.as_str())).collect()
}

#[test]
fn only_slots_without_a_vm_are_placed() {
    let mut facts = growing("102Gi", &[("v1", "amber_l"), ("v2", "amber_xl")]);
    let free = FreeSlots::of(9);
    let decided = decided(&mut facts, &free);
    assert_eq!(hosts(&decided), ["v", "v", "h0"]);
    assert_eq!(decided.could_be_placed(&facts), 3);
    assert_eq!(decided.assumed.len(), 3, "all entries end with the apply");
    let log = free.log.lock();
    assert_eq!(*log, ["pin commitment-uuid-1-0 on v", "pin commitment-uuid-1-1 on v", "place 1 release 0 shrink 0"]);
}

#[test]
fn a_commitment_of_vms_alone_asks_no_scheduler_for_a_host() {
    let mut facts = growing("30Gi", &[("v1", "amber_l")]);
    let free = FreeSlots { later: true, ..FreeSlots::of(0) };
    let decided = decided(&mut facts, &free);
    assert_eq!((hosts(&decided), decided.is_delayed), (vec!["v"], false));
    assert_eq!(*free.log.lock(), ["pin commitment-uuid-1-0 on v"]);
}

#[test]
fn an_external_scheduler_places_the_others_later() {
    let mut facts = growing("42Gi", &[("v1", "amber_l")]);
    let decided = decided(&mut facts, &FreeSlots { later: true, ..FreeSlots::of(0) });
    assert_eq!((hosts(&decided), decided.is_delayed), (vec!["v", "-"], true));
}

#[test]
fn vms_that_are_refused_are_planned_again_as_slots_that_need_a_host() {
    let mut facts = growing("42Gi", &[("v1", "amber_l"), ("v2", "amber_s")]);
    let free = FreeSlots { refuses_pins: true, ..FreeSlots::of(9) };
    let decided = decided(&mut facts, &free);
    assert_eq!(hosts(&decided), ["h0", "h1"]);
    let log = free.log.lock();
    assert_eq!(log[2..], ["applied 2", "place 2 release 0 shrink 0"], "nothing stays held in between");
}

#[test]
fn what_does_not_fit_is_refused_with_its_vms() {
    let mut facts = growing("102Gi", &[("v1", "amber_xl")]);
    facts.spec.allow_rejection = true;
    let decided = decided(&mut facts, &FreeSlots::of(1));
    assert!(decided.is_refused(&facts));
    assert_eq!((decided.could_be_placed(&facts), decided.plan.slots.total()), (2, 3));
}

#[test]
fn a_commitment_that_is_rolled_back_takes_over_nothing() {
    let rejected = ready_condition(ConditionStatus::False, Reason::Rejected, "", 5);
    let mut facts = growing("90Gi", &[("v1", "amber_xl")]);
    facts.spec.allow_rejection = true;
    facts.accepted = Some(Spec { amount: Quantity::parse("60Gi").unwrap(), ..facts.spec.clone() });
    let plan = planned(&CommitmentFacts { ready: Some(rejected), ..facts });
    assert_eq!((plan.verdict, plan.slots.around_vms().count()), (Verdict::RolledBack, 0));
}
