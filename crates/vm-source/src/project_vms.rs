//! The VMs of a project as the computations of usage take them.

use std::collections::BTreeMap;

use berth_core::flavor::FlavorGroups;
use berth_core::usage::ProjectVm;
use berth_core::{FlavorName, GroupName, Zone};

use crate::Vm;

/// The VMs with their flavor groups and zones. `listed` is the zone of the host that lists a VM, which knows it better
/// than the row.
pub fn project_vms(vms: &[Vm], groups: &FlavorGroups, listed: impl Fn(&str) -> Option<Zone>) -> Vec<ProjectVm> {
    let mut known: BTreeMap<&FlavorName, Option<GroupName>> = BTreeMap::new();
    let mut group_of = |flavor| {
        let find = || groups.group_of(flavor).map(|group| group.name.clone());
        known.entry(flavor).or_insert_with(find).clone()
    };
    let all = vms.iter().map(|vm| ProjectVm {
        id: vm.id.clone(),
        created: vm.created,
        memory_mib: vm.flavor.memory_mib,
        vcpus: vm.flavor.vcpus,
        zone: listed(vm.id.as_str()).unwrap_or_else(|| vm.zone.clone()),
        group: group_of(&vm.flavor.name),
        is_held: false,
    });
    all.collect()
}
