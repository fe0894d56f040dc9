//! The capacity of the groups of a zone, from the hosts that the scheduler has found for their flavors.

use std::collections::BTreeSet;

use super::slots::{free_capacity, slots, times, total_capacity};
use super::split::{SharingGroup, Split, split};
use crate::host::Amounts;
use crate::ids::{FlavorName, GroupName};
use crate::units::Resources;

/// A host as far as slots are counted on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProbedHost {
    pub capacity: Amounts,
    /// What VMs and reservations leave; nothing if it is negative.
    pub free: Resources,
}

/// A flavor with the positions of the hosts on which the scheduler would place a VM of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbedFlavor {
    pub name: FlavorName,
    pub size: Resources,
    /// If the data centre were empty.
    pub on_empty_hosts: BTreeSet<usize>,
    /// As the hosts are now.
    pub at_present: BTreeSet<usize>,
}

/// A group of which every flavor was probed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbedGroup {
    pub name: GroupName,
    pub flavors: Vec<ProbedFlavor>,
    /// The flavor that slots are counted in.
    pub smallest: FlavorName,
}

/// The slots of a flavor, and the hosts that have at least one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlavorSlots {
    pub name: FlavorName,
    pub total_slots: u64,
    pub total_hosts: u64,
    pub placeable_slots: u64,
    pub placeable_hosts: u64,
}

/// The capacity of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupCapacity {
    /// In the order of their names.
    pub flavors: Vec<FlavorSlots>,
    /// If the data centre were empty.
    pub total: Resources,
    /// Free at present, also for other groups.
    pub free: Resources,
    /// The slots of the smallest flavor that no other group gets.
    pub exclusive_slots: u64,
    /// The size of these slots together.
    pub exclusive: Resources,
}

/// The capacity of a zone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ZoneCapacity {
    /// In the order of the groups.
    pub groups: Vec<GroupCapacity>,
    /// What no group gets of the hosts that are candidates of one, with their positions.
    pub left: Vec<(usize, Resources)>,
}

/// Splits the free capacity of a zone. The hosts are in the order of their names.
pub fn zone_capacity(groups: &[ProbedGroup], hosts: &[ProbedHost]) -> ZoneCapacity {
    let free: Vec<Resources> = hosts.iter().map(|host| host.free.at_least_zero()).collect();
    let sharing: Vec<SharingGroup> = groups.iter().map(|group| sharing_group(group, &free)).collect();
    let Split { slots: shares, left } = split(&sharing, &free);
    let capacity = |((group, sharing), exclusive_slots): ((&ProbedGroup, &SharingGroup), u64)| {
        let mut flavors: Vec<FlavorSlots> = group.flavors.iter().map(|flavor| flavor_slots(flavor, hosts)).collect();
        let totals = group.flavors.iter().zip(&flavors).map(|(flavor, slots)| (flavor.size, slots.total_slots));
        let total = total_capacity(totals);
        flavors.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        let candidates = sharing.candidates.iter().map(|host| free[*host]);
        let (free, exclusive) = (free_capacity(sharing.need, candidates), times(sharing.need, exclusive_slots));
        GroupCapacity { flavors, total, free, exclusive_slots, exclusive }
    };
    let candidates: BTreeSet<usize> = sharing.iter().flat_map(|group| &group.candidates).copied().collect();
    let left = candidates.into_iter().map(|host| (host, left[host])).collect();
    ZoneCapacity { groups: groups.iter().zip(&sharing).zip(shares).map(capacity).collect(), left }
}

/// The candidates are the hosts that have at least one slot of the smallest flavor now.
fn sharing_group(group: &ProbedGroup, free: &[Resources]) -> SharingGroup {
    let smallest = group.flavors.iter().find(|flavor| flavor.name == group.smallest);
    let need = smallest.map(|flavor| flavor.size).unwrap_or_default();
    let found = smallest.into_iter().flat_map(|flavor| &flavor.at_present).copied();
    let has_slot = |host: &usize| free.get(*host).is_some_and(|free| slots(*free, need) > 0);
    SharingGroup { name: group.name.clone(), need, candidates: found.filter(has_slot).collect() }
}

fn flavor_slots(flavor: &ProbedFlavor, hosts: &[ProbedHost]) -> FlavorSlots {
    let count = |found: &BTreeSet<usize>, resources: fn(&ProbedHost) -> Resources| {
        let on_hosts = found.iter().filter_map(|host| hosts.get(*host)).map(|host| slots(resources(host), flavor.size));
        on_hosts
            .filter(|slots| *slots > 0)
            .fold((0_u64, 0), |(sum, hosts), slots| (sum.saturating_add(slots), hosts + 1))
    };
    let (total_slots, total_hosts) = count(&flavor.on_empty_hosts, |host| host.capacity.or_zero());
    let (placeable_slots, placeable_hosts) = count(&flavor.at_present, |host| host.free);
    FlavorSlots { name: flavor.name.clone(), total_slots, total_hosts, placeable_slots, placeable_hosts }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::gib;
    use crate::units::{Bytes, Cores};

    fn size((memory, cpu): (u64, i64)) -> Resources {
        Resources::new(gib(memory), Cores::new(cpu))
    }

    fn host(capacity: (u64, i64), free: (u64, i64)) -> ProbedHost {
        ProbedHost { capacity: size(capacity).into(), free: size(free) }
    }

    fn flavor(name: &str, of: (u64, i64), empty: &[usize], present: &[usize]) -> ProbedFlavor {
        let set = |all: &[usize]| all.iter().copied().collect();
        ProbedFlavor { name: name.into(), size: size(of), on_empty_hosts: set(empty), at_present: set(present) }
    }

    fn group(name: &str, flavors: Vec<ProbedFlavor>) -> ProbedGroup {
        let smallest = flavors[0].name.clone();
        ProbedGroup { name: name.into(), flavors, smallest }
    }

    fn flavor_counts(capacity: &GroupCapacity) -> Vec<(&str, [u64; 4])> {
        let counts = |of: &FlavorSlots| [of.total_slots, of.total_hosts, of.placeable_slots, of.placeable_hosts];
        capacity.flavors.iter().map(|of| (of.name.as_str(), counts(of))).collect()
    }

    #[test]
    fn two_groups_on_shared_hosts() {
        let hosts = [host((128, 32), (64, 16)), host((128, 32), (40, 10)), host((64, 24), (24, 12))];
        let gp = group(
            "gp",
            vec![flavor("small", (8, 2), &[0, 1, 2], &[0, 1, 2]), flavor("large", (32, 4), &[0, 1, 2], &[0, 1])],
        );
        let hana = group("hana", vec![flavor("hana_s", (32, 8), &[0, 1], &[0, 1])]);
        let ZoneCapacity { groups, left } = zone_capacity(&[gp, hana], &hosts);
        let [gp, hana] = groups.try_into().unwrap();
        assert_eq!(flavor_counts(&gp), [("large", [10, 3, 3, 2]), ("small", [40, 3, 16, 3])]);
        assert_eq!((gp.total, gp.free), (size((320, 80)), size((128, 32))));
        assert_eq!((gp.exclusive_slots, gp.exclusive), (4, size((32, 8))));
        assert_eq!(flavor_counts(&hana), [("hana_s", [8, 2, 3, 2])]);
        assert_eq!((hana.free, hana.exclusive_slots, hana.exclusive), (size((96, 24)), 3, size((96, 24))));
        assert_eq!(left, [(0, size((0, 0))), (1, size((0, 0))), (2, size((0, 6)))]);
    }

    #[test]
    fn hosts_without_a_slot_count_neither_as_slots_nor_as_hosts() {
        let unknown =
            ProbedHost { capacity: Amounts { memory: None, cpu: Some(Cores::new(8)) }, ..host((0, 0), (64, 1)) };
        let over_booked = ProbedHost { free: Resources::new(Bytes::new(-5), Cores::new(9)), ..host((16, 4), (0, 0)) };
        let all = [0, 1, 7];
        let found = zone_capacity(&[group("g", vec![flavor("f", (8, 2), &all, &all)])], &[unknown, over_booked]);
        assert_eq!(found.left, []);
        let [found] = found.groups.try_into().unwrap();
        assert_eq!(flavor_counts(&found), [("f", [2, 1, 0, 0])]);
        assert_eq!((found.free, found.exclusive_slots), (Resources::ZERO, 0), "explicit zeros");
    }

    #[test]
    fn a_host_that_the_scheduler_refuses_is_no_candidate() {
        let hosts = [host((16, 4), (16, 4)), host((16, 4), (16, 4))];
        let found = zone_capacity(&[group("g", vec![flavor("f", (8, 2), &[0, 1], &[1])])], &hosts);
        assert_eq!(found.left, [(1, Resources::ZERO)]);
        let [found] = found.groups.try_into().unwrap();
        assert_eq!((found.total, found.free, found.exclusive), (size((32, 8)), size((16, 4)), size((16, 4))));
    }
}
