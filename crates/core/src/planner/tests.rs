mod payg;
mod twice;

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::testing::{PREFIX, amber, gib, slot};
use crate::units::Cores;

fn groups() -> FlavorGroups {
    [amber()].into_iter().collect()
}

fn target(memory: Bytes) -> Target {
    Target {
        commitment: "uuid-1".into(),
        project: "project".into(),
        domain: "domain".into(),
        group: "amber".into(),
        zone: "az-a".into(),
        memory,
        start: None,
        end: None,
        generation: 1,
        prefix: PREFIX.to_owned(),
    }
}

fn planned(target: &Target, slots: &[Slot], free_capacity: &[(&str, (u64, i64))]) -> SlotPlan {
    let free_capacity =
        free_capacity.iter().map(|(host, (m, c))| ((*host).into(), Resources::new(gib(*m), Cores::new(*c)))).collect();
    let world = PlannerInput {
        groups: &groups(),
        slots,
        free_capacity: &free_capacity,
        taken: &|_| false,
        vms: &[],
        max_new_slots: None,
        change: None,
    };
    plan(target, &world).unwrap()
}

/// The plan as `release #2 | cut #0 10/3 | create #3 l 30/10`, with sizes in GiB and cores.
fn story(plan: &SlotPlan) -> String {
    let number = |name: &SlotName| name.as_str().trim_start_matches(PREFIX).to_owned();
    let size = |size: Resources| format!("{}/{}", size.memory.mib_up() / 1024, size.cpu);
    let mut parts: Vec<_> = plan.release.iter().map(|r| format!("release #{}", number(&r.name))).collect();
    parts.extend(plan.update.iter().map(|u| format!("write #{} {}", number(&u.name), size(u.size))));
    parts.extend(plan.create.iter().map(|c| {
        format!("create #{} {} {}", c.number, c.flavor.name.as_str().trim_start_matches("amber_"), size(c.size))
    }));
    parts.join(" | ")
}

fn reported(gib_wanted: u64, slots: &[Slot]) -> (String, usize) {
    let plan = planned(&target(gib(gib_wanted)), slots, &[]);
    (story(&plan), plan.total())
}

fn xl(number: u64, host: &str, vms: &[(&str, u64)]) -> Slot {
    slot(number, "amber_xl", (60, 15), host, vms)
}

fn l(number: u64, host: &str, vms: &[(&str, u64)]) -> Slot {
    slot(number, "amber_l", (30, 10), host, vms)
}

fn example_3() -> [Slot; 3] {
    [xl(0, "h1", &[("vm", 60)]), xl(1, "h2", &[]), l(2, "-", &[])]
}

#[test]
fn memory_is_met_with_the_largest_flavors_first() {
    assert_eq!(reported(150, &[]), ("create #0 xl 60/15 | create #1 xl 60/15 | create #2 l 30/10".into(), 3));
}

#[test]
fn the_remainder_has_its_share_of_cores() {
    let expected = "create #0 xl 60/15 | create #1 l 30/10 | create #2 s 12/4 | create #3 s 3/1";
    assert_eq!(reported(105, &[]), (expected.into(), 4));
}

#[test]
fn shrinking_releases_slots_without_vms() {
    assert_eq!(reported(60, &example_3()), ("release #1 | release #2".into(), 1));
}

#[test]
fn cuts_instead_of_creating() {
    assert_eq!(reported(100, &example_3()), ("release #2 | write #1 40/10".into(), 2));
}

#[test]
fn another_zone_releases_all_slots_and_creates_new_ones() {
    let target = Target { zone: "az-b".into(), ..target(gib(90)) };
    let plan = planned(&target, &[xl(0, "h1", &[]), l(1, "h2", &[("v", 30)])], &[]);
    assert_eq!(story(&plan), "release #0 | release #1 | create #2 xl 60/15 | create #3 l 30/10");
    assert!(plan.release.iter().all(|release| release.why == ReleaseReason::OtherIdentity));
}

#[test]
fn releases_the_least_used() {
    let slots = [xl(0, "h1", &[("a", 60)]), xl(1, "h2", &[("b", 60)]), l(2, "h3", &[("c", 30)])];
    assert_eq!(reported(90, &slots), ("release #2 | write #0 30/8".into(), 2));
    let half_used = [xl(0, "h1", &[("a", 60)]), xl(1, "h2", &[("b", 20)]), l(2, "h3", &[("c", 10)])];
    assert_eq!(reported(90, &half_used), ("write #1 20/5 | write #2 10/4".into(), 3), "no VM loses its slot");
}

#[test]
fn an_amount_of_zero_releases_everything() {
    assert_eq!(reported(0, &example_3()), ("release #0 | release #1 | release #2".into(), 0));
}

#[test]
fn numbers_of_slots_are_not_used_again() {
    let mut slots = [xl(0, "h1", &[("a", 60)]), xl(4, "h2", &[]), slot(5, "amber_s", (12, 4), "-", &[])];
    slots[1].group = "beryl".into();
    assert_eq!(reported(132, &slots), ("release #4 | create #6 xl 60/15".into(), 3));
}

#[test]
fn more_new_slots_than_the_limit_are_an_error() {
    let world = PlannerInput {
        groups: &groups(),
        slots: &[],
        free_capacity: &BTreeMap::new(),
        taken: &|_| false,
        vms: &[],
        max_new_slots: Some(3),
        change: None,
    };
    let error = plan(&target(gib(105)), &world).unwrap_err().to_string();
    assert_eq!(error, "commitment would create 4 new reservation slots, exceeds limit of 3");
}

/// The largest flavor that fits, and of equal ones the first; a rest smaller than the smallest flavor gets that flavor,
/// with its share of cores.
#[test]
fn choosing_a_flavor() {
    let mut equals = amber();
    equals.flavors.insert(1, Flavor { name: "amber_twin".into(), ..equals.flavors[0].clone() });
    let groups = [equals].into_iter().collect();
    let free_capacity = BTreeMap::new();
    let world = PlannerInput {
        groups: &groups,
        slots: &[],
        free_capacity: &free_capacity,
        taken: &|_| false,
        vms: &[],
        max_new_slots: None,
        change: None,
    };
    let chosen = |wanted: Bytes| story(&plan(&target(wanted), &world).unwrap());
    for (wanted, expected) in [
        (gib(60), "create #0 xl 60/15"),
        (gib(59), "create #0 l 30/10 | create #1 s 12/4 | create #2 s 12/4 | create #3 s 5/2"),
        (gib(12), "create #0 s 12/4"),
        (gib(11), "create #0 s 11/4"),
        (gib(3), "create #0 s 3/1"),
    ] {
        assert_eq!(chosen(wanted), expected);
    }
}

#[test]
fn what_is_big_enough_is_not_exchanged_for_another_shape() {
    assert_eq!(
        reported(60, &[slot(0, "gone", (60, 15), "h1", &[])]),
        (String::new(), 1),
        "its flavor has left the group"
    );
    let small = |number| slot(number, "amber_s", (12, 4), "h1", &[]);
    assert_eq!(reported(60, &[0, 1, 2, 3, 4].map(small)), (String::new(), 5), "one large slot would be enough");
}

#[test]
fn the_limit_is_found_before_anything_is_done() {
    let elsewhere = Slot { zone: "az-b".into(), ..xl(0, "h1", &[]) };
    let (groups, free_capacity) = (groups(), BTreeMap::new());
    let world = PlannerInput {
        groups: &groups,
        slots: &[elsewhere],
        free_capacity: &free_capacity,
        taken: &|_| false,
        vms: &[],
        max_new_slots: Some(1),
        change: None,
    };
    let refused = plan(&target(gib(90)), &world);
    assert_eq!(refused, Err(PlanError::SlotLimit { count: 2, limit: 1 }), "there is no plan, so nothing is repaired");
}

#[test]
fn an_absurd_amount_is_an_error_and_not_a_loop() {
    let world = PlannerInput {
        groups: &groups(),
        slots: &[],
        free_capacity: &BTreeMap::new(),
        taken: &|_| false,
        vms: &[],
        max_new_slots: None,
        change: None,
    };
    assert!(matches!(plan(&target(Bytes::MAX), &world), Err(PlanError::SlotLimit { .. })));
}

#[test]
fn errors_begin_with_the_fixed_texts_and_say_what_to_change() {
    let mut empty = amber();
    empty.flavors.clear();
    let error = |groups: FlavorGroups| {
        let world = PlannerInput {
            groups: &groups,
            slots: &[],
            free_capacity: &BTreeMap::new(),
            taken: &|_| false,
            vms: &[],
            max_new_slots: None,
            change: None,
        };
        plan(&target(gib(1)), &world).unwrap_err().to_string()
    };
    assert!(error([empty].into_iter().collect()).starts_with("flavor group amber has no flavors"));
    let other = FlavorGroup { name: "beryl".into(), ..amber() };
    assert_eq!(
        error([other].into_iter().collect()),
        "flavor group not found: amber; spec.flavorGroupName must be one of: beryl"
    );
}

#[test]
fn growing_restores_small_slots_first_where_the_host_has_capacity() {
    let small = slot(0, "amber_xl", (40, 10), "h1", &[]);
    let grow = |free_capacity: &[(&str, (u64, i64))]| {
        story(&planned(&target(gib(70)), std::slice::from_ref(&small), free_capacity))
    };
    assert_eq!(grow(&[("h1", (20, 5))]), "write #0 60/15 | create #1 s 10/4");
    assert_eq!(grow(&[("h1", (19, 5))]), "create #1 l 30/10");
    assert_eq!(grow(&[]), "create #1 l 30/10");
    let plan = planned(&target(gib(70)), &[small], &[("h1", (20, 5))]);
    assert_eq!(plan.update[0].enlarge_on, Some("h1".into()));
}

#[test]
fn two_small_slots_share_the_capacity_of_their_host() {
    let slots = [slot(0, "amber_s", (2, 1), "h1", &[]), slot(1, "amber_s", (2, 1), "h1", &[])];
    let plan = planned(&target(gib(24)), &slots, &[("h1", (12, 4))]);
    assert_eq!(story(&plan), "write #0 12/4 | create #2 s 10/4");
}

#[test]
fn a_lost_flavor_frees_only_slots_without_host() {
    let slots = [slot(0, "onyx", (60, 15), "-", &[]), slot(1, "onyx", (60, 15), "h1", &[])];
    assert_eq!(reported(120, &slots), ("release #0 | create #2 xl 60/15".into(), 2));
    assert_eq!(reported(40, &slots[1..]), ("write #1 40/10".into(), 1), "cores by the slot's own ratio");
}

#[test]
fn hand_edits_are_repaired() {
    let unplaced = Slot { size: Resources::new(gib(60), Cores::new(1)), ..xl(0, "-", &[]) };
    assert_eq!(reported(60, &[unplaced]), ("write #0 60/15".into(), 1));
    let label = Slot { labelled: false, ..xl(0, "h1", &[]) };
    assert_eq!(reported(60, &[label]), ("write #0 60/15".into(), 1));
    let names = |name: &SlotName| name.as_str() == "commitment-uuid-1-1";
    let world = PlannerInput {
        groups: &groups(),
        slots: &[xl(0, "h", &[])],
        free_capacity: &BTreeMap::new(),
        taken: &names,
        vms: &[],
        max_new_slots: None,
        change: None,
    };
    assert_eq!(story(&plan(&target(gib(90)), &world).unwrap()), "create #2 l 30/10");
}

#[test]
fn behind_the_last_number_comes_the_first_that_is_not_taken() {
    let last = xl(u64::MAX, "h", &[]);
    let names = |name: &SlotName| name.as_str() == "commitment-uuid-1-0";
    let (groups, free_capacity) = (groups(), BTreeMap::new());
    let world = PlannerInput {
        groups: &groups,
        slots: &[last],
        free_capacity: &free_capacity,
        taken: &names,
        vms: &[],
        max_new_slots: None,
        change: None,
    };
    assert_eq!(story(&plan(&target(gib(90)), &world).unwrap()), "create #1 l 30/10");
}

#[test]
fn cores_are_repaired_only_where_the_host_has_capacity() {
    let cores = |vms: &[(&str, u64)]| Slot { size: Resources::new(gib(60), Cores::new(1)), ..xl(0, "h1", vms) };
    let repair =
        |slot: Slot, free_capacity: &[(&str, (u64, i64))]| story(&planned(&target(gib(60)), &[slot], free_capacity));
    assert_eq!(repair(cores(&[]), &[("h1", (0, 14))]), "write #0 60/15");
    assert_eq!(repair(cores(&[]), &[]), "", "nothing is known about the host");
    assert_eq!(repair(cores(&[]), &[("h1", (0, 13))]), "release #0 | create #1 xl 60/15", "another host is needed");
    assert_eq!(repair(cores(&[("vm", 60)]), &[("h1", (0, 13))]), "", "a VM keeps its slot");
    assert_eq!(enlargeable(&[cores(&[])], &amber()).count(), 1);
}

#[test]
fn cores_that_were_raised_are_given_up_as_far_as_no_vm_uses_them() {
    let raised = |host, vms: &[(&str, u64)]| slot(0, "amber_xl", (60, 500), host, vms);
    assert_eq!(reported(60, &[raised("h1", &[])]), ("write #0 60/15".into(), 1), "needs no free capacity");
    assert_eq!(reported(60, &[raised("-", &[])]), ("write #0 60/15".into(), 1));
    let mut with_vm = raised("h1", &[("vm", 20)]);
    with_vm.expected.get_mut("vm").unwrap().cpu = Cores::new(24);
    assert_eq!(reported(60, &[with_vm]), ("write #0 60/24".into(), 1));
}

/// Without the capacity of its host a slot above its flavor would keep fewer cores than its memory needs.
#[test]
fn a_slot_that_was_raised_above_its_flavor_has_the_cores_that_its_memory_needs() {
    let raised = slot(0, "amber_xl", (300, 15), "h1", &[]);
    assert_eq!(enlargeable(std::slice::from_ref(&raised), &amber()).count(), 1);
    let plan = planned(&target(gib(240)), std::slice::from_ref(&raised), &[("h1", (0, 45))]);
    assert_eq!(story(&plan), "write #0 240/60");
    assert_eq!(plan.update[0].enlarge_on, Some("h1".into()));
    let plan = planned(&target(gib(240)), &[raised], &[("h1", (0, 44))]);
    assert_eq!(plan.release[0].why, ReleaseReason::TooFewCores, "another host is needed");
    let complete = slot(0, "amber_xl", (300, 75), "h1", &[]);
    assert_eq!(enlargeable(&[complete], &amber()).count(), 0);
}

#[test]
fn what_is_being_deleted_holds_nothing_but_its_number() {
    let going = Slot { terminating: true, ..xl(4, "h1", &[]) };
    assert_eq!(reported(60, &[going]), ("create #5 xl 60/15".into(), 1));
}

#[test]
fn metadata_is_synced_and_cleared() {
    let end = Timestamp::from_second(1_772_366_400).ok();
    let with_end = Slot { end, ..xl(0, "h1", &[]) };
    assert_eq!(reported(60, std::slice::from_ref(&with_end)), ("write #0 60/15".into(), 1), "the old end is removed");
    let plan = planned(&Target { end, ..target(gib(60)) }, &[with_end], &[]);
    assert_eq!(story(&plan), "");
    for differs in [
        Target { domain: "other".into(), ..target(gib(60)) },
        Target { start: end, ..target(gib(60)) },
        Target { end, ..target(gib(60)) },
    ] {
        assert_eq!(story(&planned(&differs, &[xl(0, "h1", &[])], &[])), "write #0 60/15", "{differs:?}");
    }
}

#[test]
fn a_new_generation_writes_only_slots_that_are_not_in_force() {
    let target = Target { generation: 2, ..target(gib(90)) };
    let plan = planned(&target, &[xl(0, "h1", &[]), l(1, "-", &[])], &[]);
    assert_eq!(story(&plan), "write #1 30/10");
}

/// The slots after a plan, as the API server would have them.
fn apply(plan: &SlotPlan, target: &Target, slots: &[Slot]) -> Vec<Slot> {
    let gone: BTreeSet<_> = plan.release.iter().map(|release| &release.name).collect();
    let mut after: Vec<_> = slots.iter().filter(|slot| !gone.contains(&slot.name)).cloned().collect();
    for update in &plan.update {
        let slot = after.iter_mut().find(|slot| slot.name == update.name).unwrap();
        slot.size = update.size;
        slot.labelled = true;
        (slot.commitment, slot.domain) = (target.commitment.clone(), target.domain.clone());
        (slot.start, slot.end, slot.parent_generation) = (target.start, target.end, target.generation);
    }
    after.extend(plan.create.iter().map(|new| Slot {
        name: new.name.clone(),
        flavor: new.flavor.name.clone(),
        size: new.size,
        parent_generation: target.generation,
        ready: None,
        ..slot(0, "", (0, 0), "-", &[])
    }));
    after
}

fn any_slot() -> impl Strategy<Value = Slot> {
    let flavor = prop::sample::select(vec!["amber_xl", "amber_l", "amber_s", "onyx"]);
    let host = prop::sample::select(vec!["-", "h1", "h2"]);
    let vms = prop::collection::btree_map("[a-f]", 0_u64..40, 0..3);
    let identity = prop::sample::select(vec!["amber", "amber", "amber", "amber", "beryl"]);
    ((0_u64..30), flavor, 0_i64..70_000, 0_i64..20, (host, vms, any::<bool>(), identity), 0_i64..3, any::<bool>())
        .prop_map(|(number, flavor, mib, cpu, (host, vms, whole, identity), generation, labelled)| {
            let vms: Vec<_> = vms.iter().map(|(vm, size)| (vm.as_str(), *size)).collect();
            let memory = Bytes::new((mib << 20) + i64::from(!whole) * 12_345);
            Slot {
                size: Resources::new(memory, Cores::new(cpu)),
                group: identity.into(),
                parent_generation: generation,
                labelled,
                ..slot(number, flavor, (0, 0), host, &vms)
            }
        })
}

fn any_slots() -> impl Strategy<Value = Vec<Slot>> {
    prop::collection::vec(any_slot(), 0..12).prop_map(|slots| {
        let by_name: BTreeMap<_, _> = slots.into_iter().map(|slot| (slot.name.clone(), slot)).collect();
        by_name.into_values().collect()
    })
}

/// The capacity that is left after the plan has enlarged slots. Cores that it gives up are free only when they have been
/// written.
fn left<'h>(plan: &SlotPlan, slots: &[Slot], free_capacity: &[(&'h str, (u64, i64))]) -> Vec<(&'h str, (u64, i64))> {
    let more = |host: &str| {
        let enlarged =
            plan.update.iter().filter(|update| update.enlarge_on.as_ref().is_some_and(|on| on.as_str() == host));
        let before = |name: &SlotName| slots.iter().find(|slot| slot.name == *name).unwrap().size;
        enlarged.map(|update| (update.size - before(&update.name)).at_least_zero()).sum()
    };
    let rest = |(host, (memory, cpu)): &(&'h str, (u64, i64))| {
        let taken: Resources = more(host);
        (
            *host,
            (memory.saturating_sub(taken.memory.mib_up().max(0).unsigned_abs().div_ceil(1024)), cpu - taken.cpu.get()),
        )
    };
    free_capacity.iter().map(rest).collect()
}

proptest! {
    #[test]
    fn the_total_is_the_desired_amount_and_planning_again_plans_nothing(
        slots in any_slots(),
        mib in 0_u64..500_000,
        free_capacity in prop::collection::btree_map(prop::sample::select(vec!["h1", "h2"]), (0_u64..100, 0_i64..30), 0..3),
    ) {
        let target = target(Bytes::from_mib(mib));
        let free_capacity: Vec<_> = free_capacity.into_iter().collect();
        let plan = planned(&target, &slots, &free_capacity);
        let after = apply(&plan, &target, &slots);
        let total: Bytes = after.iter().map(|slot| slot.size.memory).sum();
        prop_assert_eq!(total.mib_up(), i64::try_from(mib).unwrap());
        prop_assert_eq!(plan.total(), after.len());
        let again = planned(&target, &after, &left(&plan, &slots, &free_capacity));
        prop_assert!(again.is_empty(), "{} then {}", plan, again);
    }

    #[test]
    fn no_slot_with_a_vm_goes_while_the_target_can_be_reached_without_it(slots in any_slots(), mib in 0_u64..500_000) {
        let plan = planned(&target(Bytes::from_mib(mib)), &slots, &[]);
        let lost = plan.release.iter().any(|release| release.why == ReleaseReason::Surplus && !release.empty);
        let needed: Bytes = slots.iter()
            .filter(|slot| slot.group.as_str() == "amber" && !slot.expected.is_empty())
            .map(|slot| slot.used().max(Bytes::MIB).min(slot.size.memory))
            .sum();
        prop_assert!(!lost || needed > Bytes::from_mib(mib), "{}", plan);
    }

    #[test]
    fn growing_never_shrinks_and_shrinking_never_creates(slots in any_slots(), mib in 0_u64..500_000) {
        let plan = planned(&target(Bytes::from_mib(mib)), &slots, &[]);
        let surplus = plan.release.iter().any(|release| release.why == ReleaseReason::Surplus);
        prop_assert!(plan.create.is_empty() || !surplus, "{}", plan);
        prop_assert!(plan.create.iter().all(|new| new.size.memory.get() % (1 << 20) == 0));
    }

    #[test]
    fn the_order_of_the_slots_does_not_matter(slots in any_slots(), mib in 0_u64..500_000) {
        let target = target(Bytes::from_mib(mib));
        let mut turned = slots.clone();
        turned.reverse();
        prop_assert_eq!(planned(&target, &slots, &[]), planned(&target, &turned, &[]));
    }
}
