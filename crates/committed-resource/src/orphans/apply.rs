//! Apply: deletes a slot whose commitment is gone, unless the brake keeps it.

use std::sync::Arc;

use berth_cluster::{Action, Asker, Disruption, Event, EventKind, Guard, ObjectKey, Stopped, Whole, say_braked};
use berth_crds::Reservation;
use berth_crds::conditions::safety::ORPHANED;
use kube::Resource;
use tracing::info;

use super::reconcile::OrphanController;
use super::slot::{is_orphan, uuid, zone};
use crate::error::Error;

impl OrphanController {
    pub(super) fn forget(&self, key: &ObjectKey) {
        for cluster in self.context.routes.names() {
            self.missing.forget(&(key.clone(), cluster));
        }
        self.context.brake.over(&asker(key));
    }

    pub(super) async fn delete(
        &self,
        key: &ObjectKey,
        object: Arc<Reservation>,
        whole: &Whole<Reservation>,
    ) -> Result<Action, Error> {
        if object.spec.target_host.is_some() {
            let zone = zone(&object).to_owned();
            let plan = Disruption { zone, cause: ORPHANED, slots: vec![key.clone()] };
            if let Err(stopped) = self.context.brake.ask(&asker(key), &plan, self.demand(&plan.zone)) {
                self.say(key, object, Some(&stopped)).await?;
                return Ok(Action::RequeueAfter(self.context.delays.retry));
            }
        }
        self.context.reservations.delete(key, &object, Guard::None, whole).await?;
        let uuid = uuid(&object);
        let note = format!("deleted: no commitment has had its UUID {uuid} for {:?}", self.context.delays.grace);
        info!(slot = %key.name, cluster = %key.cluster, reason = note, "orphaned slot deleted");
        let (reason, action) = ("OrphanDeleted".to_owned(), "Delete".to_owned());
        let event = Event { kind: EventKind::Warning, reason, action, note };
        self.context.events.publish(&key.cluster, &object.object_ref(&()), event);
        Ok(Action::AwaitChange)
    }

    /// All orphans of the zone with a host that were noticed: when a whole backup has no commitments, not even the first
    /// of their slots are to be deleted.
    fn demand(&self, zone_: &str) -> impl Iterator<Item = ObjectKey> {
        let noticed = self.missing.keys().into_iter().map(|(key, _)| key);
        noticed.filter(move |key| {
            let object = self.store().get(key).filter(|object| object.spec.target_host.is_some());
            object.is_some_and(|object| zone(&object) == zone_ && is_orphan(&object, &self.context.commitments))
        })
    }

    pub(super) async fn say(
        &self,
        key: &ObjectKey,
        object: Arc<Reservation>,
        stopped: Option<&Stopped>,
    ) -> Result<(), Error> {
        let now = self.context.clock.now();
        say_braked(&self.context.reservations, key, object, &[ORPHANED], stopped, now).await?;
        Ok(())
    }
}

fn asker(key: &ObjectKey) -> Asker {
    Asker::of::<Reservation>(key).because(ORPHANED)
}
