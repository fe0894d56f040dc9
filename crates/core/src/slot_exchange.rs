//! Slots that the commitments of one open change hand to each other (docs/architecture.md, "Changes of commitments").
//!
//! While a change is open, its commitments release nothing by themselves: those that grow first get whole slots of those that
//! shrink, as they are, and then their capacity. A roll-back is the same with the roles exchanged.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::flavor::FlavorGroups;
use crate::ids::{CommitmentUuid, SlotName};
use crate::planner::{FormerSlot, PlannerInput, ReleaseReason, Target, plan};
use crate::slot::Slot;

/// A commitment of an open change, in the order of the change.
#[derive(Clone, Debug)]
pub struct GroupMember {
    pub commitment: CommitmentUuid,
    /// What it shall hold; `None` for nothing.
    pub target: Option<Target>,
    pub slots: Vec<Slot>,
    /// Its slots from before the change, while it is rolled back: it gives up only others.
    pub former: Option<Vec<FormerSlot>>,
}

/// Who gets which slots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlotExchange {
    /// By the commitment that gets them.
    pub offered: BTreeMap<CommitmentUuid, Vec<Slot>>,
    /// The placed slots that are released and that no commitment takes over: their capacity is there for those that grow.
    pub left: Vec<SlotName>,
}

/// Gives the slots that members of a change release to those that grow, each as much as it lacks, in the order of the
/// change. It depends on nothing but the change and the slots, so that each member computes the same.
pub fn exchange_slots(members: &[GroupMember], groups: &FlavorGroups) -> SlotExchange {
    let mut pool: Vec<&Slot> = members.iter().flat_map(|member| surplus(member, groups)).collect();
    let mut offered = BTreeMap::new();
    for (member, target) in members.iter().filter_map(|member| Some((member, member.target.as_ref()?))) {
        let own = member.slots.iter().filter(|slot| !slot.terminating && is_alike(slot, target));
        let mut missing = target.memory - own.map(|slot| slot.size.memory).sum();
        let former: BTreeSet<_> = member.former.iter().flatten().map(|former| &former.name).collect();
        pool.sort_by_cached_key(|slot| rank(slot, &former));
        let mut taken = Vec::new();
        pool.retain(|slot| {
            let fits = slot.commitment != member.commitment && is_alike(slot, target) && slot.size.memory <= missing;
            if fits {
                missing -= slot.size.memory;
                taken.push(Slot::clone(slot));
            }
            !fits
        });
        if !taken.is_empty() {
            offered.insert(member.commitment.clone(), taken);
        }
    }
    pool.sort_by(|a, b| a.name.cmp(&b.name));
    let left = pool.into_iter().filter(|slot| slot.target_host.is_some()).map(|slot| slot.name.clone()).collect();
    SlotExchange { offered, left }
}

/// What the commitment would release by itself: all of its slots, those that are new since the change began, or those that
/// its planner gives up.
fn surplus<'m>(member: &'m GroupMember, groups: &FlavorGroups) -> Vec<&'m Slot> {
    let staying = member.slots.iter().filter(|slot| !slot.terminating);
    if let Some(former) = &member.former {
        let is_former = |slot: &&Slot| former.iter().any(|former| former.name == slot.name);
        return staying.filter(|slot| !is_former(slot)).collect();
    }
    let Some(target) = &member.target else { return staying.collect() };
    let none = BTreeMap::new();
    let world = PlannerInput {
        groups,
        slots: &member.slots,
        free_capacity: &none,
        taken: &|_| false,
        vms: &[],
        max_new_slots: None,
        change: None,
    };
    let planned = plan(target, &world).unwrap_or_default();
    let surplus = planned.release.iter().filter(|release| release.why == ReleaseReason::Surplus);
    let names: BTreeSet<_> = surplus.map(|release| &release.name).collect();
    staying.filter(|slot| names.contains(&slot.name)).collect()
}

/// Slots of the same identity can change their commitment without a change of anything else.
fn is_alike(slot: &Slot, target: &Target) -> bool {
    (&slot.project, &slot.group, &slot.zone) == (&target.project, &target.group, &target.zone)
}

/// A commitment first gets its own slots back, then slots with VMs, so that these keep their place, then the largest.
fn rank<'s>(slot: &'s Slot, former: &BTreeSet<&SlotName>) -> impl Ord + use<'s> {
    let is_former = former.contains(&slot.name);
    let order = (is_former, slot.target_host.is_some(), !slot.expected.is_empty(), slot.size.memory);
    (Reverse(order), &slot.name)
}

#[cfg(test)]
mod tests;
