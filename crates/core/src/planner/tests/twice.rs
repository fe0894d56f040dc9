//! A second implementation of the planner, over plain lists and one slot after the other. It shares only the types with
//! the planner, and is slow.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{any_slots, groups, target};
use crate::flavor::{Flavor, FlavorGroups};
use crate::ids::HostName;
use crate::planner::{KeptSlot, PlanError, PlannerInput, ReleaseReason, SlotPlan, Target, plan};
use crate::slot::{self, Slot};
use crate::units::{Bytes, Cores, Resources, scale_cores};

/// A slot that stays, with its future size.
#[derive(Clone)]
struct Staying {
    slot: Slot,
    number: Option<u64>,
    flavor: Option<Flavor>,
    size: Resources,
    enlarged_on: Option<HostName>,
}

/// The decisions so far.
struct Naive<'a> {
    target: &'a Target,
    groups: &'a FlavorGroups,
    stay: Vec<Staying>,
    released: Vec<(String, ReleaseReason)>,
    free_capacity: BTreeMap<HostName, Resources>,
}

impl Staying {
    fn new(slot: &Slot, target: &Target, groups: &FlavorGroups) -> Self {
        let flavor = groups.get(&target.group).and_then(|group| group.flavor(&slot.flavor)).cloned();
        let number = slot::number(&slot.name, &target.prefix);
        Self { slot: slot.clone(), number, flavor, size: slot.size, enlarged_on: None }
    }

    fn is_empty(&self) -> bool {
        self.slot.expected.is_empty()
    }

    fn cut_to(&mut self, memory: Bytes) {
        let cpu = match &self.flavor {
            Some(flavor) => flavor.part(memory).cpu,
            None => scale_cores(self.size.cpu, memory, self.size.memory),
        };
        self.size = Resources::new(memory, cpu.min(self.size.cpu));
    }

    /// Whether the slot could become larger; `None` if nothing is known about its host.
    fn enlarge(&mut self, size: Resources, free_capacity: &mut BTreeMap<HostName, Resources>) -> Option<bool> {
        if let Some(host) = &self.slot.target_host {
            let left = *free_capacity.get(host)?;
            let more = size - self.size;
            if more.memory > left.memory || more.cpu > left.cpu {
                return Some(false);
            }
            free_capacity.insert(host.clone(), left - more);
            self.enlarged_on = Some(host.clone());
        }
        self.size = size;
        Some(true)
    }
}

impl<'a> Naive<'a> {
    fn new(target: &'a Target, world: &PlannerInput<'a>) -> Self {
        let (mut stay, mut released) = (Vec::new(), Vec::new());
        let mut slots: Vec<&Slot> = world.slots.iter().filter(|slot| !slot.terminating).collect();
        slots.sort_by_key(|slot| (slot::number(&slot.name, &target.prefix), slot.name.clone()));
        for slot in slots {
            let staying = Staying::new(slot, target, world.groups);
            let is_other = slot.project != target.project || slot.group != target.group || slot.zone != target.zone;
            let is_lost = world.groups.get(&target.group).is_some()
                && staying.flavor.is_none()
                && slot.target_host.is_none()
                && staying.is_empty();
            let why = match () {
                () if is_other => Some(ReleaseReason::OtherIdentity),
                () if slot.size.memory <= Bytes::ZERO => Some(ReleaseReason::NoMemory),
                () if is_lost => Some(ReleaseReason::LostFlavor),
                () => None,
            };
            match why {
                Some(why) => released.push((slot.name.to_string(), why)),
                None => stay.push(staying),
            }
        }
        Self { target, groups: world.groups, stay, released, free_capacity: world.free_capacity.clone() }
    }

    fn held(&self) -> Bytes {
        self.stay.iter().map(|kept| kept.size.memory).sum()
    }

    fn missing(&self) -> Bytes {
        Bytes::from_mib(u64::try_from((self.target.memory - self.held()).mib_down()).unwrap_or(0))
    }

    /// Removes the slots of these names, in the order of the slots.
    fn release(&mut self, names: &[String], why: ReleaseReason) {
        for kept in &self.stay {
            if names.contains(&kept.slot.name.to_string()) {
                self.released.push((kept.slot.name.to_string(), why));
            }
        }
        self.stay.retain(|kept| !names.contains(&kept.slot.name.to_string()));
    }

    fn shrink(&mut self) {
        let mut left = self.held() - self.target.memory;
        let mut gone: Vec<String> = Vec::new();
        for has_host in [false, true] {
            while left > Bytes::ZERO {
                let of_class = |kept: &&mut Staying| {
                    kept.is_empty()
                        && kept.slot.target_host.is_some() == has_host
                        && !gone.contains(&kept.slot.name.to_string())
                };
                let mut candidates: Vec<&mut Staying> = self.stay.iter_mut().filter(of_class).collect();
                candidates.sort_by_key(|kept| (kept.size.memory, kept.number, kept.slot.name.clone()));
                if let Some(place) = candidates.iter().rposition(|kept| kept.size.memory <= left) {
                    left -= candidates[place].size.memory;
                    gone.push(candidates[place].slot.name.to_string());
                } else {
                    if let Some(smallest) = candidates.first_mut() {
                        smallest.cut_to(smallest.size.memory - left);
                        left = Bytes::ZERO;
                    }
                    break;
                }
            }
        }
        let mut with_vms: Vec<&mut Staying> = self.stay.iter_mut().filter(|kept| !kept.is_empty()).collect();
        with_vms.sort_by_key(|kept| (kept.slot.used(), kept.number, kept.slot.name.clone()));
        for kept in &mut with_vms {
            let unused = (kept.size.memory - kept.slot.used().max(Bytes::MIB)).at_least_zero();
            let cut = unused.min(left.at_least_zero());
            if cut > Bytes::ZERO {
                left -= cut;
                kept.cut_to(kept.size.memory - cut);
            }
        }
        for kept in with_vms {
            if left > Bytes::ZERO && kept.size.memory <= left {
                left -= kept.size.memory;
                gone.push(kept.slot.name.to_string());
            } else if left > Bytes::ZERO {
                kept.cut_to(kept.size.memory - left);
                left = Bytes::ZERO;
            }
        }
        self.release(&gone, ReleaseReason::Surplus);
    }

    fn repair_cores(&mut self) {
        let mut full = Vec::new();
        let free_capacity = &mut self.free_capacity;
        for kept in &mut self.stay {
            let Some(flavor) = &kept.flavor else { continue };
            let needed = flavor.part(kept.size.memory).cpu;
            if kept.size.cpu > needed {
                let used = kept.slot.expected.values().map(|vm| vm.cpu).sum();
                let stays = if used > kept.size.cpu { kept.size.cpu } else { used };
                kept.size.cpu = if stays > needed { stays } else { needed };
                continue;
            }
            let repaired = Resources::new(kept.size.memory, needed);
            if repaired != kept.size && kept.enlarge(repaired, free_capacity) == Some(false) && kept.is_empty() {
                full.push(kept.slot.name.to_string());
            }
        }
        self.release(&full, ReleaseReason::TooFewCores);
    }

    fn restore(&mut self) {
        let mut missing = self.missing();
        let free_capacity = &mut self.free_capacity;
        for kept in &mut self.stay {
            let Some(flavor) = kept.flavor.clone().filter(|_| kept.slot.target_host.is_some()) else { continue };
            let more = (flavor.size().memory - kept.size.memory).min(missing);
            if more > Bytes::ZERO {
                let larger = kept.size.max(flavor.part(kept.size.memory + more));
                if kept.enlarge(larger, free_capacity) == Some(true) {
                    missing -= more;
                }
            }
        }
    }

    /// Flavors and sizes of the new slots, one after the other.
    fn created(&self) -> Vec<(String, Resources)> {
        let group = self.groups.get(&self.target.group).unwrap();
        let (mut left, mut created) = (self.missing(), Vec::new());
        while left > Bytes::ZERO {
            let fitting = group.flavors.iter().filter(|flavor| flavor.size().memory <= left);
            // Of equal flavors the first in the list.
            let largest = fitting.rev().max_by_key(|flavor| flavor.size().memory);
            let smallest = group.flavors.iter().min_by_key(|flavor| flavor.size().memory).unwrap();
            let (flavor, memory) = match largest {
                Some(flavor) => (flavor, flavor.size().memory),
                None => (smallest, left),
            };
            created.push((flavor.name.to_string(), flavor.part(memory)));
            left -= memory;
        }
        created
    }
}

/// All decisions of a plan, in their order.
#[derive(Debug, PartialEq)]
struct Decided {
    released: Vec<(String, ReleaseReason)>,
    sizes: BTreeMap<String, Resources>,
    enlarged: BTreeMap<String, HostName>,
    created: Vec<(String, Resources)>,
}

fn decide_naively(target: &Target, world: &PlannerInput<'_>) -> Decided {
    let mut naive = Naive::new(target, world);
    naive.shrink();
    naive.repair_cores();
    if naive.missing() > Bytes::ZERO {
        naive.restore();
    }
    let changed = naive.stay.iter().filter(|kept| kept.size != kept.slot.size);
    let larger = |kept: &&Staying| kept.size.memory > kept.slot.size.memory || kept.size.cpu > kept.slot.size.cpu;
    let enlarged =
        changed.clone().filter(larger).filter_map(|kept| Some((kept.slot.name.to_string(), kept.enlarged_on.clone()?)));
    Decided {
        sizes: changed.clone().map(|kept| (kept.slot.name.to_string(), kept.size)).collect(),
        enlarged: enlarged.collect(),
        created: naive.created(),
        released: naive.released,
    }
}

fn decided(plan: &SlotPlan, slots: &[Slot]) -> Decided {
    let before: BTreeMap<&str, Resources> = slots.iter().map(|slot| (slot.name.as_str(), slot.size)).collect();
    let resized = plan.update.iter().filter(|update| before[update.name.as_str()] != update.size);
    let enlarged = plan.update.iter().filter_map(|update| Some((update.name.to_string(), update.enlarge_on.clone()?)));
    Decided {
        released: plan.release.iter().map(|release| (release.name.to_string(), release.why)).collect(),
        sizes: resized.map(|update| (update.name.to_string(), update.size)).collect(),
        enlarged: enlarged.collect(),
        created: plan.create.iter().map(|new| (new.flavor.name.to_string(), new.size)).collect(),
    }
}

/// Free capacity on the hosts of the strategy's slots, or unknown capacity.
fn any_capacity() -> impl Strategy<Value = BTreeMap<HostName, Resources>> {
    let free_capacity =
        (0_u64..100_000, 0_i64..30).prop_map(|(mib, cpu)| Resources::new(Bytes::from_mib(mib), Cores::new(cpu)));
    prop::collection::btree_map(prop::sample::select(vec!["h1", "h2"]).prop_map(HostName::from), free_capacity, 0..3)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn the_plan_is_that_of_the_naive_planner(slots in any_slots(), mib in 0_u64..500_000, free_capacity in any_capacity()) {
        let (target, groups) = (target(Bytes::from_mib(mib)), groups());
        let world = PlannerInput { groups: &groups, slots: &slots, free_capacity: &free_capacity, taken: &|_| false, vms: &[], max_new_slots: None, change: None };
        let ours = plan(&target, &world).unwrap();
        prop_assert_eq!(decided(&ours, &slots), decide_naively(&target, &world));
    }

    #[test]
    fn a_limit_refuses_exactly_the_plans_that_create_more(slots in any_slots(), mib in 0_u64..500_000, limit in 0_u64..6) {
        let (target, groups, free_capacity) = (target(Bytes::from_mib(mib)), groups(), BTreeMap::new());
        let world = PlannerInput { groups: &groups, slots: &slots, free_capacity: &free_capacity, taken: &|_| false, vms: &[], max_new_slots: Some(limit), change: None };
        let free = plan(&target, &PlannerInput { max_new_slots: None, ..world }).unwrap();
        let count = free.create.len() as u64;
        let expected = if count <= limit { Ok(free) } else { Err(PlanError::SlotLimit { count, limit }) };
        prop_assert_eq!(plan(&target, &world), expected);
    }

    #[test]
    fn names_that_are_taken_are_never_given_again(slots in any_slots(), mib in 0_u64..500_000, every in 1_u64..4) {
        let (target, groups, free_capacity) = (target(Bytes::from_mib(mib)), groups(), BTreeMap::new());
        let is_taken = |name: &crate::ids::SlotName| {
            slot::number(name, &target.prefix).is_some_and(|number| number % (every + 1) == 0)
        };
        let world = PlannerInput { groups: &groups, slots: &slots, free_capacity: &free_capacity, taken: &is_taken, vms: &[], max_new_slots: None, change: None };
        let created = plan(&target, &world).unwrap().create;
        let mut names: Vec<&str> = created.iter().map(|new| new.name.as_str()).collect();
        prop_assert!(created.iter().all(|new| !is_taken(&new.name) && slots.iter().all(|slot| slot.name != new.name)));
        names.sort_unstable();
        names.dedup();
        prop_assert_eq!(names.len(), created.len(), "each name is used once");
    }
}

/// In the order in which the planner compares slots.
#[test]
fn slots_without_a_number_come_first_and_equal_numbers_are_ordered_by_name() {
    let target = target(Bytes::ZERO);
    let named = |name: &str| Slot { name: name.into(), ..super::xl(0, "-", &[]) };
    let (by_hand, first, second) = (named("by-hand"), named("commitment-uuid-1-1"), named("commitment-uuid-1-01"));
    let order = |slot: &Slot| {
        let kept = KeptSlot::new(slot, slot::number(&slot.name, &target.prefix), None, &target);
        (kept.order().0, kept.order().1.to_string())
    };
    let mut all = [order(&first), order(&second), order(&by_hand)];
    all.sort();
    assert_eq!(all.map(|(_, name)| name), ["by-hand", "commitment-uuid-1-01", "commitment-uuid-1-1"]);
}
