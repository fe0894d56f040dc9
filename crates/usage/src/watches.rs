//! Mapping functions: the projects whose usage a change concerns.

use std::collections::BTreeSet;

use berth_cluster::{Change, FlavorGroupsCache, Store, Watches};
use berth_crds::hypervisor::Instance;
use berth_crds::{CommittedResource, Hypervisor, Knowledge, conditions, labels, names};
use berth_vm_source::{VmSnapshot, VmSource};
use kube::ResourceExt as _;

use crate::key::ProjectKey;

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
    ProjectKey(object.spec.project_id.as_str().into())
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

/// Only the projects of VMs that came, went, started or stopped; of all VMs of the host when it has another zone.
fn map_host(change: &Change<Hypervisor>, vms: &VmSource) -> BTreeSet<ProjectKey> {
    let [old, new] = [&change.old, &change.new].map(|host| host.as_deref().map(instances).unwrap_or_default());
    let [old_zone, new_zone] = [&change.old, &change.new].map(|host| host.as_deref().and_then(zone));
    if old == new && old_zone == new_zone {
        return BTreeSet::new();
    }
    let Some(snapshot) = vms.last_snapshot() else { return BTreeSet::new() };
    let [old, new] = [old, new].map(|all| all.iter().map(|vm| (vm.id.as_str(), vm.active)).collect::<BTreeSet<_>>());
    let changed: BTreeSet<(&str, bool)> = if old_zone == new_zone { &old ^ &new } else { &old | &new };
    changed.into_iter().filter_map(|(vm, _)| project_of_vm(&snapshot, vm)).collect()
}

fn project_of_vm(snapshot: &VmSnapshot, vm: &str) -> Option<ProjectKey> {
    snapshot.vm(&vm.into()).map(|vm| ProjectKey(vm.project.clone()))
}

fn instances(host: &Hypervisor) -> &[Instance] {
    host.status.as_ref().map(|status| status.instances.as_slice()).unwrap_or_default()
}

fn zone(host: &Hypervisor) -> Option<&str> {
    host.labels().get(labels::ZONE).map(String::as_str)
}

fn map_knowledge(change: &Change<Knowledge>, commitments: &Store<CommittedResource>) -> BTreeSet<ProjectKey> {
    if *change.key.name == *names::FLAVOR_GROUPS { all_projects(commitments) } else { BTreeSet::new() }
}

#[cfg(test)]
mod tests;
