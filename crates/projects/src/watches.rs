//! Mapping functions from the sources of a project to the projects that a change concerns.

use std::collections::BTreeSet;

use berth_cluster::{Change, ProjectKey, Watches, changed_vms};
use berth_crds::{Hypervisor, Knowledge, names};
use berth_vm_source::VmSource;

use crate::sources::ProjectSources;

impl ProjectSources {
    /// Watches the flavor groups, which concern all projects of the controller, and requests `all` of them when a cluster of
    /// commitments or hosts can be read again.
    pub fn watch(
        &self,
        watches: &mut Watches<ProjectKey>,
        all: impl Fn() -> BTreeSet<ProjectKey> + Clone + Send + Sync + 'static,
    ) {
        let known = all.clone();
        watches.changes(self.flavor_groups.store(), move |change| map_knowledge(change, &known));
        let known = all.clone();
        watches.resynced(&self.commitments, move |_| known());
        watches.resynced(&self.hypervisors, move |_| all());
    }

    /// Watches where VMs run.
    pub fn watch_hosts(&self, watches: &mut Watches<ProjectKey>) {
        let vms = self.vms.clone();
        watches.changes(&self.hypervisors, move |change| map_host(change, &vms));
    }
}

/// The projects of VMs that came or went, or whose zone may have changed.
fn map_host(change: &Change<Hypervisor>, vms: &VmSource) -> BTreeSet<ProjectKey> {
    let Some(snapshot) = vms.last_snapshot() else { return BTreeSet::new() };
    let changed = changed_vms(change).into_iter().filter_map(|vm| snapshot.vm(&vm.into()));
    changed.map(|vm| ProjectKey(vm.project.clone())).collect()
}

fn map_knowledge(change: &Change<Knowledge>, all: impl Fn() -> BTreeSet<ProjectKey>) -> BTreeSet<ProjectKey> {
    if *change.key.name == *names::FLAVOR_GROUPS { all() } else { BTreeSet::new() }
}

#[cfg(test)]
mod tests;
