//! Mapping functions: the projects whose usage a change concerns.

use std::collections::BTreeSet;

use berth_cluster::{Change, ProjectKey, Store, Watches};
use berth_crds::{CommittedResource, conditions};
use berth_projects::ProjectSources;

pub(crate) fn declare(watches: &mut Watches<ProjectKey>, sources: &ProjectSources) {
    let known = sources.commitments.clone();
    watches.changes(&sources.commitments, map_commitment);
    sources.watch_hosts(watches);
    sources.watch(watches, move || all_projects(&known));
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

#[cfg(test)]
mod tests;
