//! The usage report of a project, made from one snapshot of the VMs, the published info and the objects. It computes no
//! assignment: which commitment covers a VM is what the commitments say.

use std::collections::HashMap;

use berth_cluster::indexes::{COMMITMENT_BY_PROJECT, QUOTA_BY_PROJECT};
use berth_cluster::{FlavorGroupsCache, FlavorGroupsError, InvalidEntry, Partial, Store, zone_of_vm};
use berth_core::liquid::info::ServiceInfo;
use berth_core::liquid::usage::{QuotaByZone, ReportedVm, UsageFacts, UsageRequest, build_report};
use berth_core::{ClusterName, CommitmentUuid, ProjectId, Zone};
use berth_crds::{CommittedResource, Hypervisor, ProjectQuota, ResourceType};
use berth_vm_source::{Unavailable, Vm, VmSource};
use thiserror::Error;

/// Why no report can be made now. The texts continue those that clients know.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UsageError {
    #[error("failed to get flavor groups: {0}")]
    FlavorGroups(#[from] FlavorGroupsError),
    #[error("failed to read VM assignments from CRD status: failed to list CommittedResources: {0}")]
    Commitments(#[from] Partial),
    #[error("failed to get project VMs: {0}")]
    Vms(#[from] Unavailable),
    #[error("failed to encode the report: {0}")]
    Encoding(String),
}

/// The sources of the report.
#[derive(Clone)]
pub struct UsageReports {
    pub groups: FlavorGroupsCache,
    pub commitments: Store<CommittedResource>,
    pub hypervisors: Store<Hypervisor>,
    pub quotas: Store<ProjectQuota>,
    pub vms: VmSource,
}

/// The commitments of memory by the VMs that they cover.
type Assignments = HashMap<String, CommitmentUuid>;

impl UsageReports {
    /// The report as it is sent.
    pub fn report(&self, info: &ServiceInfo, project: &ProjectId, asked: &UsageRequest) -> Result<String, UsageError> {
        let groups = self.groups.get()?.groups;
        let assignments = self.assignments(project)?;
        let quota = self.quota(project);
        let snapshot = self.vms.snapshot()?;
        let vms = snapshot.of_project(project);
        let vms: Vec<_> = vms.iter().map(|vm| self.reported(vm, &assignments)).collect();
        let facts = UsageFacts { info, groups: &groups, zones: &asked.zones, vms: &vms, quota: &quota };
        let json = serde_json::to_string(&build_report(&facts));
        json.map(|json| format!("{json}\n")).map_err(|error| UsageError::Encoding(error.to_string()))
    }

    /// A commitment that is not known would turn its VMs into VMs without one.
    fn assignments(&self, project: &ProjectId) -> Result<Assignments, Partial> {
        let concerns = |entry: &InvalidEntry| entry.may_have_in_spec("projectID", project.as_str());
        let clusters = self.commitments.clusters();
        // Nothing is known before anything is watched.
        let unwatched = [ClusterName::home()].into_iter().filter(|_| clusters.is_empty());
        for cluster in clusters.iter().cloned().chain(unwatched) {
            self.commitments.require_complete_for(&cluster, concerns)?;
        }
        let mut assignments = Assignments::new();
        for entry in self.commitments.select(&COMMITMENT_BY_PROJECT, project.as_str()) {
            assign(&mut assignments, &entry.object);
        }
        Ok(assignments)
    }

    fn quota(&self, project: &ProjectId) -> QuotaByZone {
        let objects = self.quotas.select(&QUOTA_BY_PROJECT, project.as_str());
        let of_zone =
            |object: &ProjectQuota| (Zone::new(object.spec.availability_zone.as_str()), object.spec.quota.clone());
        objects.iter().map(|entry| of_zone(&entry.object)).collect()
    }

    fn reported<'a>(&self, vm: &'a Vm, assignments: &Assignments) -> ReportedVm<'a> {
        ReportedVm {
            id: vm.id.as_str(),
            name: &vm.name,
            status: &vm.status,
            os_type: &vm.os_type,
            flavor: &vm.flavor,
            zone: zone_of_vm(&self.hypervisors, vm.id.as_str()).unwrap_or_else(|| vm.zone.clone()),
            commitment: assignments.get(vm.id.as_str()).cloned(),
        }
    }
}

/// Commitments of cores count VMs too, but do not cover them. Of two commitments with one VM the smaller UUID counts.
fn assign(assignments: &mut Assignments, commitment: &CommittedResource) {
    let Some(status) = &commitment.status else { return };
    let spec = status.accepted_spec.as_ref().unwrap_or(&commitment.spec);
    if spec.resource_type == ResourceType::Cores {
        return;
    }
    let uuid = CommitmentUuid::new(commitment.spec.commitment_uuid.as_str());
    for vm in &status.assigned_instances {
        let first = assignments.entry(vm.clone()).or_insert_with(|| uuid.clone());
        if uuid < *first {
            first.clone_from(&uuid);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
