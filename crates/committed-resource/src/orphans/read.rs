//! Read: whether a slot has a commitment, whose it is, and for how long it has had none.

use std::time::Duration;

use berth_cluster::{ObjectKey, Partial, Store, Whole, indexes::COMMITMENT_BY_UUID};
use berth_crds::{CommittedResource, Reservation, ReservationType, labels};
use kube::ResourceExt;

use super::{plan::Facts, reconcile::OrphanController};

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
            shortest = shortest.min(self.missing.missing(&(key.clone(), cluster), clock));
        }
        Ok((shortest, whole))
    }
}

pub(super) fn is_slot(object: &Reservation) -> bool {
    object.spec.type_ == ReservationType::CommittedResourceReservation
}

/// It was made by us.
pub(super) fn is_marked(object: &Reservation) -> bool {
    object.annotations().contains_key(labels::COMMITMENT_UID)
}

/// No commitment has its UUID. Of a slot without one nobody knows whose it is.
pub(super) fn is_orphan(object: &Reservation, commitments: &Store<CommittedResource>) -> bool {
    let uuid = uuid(object);
    !uuid.is_empty() && commitments.select(&COMMITMENT_BY_UUID, uuid).is_empty()
}

pub(super) fn uuid(object: &Reservation) -> &str {
    let data = object.spec.committed_resource_reservation.as_ref();
    data.and_then(|data| data.commitment_uuid.as_deref()).unwrap_or_default()
}

pub(super) fn zone(object: &Reservation) -> &str {
    object.spec.availability_zone.as_deref().unwrap_or_default()
}
