//! Read: gathers what the usage of a project is made from, or says what is missing.

use berth_cluster::indexes::QUOTA_BY_PROJECT;
use berth_cluster::{Entry, Store};
use berth_core::commitment::State;
use berth_core::liquid::units::UnitOf;
use berth_core::quota::{CommittedUsage, ProjectUsage, QuotaFacts, usage};
use berth_core::units::declared_gib;
use berth_core::{GroupName, ProjectId};
use berth_crds::{CommittedResource, CommittedResourceStatus, ProjectQuota, facts};
use berth_projects::{Error, ProjectSources};
use berth_vm_source::VmSnapshot;

/// The sources of facts.
pub(crate) struct Reader<'a> {
    pub(crate) quotas: &'a Store<ProjectQuota>,
    pub(crate) sources: &'a ProjectSources,
    pub(crate) states: &'a [State],
    pub(crate) unit_of: &'a UnitOf,
}

impl Reader<'_> {
    /// The objects of the project. Each is written by itself, so those that cannot be read do not matter.
    pub(crate) fn quotas(&self, project: &ProjectId) -> Vec<Entry<ProjectQuota>> {
        self.quotas.select(&QUOTA_BY_PROJECT, project.as_str())
    }

    /// The usage of all zones.
    pub(crate) fn usage(&self, project: &ProjectId) -> Result<ProjectUsage, Error> {
        let groups = self.sources.flavor_groups.get()?.groups;
        let snapshot = self.sources.vms.snapshot()?;
        let found = self.sources.commitments(project)?;
        // Of several objects with one UUID only the served one pays, as there is only one commitment.
        let served = found.iter().filter(|entry| !facts::is_duplicate(&entry.object));
        let commitments: Vec<_> = served.filter_map(|entry| committed(&entry.object, &snapshot)).collect();
        let vms = self.sources.vms(project, &snapshot, &groups)?;
        let facts = QuotaFacts { vms: &vms, commitments: &commitments, states: self.states, groups: &groups };
        Ok(usage(&facts, |group: &GroupName| (self.unit_of)(group)))
    }
}

/// What the commitment pays for, as far as its usage is known. What is accepted counts, else what is wanted.
fn committed(object: &CommittedResource, snapshot: &VmSnapshot) -> Option<CommittedUsage> {
    let status = object.status.as_ref().filter(|status| !status.used_resources.is_empty())?;
    let spec = facts::spec_of(status.accepted_spec.as_ref().unwrap_or(&object.spec));
    Some(CommittedUsage {
        zone: spec.zone,
        group: spec.group,
        resource: spec.resource,
        state: spec.state,
        declared_gib: used_gib(status, snapshot),
    })
}

/// Objects of former versions lack the number. The VMs that they list have it.
fn used_gib(status: &CommittedResourceStatus, snapshot: &VmSnapshot) -> u64 {
    let of_vms = || {
        let vms = status.assigned_instances.iter().filter_map(|vm| snapshot.vm(&vm.as_str().into()));
        vms.map(|vm| declared_gib(vm.flavor.memory_mib)).fold(0, u64::saturating_add)
    };
    status.used_declared_gib.map_or_else(of_vms, |gib| u64::try_from(gib).unwrap_or_default())
}
