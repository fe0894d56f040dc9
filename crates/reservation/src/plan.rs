//! Plan: what a slot needs. A function of facts.

use std::collections::BTreeMap;
use std::time::Duration;

use berth_cluster::CompletenessProof;
use berth_core::host::Amounts;
use berth_core::{HostName, Resources, VmId};
use berth_crds::Hypervisor;
use berth_crds::conditions::reservation as texts;
use berth_scheduler::HostVerdict;
use strum::IntoStaticStr;

use crate::facts::{Delays, HostFact, ReservationFacts};

mod vms;

pub use vms::{FollowedVm, VerificationPlan};

/// The steps to take, and when to reconcile again without an event.
#[derive(Clone, Debug, PartialEq)]
pub struct ReservationPlan {
    pub step: ReservationStep,
    pub requeue_after: Option<Duration>,
}

/// The one thing that a slot needs next.
#[derive(Clone, Debug, PartialEq)]
pub enum ReservationStep {
    Nothing,
    /// It is left exactly as it is, and searches for nothing.
    Paused,
    /// It has no flavor and can never be placed.
    Nameless,
    /// It lost its host: report that and clear its status.
    Unbind(Revocation),
    /// Its host is not valid: clear it, then as [`ReservationStep::Unbind`].
    Revoke(Revocation),
    /// The desired host is not feasible, but the host where it is in force is: back to that.
    Return(HostName),
    Place,
    /// It is in force on the host that it names.
    Confirm {
        /// It was created around VMs that run already.
        pre_allocated: bool,
    },
    /// It is in force, and its VMs differ from its status.
    Verify(VerificationPlan),
    /// It is in force, and these VMs run beside it.
    Adopt(BTreeMap<VmId, Resources>),
    /// It is in force; only the generation of its commitment must be echoed.
    Echo,
}

/// Why a slot lost its host.
#[derive(Clone, Debug, PartialEq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Revocation {
    Cleared,
    /// The host is gone, as a complete read has shown.
    HostGone(HostName, CompletenessProof<Hypervisor>),
    NoSuchHost(HostName),
    WrongZone(HostName, String),
    /// The host has no free capacity for it.
    Overbooked(HostName, Amounts),
    /// It was evicted, because the host had this much too much.
    Oversubscribed(HostName, Resources),
}

pub fn plan(facts: &ReservationFacts, delays: Delays) -> ReservationPlan {
    let slot = &facts.slot;
    if facts.paused.is_some() {
        return ReservationStep::Paused.requeue_after(delays.active);
    }
    if slot.flavor.is_empty() {
        return ReservationStep::Nameless.into_plan();
    }
    match &slot.target_host {
        None if slot.status_host.is_some() || slot.is_ready() || !facts.confirmed.is_empty() => {
            ReservationStep::Unbind(Revocation::Cleared).into_plan()
        }
        None if !facts.hosts_are_synced => ReservationStep::Nothing.requeue_after(delays.retry),
        None => match facts.revoked.and_then(|time| delays.retry.checked_sub(time)).filter(|left| !left.is_zero()) {
            // What has chosen the wrong host would choose it again.
            Some(left) => ReservationStep::Nothing.requeue_after(left),
            None => ReservationStep::Place.into_plan(),
        },
        Some(host) => plan_on_host(facts, host, delays),
    }
}

fn plan_on_host(facts: &ReservationFacts, host: &HostName, delays: Delays) -> ReservationPlan {
    let in_force = facts.slot.is_in_force();
    let holds = in_force || !facts.slot.expected.is_empty();
    match &facts.host {
        HostFact::Missing(time, whole) if *time >= delays.grace => {
            ReservationStep::Revoke(Revocation::HostGone(host.clone(), whole.clone())).into_plan()
        }
        HostFact::Missing(..) if has_to_return(facts) => {
            revoke_unfit(facts, Revocation::NoSuchHost(host.clone())).into_plan()
        }
        HostFact::Missing(time, _) if holds => {
            ReservationStep::Nothing.requeue_after(delays.grace.saturating_sub(*time))
        }
        HostFact::Missing(..) => revoke_unfit(facts, Revocation::NoSuchHost(host.clone())).into_plan(),
        HostFact::Unreadable if !in_force => ReservationStep::Nothing.requeue_after(delays.retry),
        HostFact::Exists if in_force && has_to_leave_zone(facts) => plan_in_other_zone(facts, host, delays),
        HostFact::Exists | HostFact::Unreadable if in_force => plan_in_place(facts, delays),
        HostFact::Exists | HostFact::Unreadable => arriving(facts, host),
    }
}

/// A slot with VMs stays with them. The zone of the host may have been corrected while it cannot be read.
fn has_to_leave_zone(facts: &ReservationFacts) -> bool {
    facts.misplaced.is_some() && facts.hosts_are_synced && facts.slot.expected.is_empty() && facts.confirmed.is_empty()
}

fn plan_in_other_zone(facts: &ReservationFacts, host: &HostName, delays: Delays) -> ReservationPlan {
    let left = delays.grace.saturating_sub(facts.misplaced.unwrap_or_default());
    match &facts.verdict {
        HostVerdict::WrongZone { zone } if left.is_zero() => {
            ReservationStep::Revoke(Revocation::WrongZone(host.clone(), zone.to_string())).into_plan()
        }
        _ => {
            let plan = plan_in_place(facts, delays);
            ReservationPlan { requeue_after: plan.requeue_after.map(|after| after.min(left)), ..plan }
        }
    }
}

/// A change that leaves the slot alone is not echoed: only a write of the slot is.
fn plan_in_place(facts: &ReservationFacts, delays: Delays) -> ReservationPlan {
    let heard = facts.slot.observed_parent_generation == facts.slot.parent_generation;
    let verified = vms::verify(facts, delays);
    let requeue_after = verified.requeue_after.unwrap_or(delays.active);
    let step = match heard {
        _ if verified.differs(facts) => ReservationStep::Verify(verified),
        false => ReservationStep::Echo,
        true if !facts.adoptable.is_empty() => ReservationStep::Adopt(facts.adoptable.clone()),
        true => ReservationStep::Nothing,
    };
    step.requeue_after(requeue_after)
}

/// A slot whose status agrees already was in force before: it is restored, not checked again. One whose VMs have stayed
/// where it was in force goes back to them.
fn arriving(facts: &ReservationFacts, host: &HostName) -> ReservationPlan {
    if has_to_return(facts) && !facts.lists_a_vm(Some(host)) && facts.lists_a_vm(facts.slot.status_host.as_ref()) {
        return facts.slot.status_host.clone().map_or(ReservationStep::Nothing, ReservationStep::Return).into_plan();
    }
    let confirm = ReservationStep::Confirm { pre_allocated: !facts.slot.expected.is_empty() };
    match &facts.verdict {
        _ if facts.slot.is_placed() => confirm,
        HostVerdict::Ok | HostVerdict::NoSuchHost => confirm,
        HostVerdict::WrongZone { zone } => revoke_unfit(facts, Revocation::WrongZone(host.clone(), zone.to_string())),
        HostVerdict::Overbooked { free } => revoke_unfit(facts, Revocation::Overbooked(host.clone(), *free)),
    }
    .into_plan()
}

/// A host that is not valid is cleared; a slot with VMs returns to the host where it is in force, so that they keep it.
fn revoke_unfit(facts: &ReservationFacts, why: Revocation) -> ReservationStep {
    let former = facts.slot.status_host.clone().filter(|_| has_to_return(facts));
    former.map_or(ReservationStep::Revoke(why), ReservationStep::Return)
}

fn has_to_return(facts: &ReservationFacts) -> bool {
    facts.former_is_good && !facts.slot.is_placed() && !facts.slot.expected.is_empty()
}

impl ReservationStep {
    fn into_plan(self) -> ReservationPlan {
        ReservationPlan { step: self, requeue_after: None }
    }

    fn requeue_after(self, after: Duration) -> ReservationPlan {
        ReservationPlan { step: self, requeue_after: Some(after) }
    }
}

impl Revocation {
    /// The capacity view says that the host is not valid for the slot.
    pub(crate) fn is_by_verdict(&self) -> bool {
        matches!(self, Self::WrongZone(..) | Self::Overbooked(..))
    }

    /// The value of the label `cause` in metrics.
    pub fn cause(&self) -> &'static str {
        self.into()
    }

    /// The message of the condition: the fixed text, and details for users.
    pub fn message(&self) -> String {
        let cleared = texts::HOST_CLEARED;
        match self {
            Self::Cleared => cleared.to_owned(),
            Self::HostGone(host, _) => texts::host_gone(host.as_str()),
            Self::NoSuchHost(host) => format!("{cleared}: spec.targetHost {host} is not the name of a Hypervisor"),
            Self::WrongZone(host, zone) => format!("{cleared}: host {host} is in zone {zone:?}"),
            Self::Overbooked(host, free) => {
                let short = free.or_zero();
                format!("{cleared}: host {host} has no capacity for it, {short} would be left")
            }
            Self::Oversubscribed(host, excess) => format!("{cleared}: host {host} held {excess} more than it has"),
        }
    }
}

#[cfg(test)]
mod tests;
