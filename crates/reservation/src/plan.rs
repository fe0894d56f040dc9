//! Plan: what a slot needs. A function of facts.

use std::time::Duration;

use berth_cluster::Whole;
use berth_core::host::Amounts;
use berth_core::{HostName, Resources};
use berth_crds::Hypervisor;
use berth_crds::conditions::reservation as texts;
use berth_scheduler::Verdict;
use strum::IntoStaticStr;

use crate::facts::{Delays, Facts, HostFact};

mod vms;

pub use vms::{Follow, Verified};

/// What is done, and when to look again without an event.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// What is done.
    pub step: Step,
    /// When to look again.
    pub again: Option<Duration>,
}

/// The one thing that a slot needs next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Nothing.
    Nothing,
    /// It is left exactly as it is, and looks for nothing.
    Frozen,
    /// It has no flavor and can never be placed.
    Nameless,
    /// It lost its host: say so and free what its status still holds.
    Unbind(Revocation),
    /// Its host is no good: take it away, then as [`Step::Unbind`].
    Revoke(Revocation),
    /// The host that somebody wrote is no good, but the one where it is in force is: back to that.
    Return(HostName),
    /// It needs a host.
    Place,
    /// It is in force on the host that it names.
    Confirm {
        /// It was created around VMs that run already.
        pre_allocated: bool,
    },
    /// It is in force, and its VMs are not as it says.
    Verify(Verified),
    /// It is in force; only the generation of its commitment has to be echoed.
    Echo,
}

/// Why a slot lost its host.
#[derive(Clone, Debug, PartialEq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Revocation {
    /// Somebody cleared `targetHost`.
    Cleared,
    /// The host has gone, as a complete read has shown.
    HostGone(HostName, Whole<Hypervisor>),
    /// `targetHost` names no host.
    NoSuchHost(HostName),
    /// The host is in another zone.
    WrongZone(HostName, String),
    /// The host has no room for it.
    Overbooked(HostName, Amounts),
    /// It was evicted, because the host had this much too much.
    Oversubscribed(HostName, Resources),
}

/// Plans a look.
pub fn plan(facts: &Facts, delays: Delays) -> Plan {
    let slot = &facts.slot;
    if facts.frozen.is_some() {
        return Step::Frozen.again(delays.active);
    }
    if slot.flavor.is_empty() {
        return Step::Nameless.done();
    }
    match &slot.target_host {
        None if slot.status_host.is_some() || slot.is_ready() || !facts.confirmed.is_empty() => {
            Step::Unbind(Revocation::Cleared).done()
        }
        None if !facts.hosts_are_followed => Step::Nothing.again(delays.retry),
        None => Step::Place.again(delays.retry),
        Some(host) => on_host(facts, host, delays),
    }
}

fn on_host(facts: &Facts, host: &HostName, delays: Delays) -> Plan {
    let in_force = facts.slot.is_in_force();
    let holds = in_force || !facts.slot.expected.is_empty();
    match &facts.host {
        HostFact::Missing(time, whole) if *time >= delays.grace => {
            Step::Revoke(Revocation::HostGone(host.clone(), whole.clone())).done()
        }
        HostFact::Missing(..) if has_to_return(facts) => no_good(facts, Revocation::NoSuchHost(host.clone())).done(),
        HostFact::Missing(time, _) if holds => Step::Nothing.again(delays.grace.saturating_sub(*time)),
        HostFact::Missing(..) => no_good(facts, Revocation::NoSuchHost(host.clone())).done(),
        HostFact::Unreadable if !in_force => Step::Nothing.again(delays.retry),
        HostFact::Exists | HostFact::Unreadable if in_force => in_place(facts, delays),
        HostFact::Exists | HostFact::Unreadable => arriving(facts, host),
    }
}

/// A change that leaves the slot alone is not echoed: only a write of the slot is.
fn in_place(facts: &Facts, delays: Delays) -> Plan {
    let heard = facts.slot.observed_parent_generation == facts.slot.parent_generation;
    let verified = vms::verify(facts, delays);
    let again = verified.again.unwrap_or(delays.active);
    let step = match heard {
        _ if verified.differs(facts) => Step::Verify(verified),
        true => Step::Nothing,
        false => Step::Echo,
    };
    step.again(again)
}

/// A slot whose status agrees already was in force before: it is restored, not judged again. One whose VMs have stayed
/// where it was in force goes back to them.
fn arriving(facts: &Facts, host: &HostName) -> Plan {
    if has_to_return(facts) && !facts.lists_a_vm(Some(host)) && facts.lists_a_vm(facts.slot.status_host.as_ref()) {
        return facts.slot.status_host.clone().map_or(Step::Nothing, Step::Return).done();
    }
    let confirm = Step::Confirm { pre_allocated: !facts.slot.expected.is_empty() };
    match &facts.verdict {
        _ if facts.slot.is_placed() => confirm,
        Verdict::Ok | Verdict::NoSuchHost => confirm,
        Verdict::WrongZone { zone } => no_good(facts, Revocation::WrongZone(host.clone(), zone.to_string())),
        Verdict::Overbooked { free } => no_good(facts, Revocation::Overbooked(host.clone(), *free)),
    }
    .done()
}

/// A host that is no good is taken away; a slot with VMs goes back to where it is in force, so that they keep it.
fn no_good(facts: &Facts, why: Revocation) -> Step {
    let former = facts.slot.status_host.clone().filter(|_| has_to_return(facts));
    former.map_or(Step::Revoke(why), Step::Return)
}

fn has_to_return(facts: &Facts) -> bool {
    facts.former_is_good && !facts.slot.is_placed() && !facts.slot.expected.is_empty()
}

impl Step {
    fn done(self) -> Plan {
        Plan { step: self, again: None }
    }

    fn again(self, after: Duration) -> Plan {
        Plan { step: self, again: Some(after) }
    }
}

impl Revocation {
    /// The value of the label `cause` in metrics.
    pub fn cause(&self) -> &'static str {
        self.into()
    }

    /// The message of the condition: the fixed text, and what a person has to know.
    pub fn message(&self) -> String {
        let cleared = texts::HOST_CLEARED;
        match self {
            Self::Cleared => cleared.to_owned(),
            Self::HostGone(host, _) => texts::host_gone(host.as_str()),
            Self::NoSuchHost(host) => format!("{cleared}: spec.targetHost {host} is not the name of a Hypervisor"),
            Self::WrongZone(host, zone) => format!("{cleared}: host {host} is in zone {zone:?}"),
            Self::Overbooked(host, free) => {
                let short = free.or_zero();
                format!("{cleared}: host {host} has no room for it, {short} would be left")
            }
            Self::Oversubscribed(host, excess) => format!("{cleared}: host {host} held {excess} more than it has"),
        }
    }
}

#[cfg(test)]
mod tests;
