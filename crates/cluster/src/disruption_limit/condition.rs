//! The condition `DisruptionLimited` of a slot. Several controllers may be stopped at the same slot, and none of them
//! overwrites the condition of another one.

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_crds::conditions::find;
use berth_crds::conditions::safety::{DISRUPTION_LIMITED, has_former_type, holds, set_extra_condition};
use berth_crds::{Reservation, ReservationType};
use k8s_openapi::jiff::Timestamp;

use super::Stopped;
use crate::{ObjectKey, Store, WriteError, Writer, Written};

/// Why the disruption limit holds the slot back, as its condition shows it.
pub fn disruption_limited_reason(slot: &Reservation) -> Option<&str> {
    let conditions = slot.status.as_ref().map(|status| &status.conditions[..]).unwrap_or_default();
    find(conditions, DISRUPTION_LIMITED).map(|condition| condition.reason.as_str())
}

/// The slots that the disruption limit holds back; a confirmation enqueues them.
pub fn disruption_limited_slots(reservations: &Store<Reservation>) -> BTreeSet<ObjectKey> {
    let is_disruption_limited = |object: &Reservation| {
        let conditions = object.status.as_ref().map(|status| &status.conditions[..]).unwrap_or_default();
        object.spec.type_ == ReservationType::CommittedResourceReservation && holds(conditions, DISRUPTION_LIMITED)
    };
    reservations.all().into_iter().filter(|entry| is_disruption_limited(&entry.object)).map(|entry| entry.key).collect()
}

/// Reports that a plan for the slot was stopped, or that it no longer is, and returns the slot after that. `causes` are
/// those of the calling controller: a condition with another reason is kept.
pub async fn write_disruption_limited(
    writer: &Writer<Reservation>,
    key: &ObjectKey,
    object: Arc<Reservation>,
    causes: &[&str],
    stopped: Option<&Stopped>,
    now: Timestamp,
) -> Result<Arc<Reservation>, WriteError> {
    let conditions = object.status.as_ref().map(|status| &status.conditions[..]).unwrap_or_default();
    let current = find(conditions, DISRUPTION_LIMITED);
    let is_foreign = current.is_some_and(|current| !causes.contains(&current.reason.as_str()));
    if !has_former_type(conditions) && (is_foreign || current.is_some() == stopped.is_some()) {
        return Ok(object);
    }
    let text = stopped.map(ToString::to_string).unwrap_or_default();
    let reported = stopped.map(|stopped| (stopped.cause, text.as_str()));
    let mut new = Reservation::clone(&object);
    set_extra_condition(
        &mut new.status.get_or_insert_default().conditions,
        DISRUPTION_LIMITED,
        reported,
        object.metadata.generation,
        now,
    );
    match writer.patch_status(key, &object, &new).await? {
        Written::Changed(written) => Ok(written),
        Written::Unchanged | Written::Gone => Ok(object),
    }
}
