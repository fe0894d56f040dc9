//! Read: whether a slot has a commitment, and for how long it has had none.

use std::time::Duration;

use berth_cluster::{CompletenessProof, ObjectKey, Partial};
use berth_crds::{CommittedResource, Reservation};
use kube::ResourceExt as _;

use super::plan::OrphanFacts;
use super::reconcile::OrphanController;
use super::slot::{is_marked, is_orphan, uuid};

impl OrphanController {
    pub(super) fn read(&self, key: &ObjectKey, object: &Reservation) -> OrphanFacts {
        let leaving = object.metadata.deletion_timestamp.is_some();
        let unlisted = if is_marked(object) { None } else { self.is_unlisted(object) };
        OrphanFacts {
            is_ours: (is_marked(object) || unlisted == Some(true)) && !leaving,
            awaits_limes: unlisted == Some(false) && !leaving,
            untouchable: self.context.pauses.slot(object).is_some() || self.store().in_doubt(key),
            missing: is_orphan(object, &self.context.commitments).then(|| self.missing(key)),
        }
    }

    /// Whether complete lists of Limes that are younger than the slot do not have its commitment; `None` if nothing reads
    /// Limes.
    fn is_unlisted(&self, object: &Reservation) -> Option<bool> {
        let since = self.context.limes.as_ref()?.unlisted_since(uuid(object));
        let created = object.creation_timestamp().map(|time| time.0);
        Some(since.zip(created).is_some_and(|(since, created)| created < since))
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
