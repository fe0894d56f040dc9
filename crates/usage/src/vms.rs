//! The VMs of a project as the assignment takes them.

use std::collections::BTreeMap;

use berth_cluster::{Store, host_of_vm};
use berth_core::flavor::FlavorGroups;
use berth_core::usage::ProjectVm;
use berth_core::{FlavorName, GroupName, Zone};
use berth_crds::Hypervisor;
use berth_vm_source::Vm;

/// The VMs with their flavor groups and zones. A host that lists a VM knows its zone better than its row.
pub(crate) fn project_vms(vms: &[Vm], hosts: &Store<Hypervisor>, groups: &FlavorGroups) -> Vec<ProjectVm> {
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
        zone: zone(vm, hosts),
        group: group_of(&vm.flavor.name),
        is_held: false,
    });
    all.collect()
}

fn zone(vm: &Vm, hosts: &Store<Hypervisor>) -> Zone {
    let listed = host_of_vm(hosts, vm.id.as_str()).map(|found| found.zone);
    listed.filter(|zone| !zone.is_empty()).unwrap_or_else(|| vm.zone.clone())
}
