//! The condition `Braked` of a slot: several controllers may hold back something about the same slot, and none of them
//! writes over what another one says.

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_crds::conditions::find;
use berth_crds::conditions::safety::{BRAKED, holds, mark};
use berth_crds::{Reservation, ReservationType};
use k8s_openapi::jiff::Timestamp;

use super::Stopped;
use crate::{ObjectKey, Store, WriteError, Writer, Written};

/// The slots that the brake holds back: a confirmation concerns them.
pub fn braked_slots(reservations: &Store<Reservation>) -> BTreeSet<ObjectKey> {
    let is_braked = |object: &Reservation| {
        let conditions = object.status.as_ref().map(|status| &status.conditions[..]).unwrap_or_default();
        object.spec.type_ == ReservationType::CommittedResourceReservation && holds(conditions, BRAKED)
    };
    reservations.all().into_iter().filter(|entry| is_braked(&entry.object)).map(|entry| entry.key).collect()
}

/// Says that a plan for the slot was stopped, or that it is no more, and gives the slot as it is then. `causes` are those
/// of the controller that asks: a condition with another reason stays as it is. What is said already is not said again.
pub async fn say_braked(
    writer: &Writer<Reservation>,
    key: &ObjectKey,
    object: Arc<Reservation>,
    causes: &[&str],
    stopped: Option<&Stopped>,
    now: Timestamp,
) -> Result<Arc<Reservation>, WriteError> {
    let conditions = object.status.as_ref().map(|status| &status.conditions[..]).unwrap_or_default();
    let said = find(conditions, BRAKED);
    let theirs = said.is_some_and(|said| !causes.contains(&said.reason.as_str()));
    if theirs || said.is_some() == stopped.is_some() {
        return Ok(object);
    }
    let text = stopped.map(ToString::to_string).unwrap_or_default();
    let says = stopped.map(|stopped| (stopped.cause, text.as_str()));
    let mut new = Reservation::clone(&object);
    mark(&mut new.status.get_or_insert_default().conditions, BRAKED, says, object.metadata.generation, now);
    match writer.patch_status(key, &object, &new).await? {
        Written::Changed(written) => Ok(written),
        Written::Unchanged | Written::Gone => Ok(object),
    }
}
