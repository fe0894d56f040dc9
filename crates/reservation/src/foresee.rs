//! What a look at a slot would do, without doing it: for people who ask why. The facts and the plan are those of a look;
//! nothing is written, and nobody is asked for a host.

use std::sync::Arc;

use berth_cluster::ObjectKey;
use berth_crds::Reservation;
use berth_scheduler::{Scheduler, SlotRequest};

use crate::facts::{Delays, Facts};
use crate::plan::{Plan, plan};
use crate::reconcile::ReservationController;
use crate::status::Says;
use crate::watches::is_slot;

/// What a look would do now.
#[derive(Clone, Debug)]
pub struct Outlook {
    /// The slot.
    pub object: Arc<Reservation>,
    /// What the look rests on. How long a host has been missing only the process knows that runs all the time.
    pub facts: Facts,
    /// What it would do.
    pub plan: Plan,
    /// The delays of the controller.
    pub delays: Delays,
}

impl<S: Scheduler> ReservationController<S> {
    /// Looks at a slot and does nothing about it; `None` when there is no readable slot.
    pub fn foresee(&self, key: &ObjectKey) -> Option<Outlook> {
        let object = self.store().get(key).filter(|object| is_slot(object))?;
        let (facts, delays) = (self.read(key, &object), self.context.settings.delays);
        Some(Outlook { plan: plan(&facts, delays), object, facts, delays })
    }

    /// The request with which the slot would ask for a host, or what would be said in its place; `None` when there is no
    /// readable slot.
    pub async fn request(&self, key: &ObjectKey) -> Option<Result<SlotRequest, Says>> {
        let object = self.store().get(key).filter(|object| is_slot(object))?;
        let requests = self.requests(key, &object).await;
        // Its own comes first.
        requests.map(|mut all| (!all.is_empty()).then(|| all.swap_remove(0))).transpose()
    }
}
