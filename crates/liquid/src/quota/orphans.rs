//! Deletes the objects of a project in zones that its newest push does not have.

use berth_cluster::indexes::QUOTA_BY_PROJECT;
use berth_cluster::{CompletenessProof, Entry, Guard, WriteError};
use berth_core::ProjectId;
use berth_core::liquid::quota::StoredZones;
use berth_crds::ProjectQuota;
use tracing::{info, warn};

use super::QuotaService;
use super::error::NotLeading;

/// Tries for one object.
const ATTEMPTS: u32 = 5;

impl QuotaService {
    /// Nothing depends on it, so what fails is only logged; the next push tries it again.
    pub(super) async fn delete_orphans(&self, project: &ProjectId, stored: &StoredZones) -> Result<(), NotLeading> {
        let (store, routes) = (self.context.quotas.store(), &self.context.routes);
        for cluster in routes.clusters::<ProjectQuota>().unwrap_or_default() {
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

    async fn delete_orphan(
        &self,
        Entry { key, object }: &Entry<ProjectQuota>,
        proof: &CompletenessProof<ProjectQuota>,
    ) -> Result<(), NotLeading> {
        let mut outcome = Ok(());
        for _ in 0..ATTEMPTS {
            outcome = self.context.quotas.delete(key, object, Guard::None, proof).await;
            match &outcome {
                Ok(()) => break,
                Err(WriteError::NotLeader { .. }) => return Err(NotLeading),
                Err(_) => {}
            }
        }
        match outcome {
            Ok(()) => info!(quota = %key, "quota of a zone deleted that Limes does not name any more"),
            Err(error) => warn!(quota = %key, %error, "quota of a zone not deleted that Limes does not name any more"),
        }
        Ok(())
    }
}
