//! Deletes the objects of a project in zones that its newest push does not have.

use std::sync::Arc;

use berth_cluster::indexes::QUOTA_BY_PROJECT;
use berth_cluster::{CompletenessProof, Entry, ErrorClass, Guard, WriteError};
use berth_core::liquid::quota::StoredZones;
use berth_core::{ClusterName, ProjectId, Zone};
use berth_crds::ProjectQuota;
use tracing::{info, warn};

use super::QuotaService;
use super::error::NotLeading;
use super::object::is_quota_of;

impl QuotaService {
    /// Nothing depends on it, so what fails is only logged; the next push tries it again.
    pub(super) async fn delete_orphans(&self, project: &ProjectId, stored: &StoredZones) -> Result<(), NotLeading> {
        let (store, routes) = (self.context.quotas.store(), &self.context.routes);
        for cluster in routes.clusters::<ProjectQuota>().unwrap_or_default() {
            self.settle_doubts(project, &cluster).await;
            // Each object is left over by itself, whatever the others say, so those that do not decode do not matter.
            let complete = match store.require_complete_for(&cluster, |_| false) {
                Ok(complete) => complete,
                Err(partial) => {
                    warn!(project = project.as_str(), %partial, "quota of other zones not deleted");
                    continue;
                }
            };
            let proof = complete.proof();
            for orphan in complete.select(&QUOTA_BY_PROJECT, project.as_str()) {
                if stored.leaves_over(&orphan.object.spec.availability_zone) {
                    self.delete_orphan(&orphan, &proof).await?;
                }
            }
        }
        Ok(())
    }

    /// The store does not have an object whose creation was not answered, and it may be one of this project.
    async fn settle_doubts(&self, project: &ProjectId, cluster: &ClusterName) {
        let (quotas, store) = (&self.context.quotas, self.context.quotas.store());
        let may_be_of_project =
            |object: Option<Arc<ProjectQuota>>| object.is_none_or(|object| object.spec.project_id == project.as_str());
        let settled = quotas.settle_doubts(|key| key.cluster == *cluster && may_be_of_project(store.get(key))).await;
        if let Err(error) = settled {
            warn!(project = project.as_str(), %error, "quota of unknown state not read");
        }
    }

    async fn delete_orphan(
        &self,
        orphan: &Entry<ProjectQuota>,
        proof: &CompletenessProof<ProjectQuota>,
    ) -> Result<(), NotLeading> {
        let Entry { key, object } = orphan;
        let outcome = match self.context.quotas.delete(key, object, Guard::None, proof).await {
            Err(error) if error.class() == ErrorClass::Conflict => self.delete_again(orphan, proof).await,
            outcome => outcome,
        };
        match outcome {
            Ok(()) => info!(quota = %key, "quota of a zone deleted that Limes does not name any more"),
            Err(WriteError::NotLeader { .. }) => return Err(NotLeading),
            Err(error) => warn!(quota = %key, %error, "quota of a zone not deleted that Limes does not name any more"),
        }
        Ok(())
    }

    /// Deletes the object that has taken the place of the one that was seen, if it is the quota of the same zone.
    async fn delete_again(
        &self,
        Entry { key, object }: &Entry<ProjectQuota>,
        proof: &CompletenessProof<ProjectQuota>,
    ) -> Result<(), WriteError> {
        let quotas = &self.context.quotas;
        quotas.settle(key).await?;
        let (project, zone) =
            (object.spec.project_id.as_str().into(), Zone::from(object.spec.availability_zone.as_str()));
        match quotas.store().get(key).filter(|found| is_quota_of(found, &project, &zone)) {
            Some(found) => quotas.delete(key, &found, Guard::None, proof).await,
            None => Ok(()),
        }
    }
}
