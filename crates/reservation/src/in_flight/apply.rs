//! Apply: writes the condition of an in-flight reservation, or deletes it and the others of its VM.

use berth_cluster::{Guard, ObjectKey};
use berth_crds::Reservation;
use tracing::field::display;
use tracing::info;

use super::facts::is_ours;
use super::plan::Cause;
use super::reconcile::InFlightController;
use crate::error::Error;
use crate::status::{SlotReady, status};

impl InFlightController {
    pub(super) async fn write_ready(&self, key: &ObjectKey, old: &Reservation, ready: &SlotReady) -> Result<(), Error> {
        let mut new = old.clone();
        new.status = Some(status(old, Some(ready), self.context.clock.now()));
        Ok(self.context.reservations.patch_status(key, old, &new).await.map(drop)?)
    }

    /// One after the other, each in its own cluster; the first that cannot be deleted ends it.
    pub(super) async fn delete_all(&self, own: &ObjectKey, cause: Cause, which: &[ObjectKey]) -> Result<(), Error> {
        let _one_at_a_time = self.deleting.lock().await;
        for key in which {
            let Some(object) = self.store().get(key).filter(|object| is_ours(object)) else { continue };
            // Others that cannot be read do not matter: that this one has done its work is no conclusion from an absence.
            let whole = self.store().require_complete_for(&key.cluster, |one| one.key == *key)?.proof();
            self.context.reservations.delete(key, &object, Guard::None, &whole).await?;
            self.context.metrics.deleted.with_label_values(&[cause.as_str()]).inc();
            let other = (key != own).then(|| display(key));
            info!(other, cause = cause.as_str(), "in-flight reservation deleted");
        }
        Ok(())
    }
}
