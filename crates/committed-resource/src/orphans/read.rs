//! Read: whether a slot has a commitment, whose it is, and for how long it has had none.

use std::time::Duration;

use berth_cluster::{ObjectKey, Partial, Whole};
use berth_crds::{CommittedResource, Reservation};

use super::plan::Facts;
use super::reconcile::OrphanController;
use super::slot::{is_marked, is_orphan};

impl OrphanController {
    pub(super) fn read(&self, key: &ObjectKey, object: &Reservation) -> Facts {
        let leaving = object.metadata.deletion_timestamp.is_some();
        Facts {
            is_ours: is_marked(object) && !leaving,
            untouchable: self.context.freezer.slot(object).is_some() || self.store().in_doubt(key),
            missing: is_orphan(object, &self.context.commitments).then(|| self.missing(key)),
        }
    }

    /// For how long no cluster has had its commitment, counted in each on the time in which one could look there; the
    /// shortest counts.
    fn missing(&self, key: &ObjectKey) -> Result<(Duration, Whole<Reservation>), Partial> {
        let whole = self.store().complete(&key.cluster)?.whole();
        let clusters = self.context.routes.clusters::<CommittedResource>().unwrap_or_default();
        let mut shortest = Duration::MAX;
        for cluster in clusters {
            let clock = self.context.commitments.complete(&cluster)?.followed_time();
            shortest = shortest.min(self.missing.note(&(key.clone(), cluster), clock));
        }
        Ok((shortest, whole))
    }
}
