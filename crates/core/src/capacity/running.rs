//! The running VMs of each flavor group in each zone.

use std::collections::BTreeMap;

use super::occupied::{Occupied, OccupiedByPlace};
use crate::flavor::{Flavor, FlavorGroup, FlavorGroups};
use crate::host::Host;
use crate::ids::{GroupName, VmId, Zone};
use crate::liquid::units::RamUnit;
use crate::usage::declared_units;

/// What the table of servers says of a VM.
#[derive(Clone, Copy, Debug)]
pub struct KnownVm<'a> {
    pub flavor: &'a Flavor,
    /// The zone of its row.
    pub zone: &'a Zone,
}

/// The VMs that a host lists, active or not, in the zone of that host; without a zone of the host in that of the row.
///
/// VMs that the table does not know or whose flavor is in no group are left out.
pub fn running<'a>(
    hosts: impl IntoIterator<Item = &'a Host>,
    known_vm: impl Fn(&VmId) -> Option<KnownVm<'a>>,
    groups: &'a FlavorGroups,
    unit: impl Fn(&FlavorGroup) -> RamUnit,
) -> OccupiedByPlace {
    let group_of = groups.by_flavor();
    let mut flavors: BTreeMap<(&GroupName, &Zone), (&FlavorGroup, Vec<&Flavor>)> = BTreeMap::new();
    for (id, host) in listed_once(hosts) {
        let Some(vm) = known_vm(id) else { continue };
        let Some(group) = group_of.get(&vm.flavor.name) else { continue };
        let zone = if host.zone.is_empty() { vm.zone } else { &host.zone };
        flavors.entry((&group.name, zone)).or_insert_with(|| (group, Vec::new())).1.push(vm.flavor);
    }
    let occupied = |((group, zone), (of_group, flavors)): ((&GroupName, &Zone), (&FlavorGroup, Vec<&Flavor>))| {
        ((group.clone(), zone.clone()), occupied(of_group, unit(of_group), &flavors))
    };
    flavors.into_iter().map(occupied).collect()
}

/// Each VM with the host on which it is active, else with the first by name that lists it.
fn listed_once<'a>(hosts: impl IntoIterator<Item = &'a Host>) -> Vec<(&'a VmId, &'a Host)> {
    let listed = hosts.into_iter().flat_map(|host| host.instances.iter().map(move |(id, active)| (id, *active, host)));
    let mut listed: Vec<(&VmId, bool, &Host)> = listed.collect();
    listed.sort_unstable_by(|a, b| (a.0, !a.1, &a.2.name).cmp(&(b.0, !b.1, &b.2.name)));
    listed.dedup_by(|later, earlier| later.0 == earlier.0);
    listed.into_iter().map(|(id, _, host)| (id, host)).collect()
}

fn occupied(group: &FlavorGroup, unit: RamUnit, flavors: &[&Flavor]) -> Occupied {
    Occupied {
        instances: flavors.len() as u64,
        resources: flavors.iter().map(|flavor| flavor.size()).sum(),
        units: declared_units(group.ratio, unit, flavors.iter().map(|flavor| flavor.memory_mib)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{amber, gib, host};
    use crate::units::{Cores, Resources};

    fn listing(name: &str, zone: &str, vms: &[(&str, bool)]) -> Host {
        let instances = vms.iter().map(|(id, active)| (VmId::from(*id), *active)).collect();
        Host { zone: zone.into(), instances, ..host(name, Resources::ZERO) }
    }

    /// VMs by their first letter: `l` and `s` are flavors of the group, `f` is of another one, the others are unknown. The row
    /// of each is in `row`.
    fn running_on(hosts: &[Host]) -> Vec<(String, u64, Resources, u64)> {
        let groups: FlavorGroups = [amber()].into_iter().collect();
        let other = Flavor { name: "other".into(), ..amber().flavors[0].clone() };
        let row: Zone = "row".into();
        let known = |id: &VmId| {
            let amber = groups.get(&"amber".into())?;
            let flavor = match id.as_str().chars().next()? {
                'l' => amber.flavor(&"amber_l".into())?,
                's' => amber.flavor(&"amber_s".into())?,
                'f' => &other,
                _ => return None,
            };
            Some(KnownVm { flavor, zone: &row })
        };
        let found = running(hosts, known, &groups, |_| RamUnit::default());
        let shown = |((group, zone), found): ((GroupName, Zone), Occupied)| {
            (format!("{group} {zone}"), found.instances, found.resources, found.units)
        };
        found.into_iter().map(shown).collect()
    }

    #[test]
    fn listed_vms_count_whether_they_are_active_or_not() {
        let found = running_on(&[listing("a", "az", &[("l1", true), ("s1", false), ("f1", true), ("unknown", true)])]);
        assert_eq!(found, [("amber az".to_owned(), 2, Resources::new(gib(42), Cores::new(14)), 42)]);
    }

    #[test]
    fn a_vm_that_several_hosts_list_counts_where_it_is_active_else_on_the_first() {
        let active_elsewhere = [listing("a", "az-1", &[("s1", false)]), listing("b", "az-2", &[("s1", true)])];
        assert_eq!(running_on(&active_elsewhere)[0].0, "amber az-2");
        let nowhere_active = [listing("b", "az-2", &[("s1", false)]), listing("a", "az-1", &[("s1", false)])];
        let found = running_on(&nowhere_active);
        assert_eq!((found.len(), found[0].0.as_str(), found[0].1), (1, "amber az-1", 1));
    }

    #[test]
    fn on_a_host_without_a_zone_a_vm_counts_in_that_of_its_row() {
        assert_eq!(running_on(&[listing("a", "", &[("s1", true)])])[0].0, "amber row");
        assert_eq!(running_on(&[]), []);
    }
}
