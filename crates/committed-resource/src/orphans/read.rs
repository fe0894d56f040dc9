//! Read: whether a slot has a commitment, and for how long it has had none.

use std::time::Duration;

use berth_cluster::{CompletenessProof, ObjectKey, Partial};
use berth_crds::{CommittedResource, Reservation};

use super::plan::OrphanFacts;
use super::reconcile::OrphanController;
use super::slot::{is_marked, is_orphan};

impl OrphanController {
    pub(super) fn read(&self, key: &ObjectKey, object: &Reservation) -> OrphanFacts {
        let leaving = object.metadata.deletion_timestamp.is_some();
        OrphanFacts {
            is_ours: is_marked(object) && !leaving,
            untouchable: self.context.pauses.slot(object).is_some() || self.store().in_doubt(key),
            missing: is_orphan(object, &self.context.commitments).then(|| self.missing(key)),
        }
    }

    /// For how long no cluster has had its commitment, counted in each while it could be read; the
    /// shortest counts.
    fn missing(&self, key: &ObjectKey) -> Result<(Duration, CompletenessProof<Reservation>), Partial> {
        let proof = self.store().require_complete(&key.cluster)?.proof();
        let clusters = self.context.routes.clusters::<CommittedResource>().unwrap_or_default();
        let mut shortest = Duration::MAX;
        for cluster in clusters {
            let clock = self.context.commitments.require_complete(&cluster)?.synced_time();
            shortest = shortest.min(self.missing.note(&(key.clone(), cluster), clock));
        }
        Ok((shortest, proof))
    }
}
