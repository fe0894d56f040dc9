//! Whether the usage of commitments is that of the VMs which there are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_core::units::declared_gib;
use berth_crds::{CommittedResource, CommittedResourceStatus, ResourceType, resources};
use jiff::Timestamp;

use crate::amounts::{RESOURCES, amount, format_amount, used};
use crate::{Invariant, Key, Snapshot, Violation};

const BYTES_PER_MIB: i128 = 1 << 20;

/// What a VM uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VmSize {
    pub memory_mib: u64,
    pub cpu: u64,
}

/// The usage of a commitment by another computation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExpectedUsage {
    /// The VMs that are listed, in their order.
    pub vms: Vec<String>,
    pub memory_mib: u64,
    pub cpu: u64,
}

/// What the objects do not show.
#[derive(Clone, Debug, Default)]
pub struct UsageFacts {
    pub now: Timestamp,
    /// By UUID.
    pub vms: BTreeMap<String, VmSize>,
    /// The usage of active commitments, by the UUID of the commitment.
    pub expected: BTreeMap<String, ExpectedUsage>,
    /// The VMs in the usage reports of all projects, by UUID, if reports were made.
    pub reported: Option<BTreeMap<String, ReportedVm>>,
}

/// A VM in a usage report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportedVm {
    /// The UUID of the commitment that it counts in.
    pub commitment: Option<String>,
    pub memory_mib: u64,
}

/// Violations of the invariants about usage, ascending, when the usage of all projects was computed from these facts.
pub fn broken_usage(snapshot: &Snapshot, facts: &UsageFacts) -> Vec<Violation> {
    let check = |(key, object): (&Key, &Arc<CommittedResource>)| check(key, object, facts);
    let mut violations: Vec<Violation> = snapshot.commitments.iter().flat_map(check).collect();
    violations.sort();
    violations
}

fn check(key: &Key, object: &CommittedResource, facts: &UsageFacts) -> Vec<Violation> {
    let Some(status) = &object.status else { return Vec::new() };
    let expected = facts.expected.get(&object.spec.commitment_uuid);
    let all = [
        sum(status, facts).map(|text| (Invariant::UsageSum, text)),
        above_accepted(status).map(|text| (Invariant::UsageAboveAccepted, text)),
        after_end(object, status, facts.now).map(|text| (Invariant::UsageAfterEnd, text)),
        untrue(status, expected).map(|text| (Invariant::UsageUntrue, text)),
        differs_from_report(object, status, facts).map(|text| (Invariant::UsageReportDiffers, text)),
    ];
    all.into_iter().flatten().map(|(invariant, text)| Violation::new(invariant, key, text)).collect()
}

fn has_usage(status: &CommittedResourceStatus) -> bool {
    !status.assigned_instances.is_empty() || !status.used_resources.is_empty() || status.used_declared_gib.is_some()
}

fn is_of_cores(status: &CommittedResourceStatus) -> bool {
    status.accepted_spec.as_ref().is_some_and(|spec| spec.resource_type == ResourceType::Cores)
}

/// Commitments of cores list no VMs.
fn sum(status: &CommittedResourceStatus, facts: &UsageFacts) -> Option<String> {
    if !has_usage(status) || is_of_cores(status) {
        return None;
    }
    let sizes: Vec<VmSize> =
        status.assigned_instances.iter().map(|vm| facts.vms.get(vm).copied().unwrap_or_default()).collect();
    let memory: i128 = sizes.iter().map(|size| i128::from(size.memory_mib) * BYTES_PER_MIB).sum();
    let cpu: i128 = sizes.iter().map(|size| i128::from(size.cpu)).sum();
    let declared: u64 = sizes.iter().map(|size| declared_gib(size.memory_mib)).sum();
    let is = shown(status);
    let shown_declared = status.used_declared_gib.and_then(|gib| u64::try_from(gib).ok());
    let text =
        || format!("it uses {is:?} and {shown_declared:?} GiB, its VMs {memory} B, {cpu} cores and {declared} GiB");
    (is != [memory, cpu] || shown_declared != Some(declared)).then(text)
}

fn shown(status: &CommittedResourceStatus) -> [i128; 2] {
    RESOURCES.map(|resource| used(&status.used_resources, resource))
}

fn above_accepted(status: &CommittedResourceStatus) -> Option<String> {
    let resource = if is_of_cores(status) { resources::CPU } else { resources::MEMORY };
    let accepted = status.accepted_spec.as_ref().map_or(0, |spec| amount(&spec.amount));
    let used = used(&status.used_resources, resource);
    let [is, allowed] = [used, accepted].map(|amount| format_amount(amount, resource));
    (used > accepted).then(|| format!("it uses {is}, and {allowed} were accepted"))
}

fn after_end(object: &CommittedResource, status: &CommittedResourceStatus, now: Timestamp) -> Option<String> {
    let end = object.spec.end_time.as_ref().map(|time| time.0).filter(|end| *end < now)?;
    has_usage(status).then(|| format!("it ended at {end} and shows usage"))
}

fn untrue(status: &CommittedResourceStatus, expected: Option<&ExpectedUsage>) -> Option<String> {
    let is = (&status.assigned_instances, shown(status));
    match expected {
        None => has_usage(status).then(|| format!("it shows {is:?}, and no VM counts in it")),
        Some(expected) => {
            let wanted = [i128::from(expected.memory_mib) * BYTES_PER_MIB, expected.cpu.into()];
            let is_true = is == (&expected.vms, wanted) && !status.used_resources.is_empty();
            (!is_true).then(|| format!("it shows {is:?}, and these count in it: {expected:?}"))
        }
    }
}

/// Reports name the commitments of memory only.
fn differs_from_report(
    object: &CommittedResource,
    status: &CommittedResourceStatus,
    facts: &UsageFacts,
) -> Option<String> {
    let reported = facts.reported.as_ref().filter(|_| !is_of_cores(status))?;
    let counts_here = |vm: &ReportedVm| vm.commitment.as_deref() == Some(object.spec.commitment_uuid.as_str());
    let own: BTreeMap<&String, u64> =
        reported.iter().filter(|(_, vm)| counts_here(vm)).map(|(id, vm)| (id, declared_gib(vm.memory_mib))).collect();
    let listed: BTreeSet<&String> = status.assigned_instances.iter().collect();
    let shown = status.used_declared_gib.and_then(|gib| u64::try_from(gib).ok()).unwrap_or_default();
    let is_same = own.keys().copied().eq(listed.iter().copied()) && own.values().sum::<u64>() == shown;
    (!is_same).then(|| format!("it lists {listed:?} with {shown} GiB, and the report has {own:?}"))
}
