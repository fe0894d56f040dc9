//! The status of a commitment with its usage. Times and summaries alone are written once an hour at most.

use berth_core::VmId;
use berth_core::commitment::ResourceType;
use berth_core::refresh::is_refresh_due;
use berth_core::summary::Summary;
use berth_core::usage::{CommitmentUsage, UsableCommitment};
use berth_crds::{CommittedResource, CommittedResourceStatus, conditions, facts, resources};
use berth_projects::Times;
use jiff::Timestamp;

/// The object with this usage, if that is to be written.
pub(crate) fn with_usage(
    object: &CommittedResource,
    usable: &UsableCommitment,
    usage: &CommitmentUsage,
    times: Times,
) -> Option<CommittedResource> {
    let old = object.status.as_ref()?;
    let mut status = old.clone();
    // A commitment of cores shares its VMs with one of memory, and a VM is listed once.
    let listed: &[VmId] = if usable.resource == ResourceType::Memory { &usage.vms } else { &[] };
    status.assigned_instances = listed.iter().map(ToString::to_string).collect();
    status.used_resources =
        [(resources::MEMORY, usage.used.memory.to_string()), (resources::CPU, usage.used.cpu.to_string())]
            .map(|(key, amount)| (key.to_owned(), amount.into()))
            .into();
    status.used_declared_gib = Some(i64::try_from(usage.declared_gib).unwrap_or(i64::MAX));
    // What was accepted later is not what this usage is about.
    let ready = conditions::ready(&old.conditions).filter(|ready| ready.status == "True");
    status.usage_observed_generation =
        ready.and_then(|ready| ready.observed_generation).or(old.usage_observed_generation);
    let last = old.last_usage_reconcile_at.as_ref().map(|last| last.0);
    let is_due = status != *old || (times.is_trusted && is_refresh_due(usable.uuid.as_str(), last, times.now));
    is_due.then(|| {
        status.last_usage_reconcile_at = Some(conditions::whole_seconds(times.now));
        with_summary(object, status, times.now)
    })
}

/// The object without usage, if it has some.
pub(crate) fn without_usage(object: &CommittedResource, now: Timestamp) -> Option<CommittedResource> {
    let old = object.status.as_ref()?;
    let has_usage =
        !old.assigned_instances.is_empty() || !old.used_resources.is_empty() || old.used_declared_gib.is_some();
    let status = CommittedResourceStatus {
        assigned_instances: Vec::new(),
        used_resources: [].into(),
        used_declared_gib: None,
        last_usage_reconcile_at: None,
        usage_observed_generation: None,
        ..old.clone()
    };
    has_usage.then(|| with_summary(object, status, now))
}

fn with_summary(object: &CommittedResource, mut status: CommittedResourceStatus, now: Timestamp) -> CommittedResource {
    let (spec, accepted) = (facts::spec(object), status.accepted_spec.as_ref().map(facts::spec_of));
    let vms = status.assigned_instances.len();
    let line = conditions::ready(&status.conditions).map(|ready| {
        let (reason, message) = (ready.reason.as_str(), ready.message.as_str());
        Summary { reason, message, spec: &spec, accepted: accepted.as_ref(), vms }.line(now)
    });
    status.status_summary = line;
    CommittedResource { status: Some(status), ..object.clone() }
}

#[cfg(test)]
mod tests;
