//! Plan: whether an in-flight reservation waits or is deleted. A function of facts.

use std::time::Duration;

use berth_cluster::ObjectKey;
use berth_crds::conditions::Status;
use berth_crds::conditions::reservation::{self as texts, Reason};
use jiff::{SignedDuration, Timestamp};
use strum::IntoStaticStr;

use super::facts::{Flight, InFlightFacts};
use crate::status::SlotReady;

/// How long one without `spec.endTime` may live.
const LIFE: SignedDuration = SignedDuration::from_mins(30);

/// When one is reconciled again whose end cannot be known.
const CLOCK: Duration = Duration::from_secs(60);

/// The step to take, and when to reconcile again without an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InFlightPlan {
    pub step: InFlightStep,
    pub requeue_after: Option<Duration>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InFlightStep {
    Nothing,
    WriteReady(SlotReady),
    /// Their purpose is fulfilled. The objects that prove that the VM has landed are deleted last, so that an
    /// interrupted deletion still finds the proof when it continues.
    Delete(Cause, Vec<ObjectKey>),
}

/// Why in-flight reservations are deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Cause {
    /// The VM is where it was to go, or on another host that it was not on before.
    Landed,
    EndTime,
    /// There is no `spec.endTime`, and half an hour has passed.
    Age,
}

impl Cause {
    /// The value of the label `cause` in metrics.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// Whether the hosts show the VM where it was before, so that only its size can prove the end of the resize.
pub fn needs_size(facts: &InFlightFacts) -> bool {
    facts.family.iter().any(|flight| facts.may_have_been_resized(flight))
}

pub fn plan(facts: &InFlightFacts) -> InFlightPlan {
    let rest = rest(facts);
    if let Some((_, cause)) = rest.filter(|(rest, _)| *rest <= SignedDuration::ZERO) {
        return InFlightPlan { step: InFlightStep::Delete(cause, vec![facts.own.key.clone()]), requeue_after: None };
    }
    let left = rest.and_then(|(rest, _)| Duration::try_from(rest).ok());
    let requeue_after = if facts.now.is_none() { Some(CLOCK) } else { left };
    match step(facts) {
        step @ InFlightStep::Delete(..) => InFlightPlan { step, requeue_after: None },
        step => InFlightPlan { step, requeue_after },
    }
}

/// How much longer it may exist. It is at least as old as this process has known it, whatever the clocks of API servers
/// show.
fn rest(facts: &InFlightFacts) -> Option<(SignedDuration, Cause)> {
    let now = facts.now?;
    let until = |time: Timestamp| time.duration_since(now);
    let own = &facts.own;
    if let Some(end) = own.end {
        return Some((until(end), Cause::EndTime));
    }
    let by_clock = until(own.created?.saturating_add(LIFE).ok()?);
    let by_sight = LIFE.saturating_sub(SignedDuration::try_from(facts.known_for).ok()?);
    Some((by_clock.min(by_sight), Cause::Age))
}

fn step(facts: &InFlightFacts) -> InFlightStep {
    if facts.own.vm.is_none() {
        return InFlightStep::WriteReady(SlotReady::new(Status::False, Reason::MissingSpec, texts::NO_IN_FLIGHT_SPEC));
    }
    let mut family: Vec<_> = facts.family.iter().map(|flight| (facts.proof(flight), &flight.key)).collect();
    family.sort();
    if family.last().is_some_and(|(proof, _)| *proof > Proof::None) {
        return InFlightStep::Delete(Cause::Landed, family.into_iter().map(|(_, key)| key.clone()).collect());
    }
    let unknown = |reason, text| InFlightStep::WriteReady(SlotReady::new(Status::Unknown, reason, text));
    if facts.listed.is_empty() && facts.hosts_known {
        return unknown(Reason::InstanceNotFound, texts::NOT_SPAWNED);
    }
    match facts.vm_size {
        _ if !facts.may_have_been_resized(&facts.own) => InFlightStep::Nothing,
        Some(_) => unknown(Reason::VmSizeMismatch, texts::NOT_RESIZED),
        None => unknown(Reason::VmSizeUnknown, texts::SIZE_UNKNOWN),
    }
}

/// How a reservation proves that its VM has landed, from the weakest to that which outlives a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Proof {
    None,
    /// The VM is on a host that it was not on before, as this process remembers.
    Came,
    OnTarget,
}

impl InFlightFacts {
    /// A host that lists the VM now and did not when the reservation was first seen is where it has landed; so is its
    /// target, unless the VM may have been there before.
    fn proof(&self, flight: &Flight) -> Proof {
        let came = flight.listed_first.as_ref().is_some_and(|first| !self.listed.is_subset(first));
        let arrived = self.is_on_target(flight) && !flight.resizes;
        let resized = self.may_have_been_resized(flight) && self.vm_size == Some(flight.size);
        match (arrived || resized, came) {
            (true, _) => Proof::OnTarget,
            (false, true) => Proof::Came,
            (false, false) => Proof::None,
        }
    }

    fn may_have_been_resized(&self, flight: &Flight) -> bool {
        flight.resizes && self.is_on_target(flight)
    }

    fn is_on_target(&self, flight: &Flight) -> bool {
        flight.target.as_ref().is_some_and(|target| self.listed.contains(target))
    }
}

#[cfg(test)]
mod tests;
