//! Mapping functions: the projects whose usage a change concerns. Projects without a quota come to rest at once.

use std::collections::BTreeSet;

use berth_cluster::{Change, FlavorGroupsCache, ProjectKey, Store, Watches, changed_vms};
use berth_crds::{CommittedResource, Hypervisor, Knowledge, ProjectQuota, names};
use berth_vm_source::VmSource;

/// The sources of changes.
pub(crate) struct Watched<'a> {
    pub(crate) quotas: &'a Store<ProjectQuota>,
    pub(crate) commitments: &'a Store<CommittedResource>,
    pub(crate) hypervisors: &'a Store<Hypervisor>,
    pub(crate) flavor_groups: &'a FlavorGroupsCache,
    pub(crate) vms: &'a VmSource,
    /// Whether changes of hosts are followed at once.
    pub(crate) follows_hosts: bool,
}

impl Watched<'_> {
    pub(crate) fn declare(&self, watches: &mut Watches<ProjectKey>) {
        watches.changes(self.quotas, map_quota);
        watches.changes(self.commitments, map_commitment);
        let (vms, follows_hosts) = (self.vms.clone(), self.follows_hosts);
        watches.changes(
            self.hypervisors,
            move |change| {
                if follows_hosts { map_host(change, &vms) } else { BTreeSet::new() }
            },
        );
        let known = self.quotas.clone();
        watches.changes(self.flavor_groups.store(), move |change| map_knowledge(change, &known));
        let known = self.quotas.clone();
        watches.resynced(self.quotas, move |_| all_projects(&known));
        let known = self.quotas.clone();
        watches.resynced(self.commitments, move |_| all_projects(&known));
        let known = self.quotas.clone();
        watches.resynced(self.hypervisors, move |_| all_projects(&known));
    }
}

/// The projects that have a quota.
pub(crate) fn all_projects(quotas: &Store<ProjectQuota>) -> BTreeSet<ProjectKey> {
    quotas.all().iter().map(|entry| ProjectKey::from(entry.object.spec.project_id.as_str())).collect()
}

/// Our own writes of the usage are no reason for a run.
fn map_quota(change: &Change<ProjectQuota>) -> BTreeSet<ProjectKey> {
    let objects = [change.old.as_deref(), change.new.as_deref()];
    if let [Some(old), Some(new)] = objects {
        let status = new.status.as_ref();
        let is_computed = status.is_some_and(|status| status.observed_generation == new.metadata.generation);
        let is_same = old.spec == new.spec && old.metadata.uid == new.metadata.uid;
        if is_same && (is_computed || old.status == new.status) {
            return BTreeSet::new();
        }
    }
    objects.into_iter().flatten().map(|object| object.spec.project_id.as_str().into()).collect()
}

/// Both projects of a commitment that moves, if what it pays for may differ.
fn map_commitment(change: &Change<CommittedResource>) -> BTreeSet<ProjectKey> {
    let objects = [change.old.as_deref(), change.new.as_deref()];
    if let [Some(old), Some(new)] = objects {
        let usage = |object: &CommittedResource| {
            let status = object.status.clone().unwrap_or_default();
            (status.used_resources, status.used_declared_gib, status.assigned_instances, status.accepted_spec)
        };
        if old.spec == new.spec && usage(old) == usage(new) {
            return BTreeSet::new();
        }
    }
    objects.into_iter().flatten().map(|object| object.spec.project_id.as_str().into()).collect()
}

/// The projects of VMs that came or went, or whose zone may have changed.
fn map_host(change: &Change<Hypervisor>, vms: &VmSource) -> BTreeSet<ProjectKey> {
    let Some(snapshot) = vms.last_snapshot() else { return BTreeSet::new() };
    let changed = changed_vms(change).into_iter().filter_map(|vm| snapshot.vm(&vm.into()));
    changed.map(|vm| ProjectKey(vm.project.clone())).collect()
}

fn map_knowledge(change: &Change<Knowledge>, quotas: &Store<ProjectQuota>) -> BTreeSet<ProjectKey> {
    if *change.key.name == *names::FLAVOR_GROUPS { all_projects(quotas) } else { BTreeSet::new() }
}

#[cfg(test)]
mod tests;
