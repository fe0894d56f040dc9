//! Slots around VMs that run already.

use super::*;
use crate::planner::RunningVm;

/// VMs of these flavors of `amber`, each on a host of its own.
fn running(vms: &[(&str, &str)]) -> Vec<RunningVm> {
    let vm = |(id, flavor): &(&str, &str)| RunningVm {
        id: (*id).into(),
        host: format!("host-of-{id}").into(),
        flavor: format!("amber_{flavor}").into(),
    };
    vms.iter().map(vm).collect()
}

fn with_vms(wanted: Bytes, slots: &[Slot], vms: &[RunningVm], limit: Option<u64>) -> Result<SlotPlan, PlanError> {
    let world = PlannerInput {
        groups: &groups(),
        slots,
        free_capacity: &BTreeMap::new(),
        taken: &|_| false,
        vms,
        max_new_slots: limit,
        change: None,
    };
    plan(&target(wanted), &world)
}

fn shown(plan: &SlotPlan) -> Vec<String> {
    let around = |new: &NewSlot| new.around.as_ref().map(|vm| format!(" {}@{}", vm.id, vm.host)).unwrap_or_default();
    let size = |new: &NewSlot| new.size.memory.mib_up() / 1024;
    plan.create.iter().map(|new| format!("#{} {}/{}{}", new.number, size(new), new.size.cpu, around(new))).collect()
}

#[test]
fn the_largest_vm_that_fits_comes_first_and_the_smallest_fills_the_rest() {
    let vms = running(&[("v1", "l"), ("v2", "s"), ("v3", "xl")]);
    let plan = with_vms(gib(100), &[], &vms, Some(0)).unwrap();
    assert_eq!(shown(&plan), ["#0 60/15 v3@host-of-v3", "#1 30/10 v1@host-of-v1", "#2 10/4 v2@host-of-v2"]);
    assert_eq!((plan.unplaced().count(), plan.total()), (0, 3));
    let vms: Vec<_> = plan.create.iter().flat_map(NewSlot::vms).collect();
    assert_eq!(vms[2], ("v2".into(), Resources::new(gib(10), Cores::new(4))), "the part that the slot holds");
}

#[test]
fn only_slots_that_need_a_host_count_for_the_limit() {
    let vms = running(&[("v4", "l"), ("v5", "l")]);
    let refused = with_vms(gib(100), &[], &vms, Some(1));
    assert_eq!(refused, Err(PlanError::SlotLimit { count: 2, limit: 1 }));
    let plan = with_vms(gib(100), &[], &vms, Some(2)).unwrap();
    assert_eq!(shown(&plan), ["#0 30/10 v4@host-of-v4", "#1 30/10 v5@host-of-v5", "#2 30/10", "#3 10/4"]);
}

#[test]
fn a_commitment_that_has_its_slots_takes_no_vm() {
    let vms = running(&[("v1", "s")]);
    let slots = [slot(0, "amber_s", (12, 4), "h", &[])];
    assert!(with_vms(gib(12), &slots, &vms, None).unwrap().is_empty());
    assert_eq!(shown(&with_vms(gib(13), &slots, &vms, None).unwrap()), ["#1 1/1 v1@host-of-v1"]);
}

#[test]
fn vms_of_other_flavors_and_repeated_ones_do_not_count() {
    let vms = running(&[("v1", "none"), ("v2", "s"), ("v2", "s")]);
    assert_eq!(shown(&with_vms(gib(24), &[], &vms, None).unwrap()), ["#0 12/4 v2@host-of-v2", "#1 12/4"]);
}

#[test]
fn less_than_one_mib_makes_no_slot() {
    let vms = running(&[("v1", "s"), ("v2", "s")]);
    let wanted = gib(12) + Bytes::new(5);
    assert_eq!(shown(&with_vms(wanted, &[], &vms, None).unwrap()), ["#0 12/4 v1@host-of-v1"]);
}

#[test]
fn a_roll_back_takes_over_nothing() {
    let vms = running(&[("v1", "s")]);
    let name = format!("{PREFIX}0");
    let former = FormerSlot { name: name.as_str().into(), host: None, size: Resources::new(gib(12), Cores::new(4)) };
    let world = PlannerInput {
        groups: &groups(),
        slots: &[],
        free_capacity: &BTreeMap::new(),
        taken: &|_| false,
        vms: &vms,
        max_new_slots: None,
        change: Some(OpenChange { offered: &[], former: std::slice::from_ref(&former) }),
    };
    assert_eq!(shown(&plan(&target(gib(24)), &world).unwrap()), ["#0 12/4", "#1 12/4"]);
}

proptest! {
    #[test]
    fn slots_around_vms_sum_up_to_the_amount_and_take_each_vm_once(
        wanted in 1_u64..400,
        flavors in prop::collection::vec("xl|l|s|none", 0..8),
    ) {
        let named: Vec<_> = flavors.iter().enumerate().map(|(number, flavor)| (format!("v{number}"), flavor)).collect();
        let vms = running(&named.iter().map(|(vm, flavor)| (vm.as_str(), flavor.as_str())).collect::<Vec<_>>());
        let plan = with_vms(gib(wanted), &[], &vms, None).unwrap();
        prop_assert_eq!(plan.create.iter().map(|new| new.size.memory).sum::<Bytes>(), gib(wanted));
        let taken: Vec<_> = plan.around_vms().map(|(_, vm)| &vm.id).collect();
        prop_assert_eq!(taken.iter().collect::<BTreeSet<_>>().len(), taken.len());
        let (group, size) = (amber(), |flavor: &Flavor| flavor.size());
        for (new, vm) in plan.around_vms() {
            let whole = group.flavor(&vm.flavor).map(size).unwrap();
            prop_assert!(new.size.memory > Bytes::ZERO && new.size.fits(whole));
        }
        let usable = vms.iter().filter(|vm| group.flavor(&vm.flavor).is_some()).count();
        prop_assert!(plan.unplaced().count() == 0 || taken.len() == usable, "all VMs come before new hosts");
    }
}
