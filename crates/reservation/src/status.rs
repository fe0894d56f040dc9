//! Report: the status of a slot.

use berth_core::HostName;
use berth_crds::conditions::reservation::{self as texts, Reason};
use berth_crds::conditions::{self, Status};
use berth_crds::{Reservation, ReservationStatus};
use berth_scheduler::SchedulerError;
use jiff::Timestamp;

/// What is to be said about a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Says {
    /// Status of the condition.
    pub status: Status,
    /// Its reason.
    pub reason: Reason,
    /// The fixed part of its message; a difference here is a reason to write.
    pub message: String,
    /// Continues the message after a colon; alone no reason to write.
    pub detail: Option<String>,
    /// A different detail is to be written after all.
    pub refresh: bool,
    /// What becomes of `status.host`.
    pub host: Place,
}

/// What becomes of `status.host` and the confirmed VMs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// They stay.
    Stays,
    /// The slot is in force on this host.
    On(HostName),
    /// The slot is on no host.
    Nowhere,
}

impl Says {
    /// A condition that leaves the place alone.
    pub fn new(status: Status, reason: Reason, message: impl Into<String>) -> Self {
        Self { status, reason, message: message.into(), detail: None, refresh: false, host: Place::Stays }
    }

    /// The same with a continued message.
    pub fn detailed(self, detail: impl Into<String>) -> Self {
        Self { detail: Some(detail.into()), ..self }
    }

    /// The same with another place.
    pub fn at(self, host: Place) -> Self {
        Self { host, ..self }
    }

    /// The message with its detail.
    pub fn text(&self) -> String {
        match &self.detail {
            Some(detail) => format!("{}: {detail}", self.message),
            None => self.message.clone(),
        }
    }
}

/// The status that the object is to have: with the echo of the commitment's generation, and equal to the old one when
/// nothing but a detail or an observed generation differs.
pub fn status(object: &Reservation, says: Option<&Says>, now: Timestamp) -> ReservationStatus {
    let mut status = object.status.clone().unwrap_or_default();
    echo(object, &mut status);
    let Some(says) = says else { return status };
    match &says.host {
        Place::Stays => {}
        Place::On(host) => status.host = Some(host.to_string()),
        Place::Nowhere => {
            status.host = None;
            status.committed_resource_reservation.get_or_insert_default().allocations.clear();
        }
    }
    if !is_said(says, &status) {
        let generation = object.metadata.generation;
        let new = conditions::ready_condition(says.status, says.reason.as_str(), &says.text(), generation, now);
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

fn is_said(says: &Says, status: &ReservationStatus) -> bool {
    conditions::ready(&status.conditions).is_some_and(|condition| {
        let rest = condition.message.strip_prefix(says.message.as_str());
        condition.status == says.status.as_str()
            && condition.reason == says.reason.as_str()
            && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(": "))
            && !says.refresh
    })
}

/// The scheduler has no answer.
pub(crate) fn unavailable(error: &SchedulerError) -> Says {
    let message = "the scheduler cannot decide at the moment";
    Says::new(Status::Unknown, Reason::SchedulerUnavailable, message).detailed(error.with_advice())
}

pub(crate) fn nameless() -> Says {
    Says::new(Status::False, Reason::MissingResourceName, texts::NO_RESOURCE_NAME)
}

#[cfg(test)]
mod tests;
