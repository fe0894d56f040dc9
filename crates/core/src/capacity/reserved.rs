//! What the slots of each flavor group hold in each zone beyond the VMs in them.

use std::collections::BTreeMap;

use super::occupied::{Occupied, OccupiedByPlace};
use super::slots::slots;
use crate::block::confirmed_vms;
use crate::flavor::{Flavor, FlavorGroup, FlavorGroups};
use crate::host::Host;
use crate::ids::{GroupName, Zone};
use crate::liquid::units::RamUnit;
use crate::reservation::Reservation;
use crate::units::{Bytes, Resources};
use crate::usage::declared_units_beyond_vms;

/// A slot on the host that it is to be on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldSlot {
    pub group: GroupName,
    pub size: Resources,
    /// The sizes that it has recorded of the VMs that run in it.
    pub vms: Vec<Resources>,
}

/// The slots that are to be on the host, of the reservations that name it, which are in ascending order of their keys.
///
/// A slot that moves counts once, and one without a host holds nothing. Slots that are being deleted hold their capacity
/// until they are gone.
pub fn held_slots<'a>(host: &Host, reservations: impl IntoIterator<Item = &'a Reservation>) -> Vec<HeldSlot> {
    let slots = confirmed_vms(host, reservations).into_iter();
    let here = slots.filter(|(slot, _)| slot.target_host.as_ref() == Some(&host.name));
    here.map(|(slot, vms)| HeldSlot { group: slot.group.clone(), size: slot.size.at_least_zero(), vms }).collect()
}

/// The capacity that slots hold beyond the VMs in them, from each host with its slots.
pub fn reserved<'a>(
    hosts: impl IntoIterator<Item = (&'a Host, &'a [HeldSlot])>,
    groups: &FlavorGroups,
    unit: impl Fn(&FlavorGroup) -> RamUnit,
) -> OccupiedByPlace {
    let mut held: BTreeMap<(&GroupName, &Zone), Vec<&HeldSlot>> = BTreeMap::new();
    for (host, slots) in hosts {
        for slot in slots {
            held.entry((&slot.group, &host.zone)).or_default().push(slot);
        }
    }
    let of_group = |((name, zone), held): ((&GroupName, &Zone), Vec<&HeldSlot>)| {
        let group = groups.get(name)?;
        Some(((group.name.clone(), zone.clone()), occupied(group, unit(group), &held)))
    };
    held.into_iter().filter_map(of_group).collect()
}

/// Instances are those of the smallest flavor, as in the free capacity: a slot that is sold or given back leaves the sum as it was.
fn occupied(group: &FlavorGroup, unit: RamUnit, held: &[&HeldSlot]) -> Occupied {
    let rest = |slot: &&HeldSlot| (slot.size - slot.vms.iter().copied().sum()).at_least_zero();
    let smallest = group.smallest().map(Flavor::size).unwrap_or_default();
    let slots_mib = held.iter().map(|slot| (mib(slot.size.memory), slot.vms.iter().map(|vm| mib(vm.memory))));
    Occupied {
        instances: held.iter().map(|slot| slots(rest(slot), smallest)).fold(0, u64::saturating_add),
        resources: held.iter().map(rest).sum(),
        units: declared_units_beyond_vms(group.ratio, unit, slots_mib),
    }
}

fn mib(memory: Bytes) -> u64 {
    u64::try_from(memory.mib_down()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flavor::Ratio;
    use crate::ids::{ClusterName, SlotKey, VmId};
    use crate::reservation::ReservationKind;
    use crate::testing::{amber, gib, host};
    use crate::units::Cores;

    fn size(memory: u64, cpu: i64) -> Resources {
        Resources::new(gib(memory), Cores::new(cpu))
    }

    fn slot(name: &str, target: &str, held: Resources, vms: &[(&str, Resources)]) -> Reservation {
        Reservation {
            key: SlotKey::new(ClusterName::home(), name),
            kind: ReservationKind::Committed(vms.iter().map(|(vm, size)| ((*vm).into(), *size)).collect()),
            project: "p".into(),
            group: "amber".into(),
            zone: "az".into(),
            size: held,
            target_host: (!target.is_empty()).then(|| target.into()),
            status_host: Some("a".into()),
            ready: true,
        }
    }

    /// What is reserved on host `a`, which lists `vm`, and host `b`.
    fn reserved_by(all: &[Reservation], group: FlavorGroup, unit: u64) -> OccupiedByPlace {
        let instances = [(VmId::from("vm"), true)].into();
        let hosts = [Host { instances, ..host("a", Resources::ZERO) }, host("b", Resources::ZERO)];
        let on = |host: &Host| held_slots(host, all.iter().filter(|one| one.hosts().any(|name| *name == host.name)));
        let on: Vec<Vec<HeldSlot>> = hosts.iter().map(on).collect();
        let by_host = hosts.iter().zip(&on).map(|(host, on)| (host, on.as_slice()));
        reserved(by_host, &[group].into_iter().collect(), |_| RamUnit::new(unit).unwrap())
    }

    fn only(found: &OccupiedByPlace) -> Occupied {
        assert_eq!(found.keys().collect::<Vec<_>>(), [&(GroupName::from("amber"), Zone::from("az"))]);
        found.values().copied().next().unwrap()
    }

    #[test]
    fn an_empty_slot_holds_its_size_and_a_used_one_the_rest() {
        let slots = [slot("empty", "b", size(60, 15), &[]), slot("used", "a", size(60, 15), &[("vm", size(30, 10))])];
        let found = only(&reserved_by(&slots, amber(), 1));
        assert_eq!(found, Occupied { instances: 3 + 1, resources: size(90, 20), units: 90 });
        let fixed = FlavorGroup { ratio: Ratio::Fixed(3072), ..amber() };
        assert_eq!(only(&reserved_by(&slots, fixed, 12)).units, 5 + 2, "30 GiB count as 3 units of 12 GiB");
    }

    #[test]
    fn a_vm_that_is_not_there_takes_nothing_and_a_larger_one_no_more_than_its_slot() {
        let expected = [slot("s", "a", size(12, 4), &[("later", size(12, 4))])];
        assert_eq!(only(&reserved_by(&expected, amber(), 1)).resources, size(12, 4));
        let slots = [slot("s", "a", size(12, 4), &[("vm", size(30, 2))]), slot("t", "a", size(12, 4), &[])];
        assert_eq!(
            only(&reserved_by(&slots, amber(), 1)),
            Occupied { instances: 1, resources: size(12, 6), units: 12 }
        );
    }

    #[test]
    fn a_slot_that_moves_counts_once_and_one_without_a_host_not_at_all() {
        let moving = slot("s", "b", size(12, 4), &[("vm", size(12, 4))]);
        assert_eq!(
            only(&reserved_by(std::slice::from_ref(&moving), amber(), 1)).resources,
            size(12, 4),
            "its VM is not yet there"
        );
        let without_host = slot("s", "", size(12, 4), &[]);
        assert!(reserved_by(&[without_host], amber(), 1).is_empty());
    }

    #[test]
    fn other_reservations_and_slots_of_unknown_groups_are_left_out() {
        let failover = Reservation { kind: ReservationKind::Failover([].into()), ..slot("f", "a", size(12, 4), &[]) };
        let unknown = Reservation { group: "gone".into(), ..slot("u", "a", size(12, 4), &[]) };
        assert!(reserved_by(&[failover, unknown], amber(), 1).is_empty());
    }

    #[test]
    fn selling_and_using_a_slot_leaves_the_sum_as_it_was() {
        let slots_of = |vms: &[(&str, Resources)]| [slot("s", "a", size(12, 4), vms)];
        let sold = only(&reserved_by(&slots_of(&[]), amber(), 1));
        let used = only(&reserved_by(&slots_of(&[("vm", size(12, 4))]), amber(), 1));
        assert_eq!(sold, Occupied { instances: 1, resources: size(12, 4), units: 12 }, "one free slot less");
        assert_eq!(used, Occupied::default(), "one running VM more");
    }
}
