//! Read: the commitments and the VMs of a project, or what is missing.

use berth_cluster::indexes::COMMITMENT_BY_PROJECT;
use berth_cluster::{Entry, FlavorGroupsCache, Routes, Store, Stores, zone_of_vm};
use berth_core::ProjectId;
use berth_core::flavor::FlavorGroups;
use berth_core::usage::ProjectVm;
use berth_crds::{CommittedResource, Hypervisor};
use berth_vm_source::{VmSnapshot, VmSource, project_vms};

use crate::error::Error;

/// Where the commitments and the VMs of projects are read.
#[derive(Clone)]
pub struct ProjectSources {
    pub commitments: Store<CommittedResource>,
    pub hypervisors: Store<Hypervisor>,
    pub flavor_groups: FlavorGroupsCache,
    pub vms: VmSource,
    pub routes: Routes,
}

impl ProjectSources {
    pub fn new(stores: &Stores, flavor_groups: FlavorGroupsCache, vms: VmSource, routes: Routes) -> Self {
        let (commitments, hypervisors) = (stores.commitments.clone(), stores.hypervisors.clone());
        Self { commitments, hypervisors, flavor_groups, vms, routes }
    }

    /// All commitments of the project. One cluster that cannot be read is an error: a commitment that is missing could have
    /// taken VMs that others would get, and would seem to pay for nothing.
    pub fn commitments(&self, project: &ProjectId) -> Result<Vec<Entry<CommittedResource>>, Error> {
        for cluster in self.routes.clusters::<CommittedResource>()? {
            self.commitments
                .require_complete_for(&cluster, |invalid| invalid.may_have_in_spec("projectID", project.as_str()))?;
        }
        Ok(self.commitments.select(&COMMITMENT_BY_PROJECT, project.as_str()))
    }

    /// The VMs of the project. A host that does not decode counts as it was; its VMs move rarely, and their rows have a zone.
    pub fn vms(
        &self,
        project: &ProjectId,
        snapshot: &VmSnapshot,
        groups: &FlavorGroups,
    ) -> Result<Vec<ProjectVm>, Error> {
        for cluster in self.routes.clusters::<Hypervisor>()? {
            self.hypervisors.require_synced(&cluster)?;
        }
        let zone_of = |vm: &str| zone_of_vm(&self.hypervisors, vm);
        Ok(project_vms(snapshot.of_project(project), groups, zone_of))
    }
}
