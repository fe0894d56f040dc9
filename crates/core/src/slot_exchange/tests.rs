use proptest::prelude::*;

use super::*;
use crate::planner::{OpenChange, SlotPlan};
use crate::testing::{amber, gib, slot};
use crate::units::{Bytes, Resources};

fn groups() -> FlavorGroups {
    [amber()].into_iter().collect()
}

fn target(commitment: &str, memory: u64) -> Target {
    Target {
        commitment: commitment.into(),
        project: "project".into(),
        domain: "domain".into(),
        group: "amber".into(),
        zone: "az-a".into(),
        memory: gib(memory),
        start: None,
        end: None,
        generation: 1,
        prefix: format!("commitment-{commitment}-"),
    }
}

/// Slots of 12 GiB on the host `h`, the first ones with a VM.
fn small_slots(commitment: &str, count: u64, with_vms: u64) -> Vec<Slot> {
    let one = |number| {
        let vm = format!("vm-{commitment}-{number}");
        let vms = if number < with_vms { vec![(vm.as_str(), 12)] } else { Vec::new() };
        Slot {
            name: format!("commitment-{commitment}-{number}").into(),
            commitment: commitment.into(),
            ..slot(number, "amber_s", (12, 4), "h", &vms)
        }
    };
    (0..count).map(one).collect()
}

fn former(slots: &[Slot]) -> Vec<FormerSlot> {
    let of = |slot: &Slot| FormerSlot { name: slot.name.clone(), host: slot.target_host.clone(), size: slot.size };
    slots.iter().map(of).collect()
}

fn member(commitment: &str, wanted: Option<u64>, slots: Vec<Slot>) -> GroupMember {
    let target = wanted.map(|wanted| target(commitment, wanted));
    GroupMember { commitment: commitment.into(), target, slots, former: None }
}

fn names(slots: &[Slot]) -> Vec<&str> {
    slots.iter().map(|slot| slot.name.as_str()).collect()
}

fn planned(target: &Target, slots: &[Slot], change: OpenChange<'_>) -> SlotPlan {
    let (groups, none) = (groups(), BTreeMap::new());
    let world = PlannerInput {
        groups: &groups,
        slots,
        free_capacity: &none,
        taken: &|_| false,
        vms: &[],
        max_new_slots: None,
        change: Some(change),
    };
    plan(target, &world).unwrap()
}

#[test]
fn a_split_gives_each_part_its_share_of_the_slots_with_vms_first() {
    let members = [
        member("a", None, small_slots("a", 4, 1)),
        member("b", Some(36), Vec::new()),
        member("c", Some(12), Vec::new()),
    ];
    let exchange = exchange_slots(&members, &groups());
    let offered = |who: &str| names(&exchange.offered[who]);
    assert_eq!(offered("b"), ["commitment-a-0", "commitment-a-1", "commitment-a-2"]);
    assert_eq!(offered("c"), ["commitment-a-3"]);
    assert_eq!(exchange.left, []);
}

#[test]
fn a_commitment_that_shrinks_gives_up_what_its_planner_would_release() {
    let members = [member("a", Some(36), small_slots("a", 4, 3)), member("b", Some(12), Vec::new())];
    let exchange = exchange_slots(&members, &groups());
    assert_eq!(names(&exchange.offered["b"]), ["commitment-a-3"], "the slot without a VM");
}

#[test]
fn slots_of_another_group_are_not_handed_over_but_their_capacity_is_left() {
    let mut other = target("b", 24);
    other.group = "opal".into();
    let members = [
        member("a", None, small_slots("a", 2, 0)),
        GroupMember { target: Some(other), ..member("b", None, Vec::new()) },
    ];
    let exchange = exchange_slots(&members, &groups());
    assert!(exchange.offered.is_empty());
    assert_eq!(exchange.left, ["commitment-a-0".into(), "commitment-a-1".into()]);
}

#[test]
fn slots_without_a_host_have_no_capacity_to_leave() {
    let mut slots = small_slots("a", 1, 0);
    slots[0].target_host = None;
    assert_eq!(exchange_slots(&[member("a", None, slots)], &groups()).left, []);
}

#[test]
fn while_a_change_is_open_a_commitment_that_shrinks_keeps_its_slots() {
    let slots = small_slots("a", 4, 0);
    let open = OpenChange { offered: &[], former: &[] };
    let plan = planned(&target("a", 12), &slots, open);
    assert_eq!((plan.is_empty(), plan.total()), (true, 4));
}

#[test]
fn offered_slots_are_taken_over_before_slots_are_created() {
    let offered = small_slots("a", 2, 2);
    let plan = planned(&target("b", 36), &[], OpenChange { offered: &offered, former: &[] });
    assert_eq!(plan.take_over.iter().map(|slot| slot.name.as_str()).collect::<Vec<_>>(), names(&offered));
    assert_eq!((plan.create.len(), plan.total()), (1, 3));
    assert_eq!(plan.create[0].size.memory, gib(12));
}

#[test]
fn a_roll_back_gives_the_former_slots_back_by_name() {
    let all = small_slots("a", 3, 0);
    let lost: Vec<Slot> = all.iter().map(|slot| Slot { commitment: "b".into(), ..slot.clone() }).collect();
    let back = GroupMember { former: Some(former(&all)), ..member("a", Some(36), Vec::new()) };
    let exchange = exchange_slots(&[back, member("b", None, lost.clone())], &groups());
    assert_eq!(names(&exchange.offered["a"]), names(&all));
    let open = OpenChange { offered: &exchange.offered["a"], former: &former(&all) };
    let plan = planned(&target("a", 36), &[], open);
    assert_eq!((plan.take_over.len(), plan.create.len()), (3, 0));
}

#[test]
fn a_roll_back_creates_lost_slots_with_their_names_and_asks_for_their_hosts() {
    let all = small_slots("a", 3, 0);
    let plan = planned(&target("a", 36), &all[..1], OpenChange { offered: &[], former: &former(&all) });
    let created: Vec<_> = plan.create.iter().map(|slot| (slot.name.as_str(), slot.prefer.clone())).collect();
    assert_eq!(created, [("commitment-a-1", Some("h".into())), ("commitment-a-2", Some("h".into()))]);
}

#[test]
fn a_new_slot_of_a_roll_back_has_none_of_the_names_that_come_back() {
    let all = small_slots("a", 1, 0);
    let plan = planned(&target("a", 24), &[], OpenChange { offered: &[], former: &former(&all) });
    let created: Vec<_> = plan.create.iter().map(|slot| slot.name.as_str()).collect();
    assert_eq!(created, ["commitment-a-0", "commitment-a-1"]);
}

#[test]
fn a_roll_back_gives_enlarged_slots_their_former_size() {
    let former = former(&small_slots("a", 1, 0));
    let mut enlarged = small_slots("a", 1, 0);
    enlarged[0].size = Resources::new(gib(30), enlarged[0].size.cpu);
    let plan = planned(&target("a", 12), &enlarged, OpenChange { offered: &[], former: &former });
    assert_eq!(plan.update.iter().map(|update| update.size.memory).collect::<Vec<_>>(), [gib(12)]);
}

#[test]
fn a_roll_back_gives_up_only_slots_that_are_new() {
    let (own, new) = (small_slots("b", 1, 0), small_slots("a", 1, 0));
    let mut slots = own.clone();
    slots.extend(new.into_iter().map(|slot| Slot { commitment: "b".into(), ..slot }));
    let b = GroupMember { former: Some(former(&own)), ..member("b", Some(12), slots) };
    let a = GroupMember { former: Some(Vec::new()), ..member("a", Some(12), Vec::new()) };
    let exchange = exchange_slots(&[b, a], &groups());
    assert_eq!(names(&exchange.offered["a"]), ["commitment-a-0"]);
}

proptest! {
    /// However commitments are split: none gets more than it lacks, no slot goes to two, and none disappears.
    #[test]
    fn slots_are_neither_lost_nor_given_twice(
        before in prop::collection::vec((1..8_u64, 0..8_u64, prop::option::of(0..100_u64)), 1..4),
        new in prop::collection::vec(0..100_u64, 0..4),
    ) {
        let old = before.iter().enumerate().map(|(n, (count, vms, wanted))| {
            let uuid = format!("old{n}");
            member(&uuid, *wanted, small_slots(&uuid, *count, *vms))
        });
        let new = new.iter().enumerate().map(|(n, wanted)| member(&format!("new{n}"), Some(*wanted), Vec::new()));
        let members: Vec<_> = old.chain(new).collect();
        let exchange = exchange_slots(&members, &groups());
        let mut given: Vec<_> = exchange.offered.values().flatten().map(|slot| slot.name.clone()).collect();
        given.extend(exchange.left.iter().cloned());
        let all = given.len();
        given.sort();
        given.dedup();
        prop_assert_eq!(given.len(), all, "given twice");
        for (who, slots) in &exchange.offered {
            let member = members.iter().find(|member| member.commitment == *who).unwrap();
            let held: Bytes = member.slots.iter().chain(slots).map(|slot| slot.size.memory).sum();
            prop_assert!(held <= member.target.as_ref().unwrap().memory);
            let open = OpenChange { offered: slots, former: &[] };
            let plan = planned(member.target.as_ref().unwrap(), &member.slots, open);
            prop_assert_eq!(plan.take_over.len(), slots.len(), "the planner takes what is offered");
        }
    }
}
