//! Apply: deletes an orphaned slot unless the disruption limit holds it back.

use std::sync::Arc;

use berth_cluster::{
    Action, CompletenessProof, Disruption, Event, EventKind, Guard, ObjectKey, Requester, Stopped,
    write_disruption_limited,
};
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
        self.context.disruption_limit.release(&requester(key));
    }

    pub(super) async fn delete(
        &self,
        key: &ObjectKey,
        object: Arc<Reservation>,
        proof: &CompletenessProof<Reservation>,
    ) -> Result<Action, Error> {
        if object.spec.target_host.is_some() {
            let zone = zone(&object).to_owned();
            let plan = Disruption { zone, cause: ORPHANED, slots: vec![key.clone()] };
            if let Err(stopped) = self.context.disruption_limit.ask(&requester(key), &plan, self.demand(&plan.zone)) {
                self.write_condition(key, object, Some(&stopped)).await?;
                return Ok(Action::RequeueAfter(self.context.delays.retry));
            }
        }
        self.context.reservations.delete(key, &object, Guard::None, proof).await?;
        let uuid = uuid(&object);
        let note = format!("deleted: no commitment has had its UUID {uuid} for {:?}", self.context.delays.grace);
        info!(reason = note, "orphaned slot deleted");
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

    pub(super) async fn write_condition(
        &self,
        key: &ObjectKey,
        object: Arc<Reservation>,
        stopped: Option<&Stopped>,
    ) -> Result<(), Error> {
        let now = self.context.clock.now();
        write_disruption_limited(&self.context.reservations, key, object, &[ORPHANED], stopped, now).await?;
        Ok(())
    }
}

fn requester(key: &ObjectKey) -> Requester {
    Requester::of::<Reservation>(key).because(ORPHANED)
}
