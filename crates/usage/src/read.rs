//! Read: gathers the commitments and the VMs of a project, or says what is missing.

use berth_cluster::indexes::{COMMITMENT_BY_PROJECT, COMMITMENT_BY_UUID};
use berth_cluster::{Entry, FlavorGroupsCache, InvalidEntry, Routes, Store, zone_of_vm};
use berth_core::ProjectId;
use berth_core::usage::ProjectVm;
use berth_crds::{CommittedResource, Hypervisor};
use berth_vm_source::{VmSource, project_vms};

use crate::error::Error;
use crate::plan::StoredCommitment;

/// The sources of facts.
pub(crate) struct Reader<'a> {
    pub(crate) commitments: &'a Store<CommittedResource>,
    pub(crate) hypervisors: &'a Store<Hypervisor>,
    pub(crate) flavor_groups: &'a FlavorGroupsCache,
    pub(crate) vms: &'a VmSource,
    pub(crate) routes: &'a Routes,
}

impl Reader<'_> {
    /// All commitments of the project. A commitment that is missing could have taken VMs that others would get, so one
    /// cluster that cannot be read is an error.
    pub(crate) fn commitments(&self, project: &ProjectId) -> Result<Vec<StoredCommitment>, Error> {
        let may_be_of_project = |invalid: &InvalidEntry| {
            invalid.raw["spec"]["projectID"].as_str().is_none_or(|named| named == project.as_str())
        };
        for cluster in self.routes.clusters::<CommittedResource>()? {
            self.commitments.require_complete_for(&cluster, may_be_of_project)?;
        }
        let found = self.commitments.select(&COMMITMENT_BY_PROJECT, project.as_str());
        Ok(found.into_iter().map(|entry| self.stored(entry)).collect())
    }

    /// The VMs of the project. A host that does not decode counts as it was; its VMs move rarely, and their rows have a zone.
    pub(crate) fn vms(&self, project: &ProjectId) -> Result<Vec<ProjectVm>, Error> {
        for cluster in self.routes.clusters::<Hypervisor>()? {
            self.hypervisors.require_synced(&cluster)?;
        }
        let groups = self.flavor_groups.get()?.groups;
        let snapshot = self.vms.snapshot()?;
        let zone_of = |vm: &str| zone_of_vm(self.hypervisors, vm);
        Ok(project_vms(snapshot.of_project(project), &groups, zone_of))
    }

    fn stored(&self, Entry { key, object }: Entry<CommittedResource>) -> StoredCommitment {
        let same = self.commitments.select(&COMMITMENT_BY_UUID, &object.spec.commitment_uuid);
        let others = same.into_iter().map(|entry| entry.key).filter(|other| *other != key).collect();
        StoredCommitment { key, object, others }
    }
}
