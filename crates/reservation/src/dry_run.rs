//! A dry run of the reconciliation of a slot, for commands. The facts and the plan are those of a reconciliation;
//! nothing is written, and the scheduler is not called.

use std::sync::Arc;

use berth_cluster::ObjectKey;
use berth_crds::Reservation;
use berth_scheduler::{Scheduler, SlotRequest};

use crate::facts::{Delays, ReservationFacts};
use crate::plan::{ReservationPlan, plan};
use crate::reconcile::ReservationController;
use crate::status::SlotReady;
use crate::watches::is_slot;

/// The result of a dry run.
#[derive(Clone, Debug)]
pub struct ReservationDryRun {
    pub object: Arc<Reservation>,
    /// The facts of the dry run. Only the operator knows how long a host has been missing.
    pub facts: ReservationFacts,
    pub plan: ReservationPlan,
    pub delays: Delays,
}

impl<S: Scheduler> ReservationController<S> {
    /// Plans a slot as a dry run; `None` when there is no readable slot.
    pub fn dry_run(&self, key: &ObjectKey) -> Option<ReservationDryRun> {
        let object = self.store().get(key).filter(|object| is_slot(object))?;
        let (facts, delays) = (self.read(key, &object), self.context.settings.delays);
        Some(ReservationDryRun { plan: plan(&facts, delays), object, facts, delays })
    }

    /// The request with which the slot would request a host, or the condition that it would get instead; `None` if
    /// there is no valid slot.
    pub async fn request(&self, key: &ObjectKey) -> Option<Result<SlotRequest, SlotReady>> {
        let object = self.store().get(key).filter(|object| is_slot(object))?;
        Some(self.requests(key, &object, &[]).await.map(|requests| requests.own))
    }
}
