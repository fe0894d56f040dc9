//! Mapping functions: the projects whose usage a change concerns.

use std::collections::BTreeSet;

use berth_cluster::{Change, FlavorGroupsCache, ProjectKey, Store, Watches, changed_vms};
use berth_crds::{CommittedResource, Hypervisor, Knowledge, conditions, names};
use berth_vm_source::VmSource;

/// The sources of changes.
pub(crate) struct Watched<'a> {
    pub(crate) commitments: &'a Store<CommittedResource>,
    pub(crate) hypervisors: &'a Store<Hypervisor>,
    pub(crate) flavor_groups: &'a FlavorGroupsCache,
    pub(crate) vms: &'a VmSource,
}

impl Watched<'_> {
    pub(crate) fn declare(&self, watches: &mut Watches<ProjectKey>) {
        let vms = self.vms.clone();
        watches.changes(self.commitments, map_commitment);
        watches.changes(self.hypervisors, move |change| map_host(change, &vms));
        let known = self.commitments.clone();
        watches.changes(self.flavor_groups.store(), move |change| map_knowledge(change, &known));
        let known = self.commitments.clone();
        watches.resynced(self.commitments, move |_| all_projects(&known));
        let known = self.commitments.clone();
        watches.resynced(self.hypervisors, move |_| all_projects(&known));
    }
}

/// The projects that have commitments.
pub(crate) fn all_projects(commitments: &Store<CommittedResource>) -> BTreeSet<ProjectKey> {
    commitments.all().iter().map(|entry| project_of(&entry.object)).collect()
}

fn project_of(object: &CommittedResource) -> ProjectKey {
    object.spec.project_id.as_str().into()
}

/// Both projects of a commitment that moves. Our own writes of the usage are no reason for a run.
fn map_commitment(change: &Change<CommittedResource>) -> BTreeSet<ProjectKey> {
    let objects = [change.old.as_deref(), change.new.as_deref()];
    if let [Some(old), Some(new)] = objects
        && is_same_to_usage(old, new)
    {
        return BTreeSet::new();
    }
    objects.into_iter().flatten().map(project_of).collect()
}

/// Whether the assignment cannot differ. A changed spec counts when it is accepted, except for its state and its end.
fn is_same_to_usage(old: &CommittedResource, new: &CommittedResource) -> bool {
    let [(old_accepted, old_ready), (new_accepted, new_ready)] = [old, new].map(|object| {
        let status = object.status.as_ref();
        let ready = status.and_then(|status| conditions::ready(&status.conditions));
        let ready = ready.map(|ready| (&ready.status, &ready.reason, ready.observed_generation));
        (status.and_then(|status| status.accepted_spec.as_ref()), ready)
    });
    let of_spec = |object: &CommittedResource| {
        let spec = &object.spec;
        (spec.project_id.clone(), spec.commitment_uuid.clone(), spec.state, spec.end_time.clone())
    };
    old_accepted == new_accepted
        && old_ready == new_ready
        && of_spec(old) == of_spec(new)
        && old.metadata.deletion_timestamp == new.metadata.deletion_timestamp
        && old.metadata.uid == new.metadata.uid
}

/// The projects of VMs that came or went, or whose zone may have changed.
fn map_host(change: &Change<Hypervisor>, vms: &VmSource) -> BTreeSet<ProjectKey> {
    let Some(snapshot) = vms.last_snapshot() else { return BTreeSet::new() };
    let changed = changed_vms(change).into_iter().filter_map(|vm| snapshot.vm(&vm.into()));
    changed.map(|vm| ProjectKey(vm.project.clone())).collect()
}

fn map_knowledge(change: &Change<Knowledge>, commitments: &Store<CommittedResource>) -> BTreeSet<ProjectKey> {
    if *change.key.name == *names::FLAVOR_GROUPS { all_projects(commitments) } else { BTreeSet::new() }
}

#[cfg(test)]
mod tests;
