//! Reports a slot in force whose host was given another zone.

use std::sync::Arc;

use berth_cluster::{EventKind, ObjectKey, Written};
use berth_crds::Reservation;
use berth_crds::conditions::safety::{HOST_IN_ANOTHER_ZONE, MISPLACED, holds, set_extra_condition};
use berth_scheduler::{HostVerdict, Scheduler};

use crate::error::Error;
use crate::facts::ReservationFacts;
use crate::reconcile::ReservationController;

impl<S: Scheduler> ReservationController<S> {
    /// Returns the slot after that. A paused slot keeps the condition that it has.
    pub(crate) async fn report_misplaced(
        &self,
        key: &ObjectKey,
        object: Arc<Reservation>,
        facts: &ReservationFacts,
    ) -> Result<Arc<Reservation>, Error> {
        let conditions = object.status.as_ref().map(|status| &status.conditions[..]).unwrap_or_default();
        let message = facts.misplaced.and_then(|_| message(facts));
        if facts.paused.is_some() || holds(conditions, MISPLACED) == message.is_some() {
            return Ok(object);
        }
        let mut new = Reservation::clone(&object);
        let conditions = &mut new.status.get_or_insert_default().conditions;
        let reported = message.as_deref().map(|message| (HOST_IN_ANOTHER_ZONE, message));
        set_extra_condition(conditions, MISPLACED, reported, object.metadata.generation, self.context.clock.now());
        let Written::Changed(written) = self.context.reservations.patch_status(key, &object, &new).await? else {
            return Ok(object);
        };
        if let Some(message) = message {
            self.publish(key, &written, EventKind::Warning, HOST_IN_ANOTHER_ZONE, message);
        }
        Ok(written)
    }
}

fn message(facts: &ReservationFacts) -> Option<String> {
    let HostVerdict::WrongZone { zone } = &facts.verdict else { return None };
    let (host, own) = (facts.slot.target_host.as_ref()?, &facts.slot.zone);
    Some(format!(
        "host {host} is in zone {:?} now, the slot belongs into zone {:?}: it gets another host after the grace period, \
         or stays as long as it has VMs",
        zone.as_str(),
        own.as_str()
    ))
}
