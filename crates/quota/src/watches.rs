//! Mapping functions: the projects whose usage a change concerns. Projects without a quota come to rest at once.

use std::collections::BTreeSet;

use berth_cluster::{Change, ProjectKey, Store, Watches};
use berth_crds::{CommittedResource, CommittedResourceStatus, ProjectQuota, facts};
use berth_projects::ProjectSources;

/// Hosts are followed only if the configuration says so.
pub(crate) fn declare(
    watches: &mut Watches<ProjectKey>,
    quotas: &Store<ProjectQuota>,
    sources: &ProjectSources,
    follows_hosts: bool,
) {
    watches.changes(quotas, map_quota);
    watches.changes(&sources.commitments, map_commitment);
    if follows_hosts {
        sources.watch_hosts(watches);
    }
    let known = quotas.clone();
    watches.resynced(quotas, move |_| all_projects(&known));
    let known = quotas.clone();
    sources.watch(watches, move || all_projects(&known));
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
    if let [Some(old), Some(new)] = objects
        && old.spec == new.spec
        && has_same_usage(old, new)
        && facts::is_duplicate(old) == facts::is_duplicate(new)
    {
        return BTreeSet::new();
    }
    objects.into_iter().flatten().map(|object| object.spec.project_id.as_str().into()).collect()
}

fn has_same_usage(old: &CommittedResource, new: &CommittedResource) -> bool {
    let none = CommittedResourceStatus::default();
    let [old, new] = [old, new].map(|object| object.status.as_ref().unwrap_or(&none));
    old.used_resources == new.used_resources
        && old.used_declared_gib == new.used_declared_gib
        && old.assigned_instances == new.assigned_instances
        && old.accepted_spec == new.accepted_spec
}

#[cfg(test)]
mod tests;
