//! Read: gathers the commitments and the VMs of a project, or says what is missing.

use berth_cluster::Entry;
use berth_cluster::indexes::COMMITMENT_BY_UUID;
use berth_core::ProjectId;
use berth_core::usage::ProjectVm;
use berth_crds::CommittedResource;
use berth_projects::{Error, ProjectSources};

use crate::plan::StoredCommitment;

/// Reads the sources of facts.
pub(crate) struct Reader<'a>(pub(crate) &'a ProjectSources);

impl Reader<'_> {
    pub(crate) fn commitments(&self, project: &ProjectId) -> Result<Vec<StoredCommitment>, Error> {
        Ok(self.0.commitments(project)?.into_iter().map(|entry| self.stored(entry)).collect())
    }

    pub(crate) fn vms(&self, project: &ProjectId) -> Result<Vec<ProjectVm>, Error> {
        let groups = self.0.flavor_groups.get()?.groups;
        self.0.vms(project, &*self.0.vms.snapshot()?, &groups)
    }

    fn stored(&self, Entry { key, object }: Entry<CommittedResource>) -> StoredCommitment {
        let same = self.0.commitments.select(&COMMITMENT_BY_UUID, &object.spec.commitment_uuid);
        let others = same.into_iter().map(|entry| entry.key).filter(|other| *other != key).collect();
        StoredCommitment { key, object, others }
    }
}
