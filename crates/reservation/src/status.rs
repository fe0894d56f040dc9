//! Report: the status of a slot.

use berth_core::HostName;
use berth_crds::conditions::reservation::{self as texts, Reason};
use berth_crds::conditions::{self, Status};
use berth_crds::{Reservation, ReservationStatus};
use berth_scheduler::SchedulerError;
use jiff::Timestamp;

/// The Ready condition of a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotReady {
    pub status: Status,
    pub reason: Reason,
    /// The fixed part of its message; a difference here is a reason to write.
    pub message: String,
    /// Continues the message after a colon; alone no reason to write.
    pub detail: Option<String>,
    /// A different detail is to be written after all.
    pub refresh: bool,
    pub host: HostChange,
}

/// The change of `status.host` and of the confirmed VMs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostChange {
    Stays,
    /// The slot is in force on this host.
    On(HostName),
    Nowhere,
}

impl SlotReady {
    pub fn new(status: Status, reason: Reason, message: impl Into<String>) -> Self {
        Self { status, reason, message: message.into(), detail: None, refresh: false, host: HostChange::Stays }
    }

    pub fn detailed(self, detail: impl Into<String>) -> Self {
        Self { detail: Some(detail.into()), ..self }
    }

    pub fn at(self, host: HostChange) -> Self {
        Self { host, ..self }
    }

    pub fn text(&self) -> String {
        match &self.detail {
            Some(detail) => format!("{}: {detail}", self.message),
            None => self.message.clone(),
        }
    }
}

/// The status that the object is to have: with the echo of the commitment's generation, and equal to the old one when
/// nothing but a detail or an observed generation differs.
pub fn status(object: &Reservation, ready: Option<&SlotReady>, now: Timestamp) -> ReservationStatus {
    let mut status = object.status.clone().unwrap_or_default();
    echo(object, &mut status);
    let Some(ready) = ready else { return status };
    match &ready.host {
        HostChange::Stays => {}
        HostChange::On(host) => status.host = Some(host.to_string()),
        HostChange::Nowhere => {
            status.host = None;
            status.committed_resource_reservation.get_or_insert_default().allocations.clear();
        }
    }
    if !is_reported(ready, &status) {
        let generation = object.metadata.generation;
        let new = conditions::ready_condition(ready.status, ready.reason.as_str(), &ready.text(), generation, now);
        conditions::set_condition(&mut status.conditions, new);
    }
    status
}

fn echo(object: &Reservation, status: &mut ReservationStatus) {
    let data = object.spec.committed_resource_reservation.as_ref();
    if let Some(generation) = data.and_then(|data| data.parent_generation) {
        let outcome = status.committed_resource_reservation.get_or_insert_default();
        outcome.observed_parent_generation = Some(generation);
    }
}

fn is_reported(ready: &SlotReady, status: &ReservationStatus) -> bool {
    conditions::ready(&status.conditions).is_some_and(|condition| {
        let rest = condition.message.strip_prefix(ready.message.as_str());
        condition.status == ready.status.as_str()
            && condition.reason == ready.reason.as_str()
            && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(": "))
            && !ready.refresh
    })
}

pub(crate) fn unavailable(error: &SchedulerError) -> SlotReady {
    let message = "the scheduler cannot decide at the moment";
    SlotReady::new(Status::Unknown, Reason::SchedulerUnavailable, message).detailed(error.with_advice())
}

pub(crate) fn nameless() -> SlotReady {
    SlotReady::new(Status::False, Reason::MissingResourceName, texts::NO_RESOURCE_NAME)
}

#[cfg(test)]
mod tests;
