//! A slot as the commands show it: what the controller would do, and what happens next.

use berth_cluster::ObjectKey;
use berth_core::HostName;
use berth_crds::Condition;
use berth_crds::conditions::safety;
use berth_reservation::{HostFact, ReservationDryRun, ReservationStep};
use berth_scheduler::Shortage;
use berth_scheduler_api::explain::SlotAnswer;
use jiff::Timestamp;
use serde::Serialize;

use super::next_step::NextStep;
use super::times::{moment, span};
use super::vms::{self, VmRow};

/// The result of trying to place a slot without a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PlacementTrial {
    /// There is free capacity on this host now.
    Host(HostName),
    Nowhere {
        shortage: Shortage,
        /// Its position in the waiting list of its zone, from 1.
        number: usize,
        of: usize,
        /// The commitments that come before it, with how many slots.
        before: Vec<(String, usize)>,
    },
    Unanswered(String),
    /// An external scheduler decides, and the command does not call it.
    Elsewhere,
}

/// A slot, what a reconciliation of it would do, and whether there is free capacity for it.
#[derive(Clone, Debug)]
pub(super) struct SlotFacts {
    pub(super) key: ObjectKey,
    pub(super) dry_run: ReservationDryRun,
    pub(super) trial: Option<PlacementTrial>,
    pub(super) vms: Vec<VmRow>,
    /// What the leader said about it.
    pub(super) known: Option<SlotAnswer>,
    pub(super) now: Timestamp,
}

/// Why a slot has no host, for programs. The names of its members are promised in docs/commands.md.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Waiting {
    pub(super) hosts: usize,
    pub(super) removed: Vec<Removed>,
    /// Its place among the slots that wait in its zone, from 1.
    pub(super) number: usize,
    pub(super) of: usize,
    /// Commitments that come before its own, with how many slots.
    pub(super) earlier: Vec<EarlierCommitment>,
}

/// The hosts that a filter removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Removed {
    pub(super) filter: &'static str,
    pub(super) short: &'static str,
    pub(super) count: usize,
}

/// A commitment that comes first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct EarlierCommitment {
    pub(super) commitment: String,
    pub(super) slots: usize,
}

impl SlotFacts {
    /// It is in force where it should be.
    pub(super) fn is_in_force(&self) -> bool {
        let slot = &self.dry_run.facts.slot;
        slot.is_in_force() && !slot.terminating
    }

    pub(super) fn state(&self) -> String {
        let slot = &self.dry_run.facts.slot;
        if slot.terminating {
            return format!("is being deleted{}", list_finalizers(self.dry_run.object.metadata.finalizers.as_deref()));
        }
        match &self.dry_run.plan.step {
            ReservationStep::Nothing => self.resting(),
            ReservationStep::Paused => self.describe_pause(),
            ReservationStep::Echo | ReservationStep::Verify(_) | ReservationStep::Adopt(_) => "in force".to_owned(),
            ReservationStep::Nameless => "no host: it names no flavor".to_owned(),
            ReservationStep::Unbind(why) => format!("no host: {}", why.message()),
            ReservationStep::Revoke(why) => format!("loses its host: {}", why.message()),
            ReservationStep::Return(host) => format!("goes back to {host}, where it is in force"),
            ReservationStep::Place => self.placing(),
            ReservationStep::Confirm { .. } => match moving(slot.status_host.as_ref(), slot.target_host.as_ref()) {
                Some(moving) => moving,
                None => "has a host, is not confirmed yet".to_owned(),
            },
        }
    }

    fn describe_pause(&self) -> String {
        let why = self.dry_run.facts.paused.as_ref();
        why.map_or_else(|| "paused".to_owned(), |why| format!("paused: {why}"))
    }

    fn resting(&self) -> String {
        match (&self.dry_run.facts.slot.target_host, &self.dry_run.facts.host) {
            (None, _) if self.dry_run.facts.revoked.is_some() => {
                "no host: the last one was not valid for it".to_owned()
            }
            (None, _) => "no host: the hosts of its zone cannot be read".to_owned(),
            (Some(host), HostFact::Missing(..)) => {
                let since = self.host_missing_since().map(|since| format!(", since {}", moment(since, self.now)));
                format!("keeps {host} for now, which has no Hypervisor any more{}", since.unwrap_or_default())
            }
            (Some(_), _) if self.is_in_force() => "in force".to_owned(),
            (Some(host), _) => format!("waits on {host}: the hosts of its zone cannot be read"),
        }
    }

    fn placing(&self) -> String {
        match &self.trial {
            Some(PlacementTrial::Host(host)) => format!("no host yet, {host} is feasible"),
            Some(PlacementTrial::Nowhere { shortage, number, of, .. }) => {
                format!("no host: {shortage}; number {number} of {of} that wait")
            }
            Some(PlacementTrial::Unanswered(why)) => format!("no host: {why}"),
            Some(PlacementTrial::Elsewhere) => "no host: the external scheduler has found none yet".to_owned(),
            None => "no host".to_owned(),
        }
    }

    /// The numbers behind the state of a slot for which nothing fits.
    pub(super) fn waiting(&self) -> Option<Waiting> {
        let Some(PlacementTrial::Nowhere { shortage, number, of, before }) = &self.trial else { return None };
        let before = before
            .iter()
            .map(|(commitment, slots)| EarlierCommitment { commitment: commitment.clone(), slots: *slots });
        Some(Waiting {
            hosts: shortage.hosts,
            removed: removed(shortage),
            number: *number,
            of: *of,
            earlier: before.collect(),
        })
    }

    /// What happens to it, and when it is tried and reconciled again.
    pub(super) fn next(&self) -> Vec<NextStep> {
        let facts = &self.dry_run.facts;
        let mut all = self.steps();
        if facts.slot.terminating || self.dry_run.plan.step == ReservationStep::Paused {
            return all;
        }
        if let Some(known) = &self.known {
            all.extend(next_known(known, self.now));
        } else {
            let snapshot = "it is reconciled again, and at once after a change";
            all.extend(self.dry_run.plan.requeue_after.map(|again| NextStep::within(again, snapshot)));
        }
        all
    }

    pub(super) fn steps(&self) -> Vec<NextStep> {
        if self.dry_run.facts.slot.terminating {
            return vec![NextStep::once("its finalizers are gone", "it is deleted, and its capacity is free")];
        }
        if self.dry_run.plan.step == ReservationStep::Paused {
            return vec![NextStep::once("it is resumed", "everything that waits is applied")];
        }
        let conditions = self.dry_run.object.status.as_ref().map(|status| &status.conditions[..]);
        let step = self.step().map(|next| wait_for_confirmation(next, conditions));
        step.into_iter().chain(vms::next(&self.dry_run)).collect()
    }

    fn step(&self) -> Option<NextStep> {
        let slot = &self.dry_run.facts.slot;
        match &self.dry_run.plan.step {
            ReservationStep::Nothing => self.missing(),
            ReservationStep::Paused
            | ReservationStep::Echo
            | ReservationStep::Verify(_)
            | ReservationStep::Adopt(_) => None,
            ReservationStep::Nameless => Some(NextStep::once(
                "spec.committedResourceReservation.resourceName names a flavor of its group",
                "the slot gets a host; or delete the slot, its commitment creates another one",
            )),
            ReservationStep::Unbind(_) | ReservationStep::Revoke(_) => {
                Some(NextStep::at_next_reconciliation("it reports that, and gets another host"))
            }
            ReservationStep::Return(host) => {
                Some(NextStep::at_next_reconciliation(format!("spec.targetHost becomes {host} again")))
            }
            ReservationStep::Confirm { .. } => {
                let host = slot.target_host.as_ref().map(ToString::to_string).unwrap_or_default();
                Some(NextStep::at_next_reconciliation(format!("it is confirmed on {host}")))
            }
            ReservationStep::Place => self.next_placement(),
        }
    }

    fn next_placement(&self) -> Option<NextStep> {
        match self.trial.as_ref()? {
            PlacementTrial::Host(host) => {
                Some(NextStep::at_next_reconciliation(format!("it gets {host}, unless that is taken by then")))
            }
            PlacementTrial::Nowhere { number, of, before, .. } => {
                let zone = &self.dry_run.facts.slot.zone;
                let standing = format!("it gets a host: number {number} of {of} that wait in zone {zone}");
                Some(NextStep::once("capacity becomes free", standing + &preceding(before)))
            }
            PlacementTrial::Unanswered(_) => Some(NextStep::once("that is possible", "it is placed again")),
            PlacementTrial::Elsewhere => {
                Some(NextStep::at_next_reconciliation("a host is requested from the external scheduler"))
            }
        }
    }

    fn host_missing_since(&self) -> Option<Timestamp> {
        self.known.as_ref()?.host_missing_since
    }

    /// How long the host has been missing only the operator knows.
    fn missing(&self) -> Option<NextStep> {
        let (host, HostFact::Missing(..)) = (self.dry_run.facts.slot.target_host.as_ref()?, &self.dry_run.facts.host)
        else {
            return None;
        };
        let what = "the slot and the VMs in it lose their host, and the slot gets another one";
        let grace = self.dry_run.delays.grace;
        Some(match self.host_missing_since().and_then(|since| since.checked_add(grace).ok()) {
            _ if self.is_held_back() => NextStep::once(CONFIRMED, what),
            Some(lost) => NextStep::at(lost, format!("{what}, if {host} stays away")),
            None => {
                let grace = span(grace);
                NextStep::once(format!("{host} has been missing for {grace} (requeueIntervalGracePeriod)"), what)
            }
        })
    }

    fn is_held_back(&self) -> bool {
        let status = self.dry_run.object.status.as_ref();
        status.is_some_and(|status| safety::holds(&status.conditions, safety::DISRUPTION_LIMITED))
    }

    /// When its time ends, if it is to come.
    pub(super) fn end(&self, now: Timestamp) -> Option<Timestamp> {
        self.dry_run.facts.slot.end.filter(|end| *end > now)
    }
}

/// When a timer lets the slot be tried again, and when it is reconciled otherwise.
fn next_known(known: &SlotAnswer, now: Timestamp) -> Vec<NextStep> {
    let what = "it is tried again, with the other waiting slots of its commitment";
    let tried = known.next_try.map(|due| NextStep::at(due, what));
    let again = NextStep::reconciliation(&known.reconciliation, now);
    // The slot with the timer is reconciled for the try.
    let again = again.filter(|again| tried.as_ref().is_none_or(|tried| tried.at != again.at));
    tried.into_iter().chain(again).collect()
}

/// The condition under which the disruption limit lets a plan continue.
pub(super) const CONFIRMED: &str = "the cause is gone or a user confirms";

/// A step of the next reconciliation waits while the disruption limit stops the plan of the object.
pub(super) fn wait_for_confirmation(next: NextStep, conditions: Option<&[Condition]>) -> NextStep {
    let soon = next == NextStep::at_next_reconciliation(next.what.as_str());
    let held = conditions.is_some_and(|all| safety::holds(all, safety::DISRUPTION_LIMITED));
    if soon && held { NextStep::once(CONFIRMED, next.what) } else { next }
}

fn removed(shortage: &Shortage) -> Vec<Removed> {
    let removed = shortage.removed.iter();
    removed.map(|(filter, count)| Removed { filter: filter.step, short: filter.short, count: *count }).collect()
}

fn moving(from: Option<&HostName>, to: Option<&HostName>) -> Option<String> {
    let (from, to) = (from?, to?);
    (from != to).then(|| format!("moves from {from} to {to}"))
}

/// What is tried before it with capacity that becomes free; it gets what none of them can use.
fn preceding(before: &[(String, usize)]) -> String {
    let each =
        |(name, count): &(String, usize)| format!("{count} {} of {name}", if *count == 1 { "slot" } else { "slots" });
    let all = before.iter().map(each).collect::<Vec<_>>().join(", ");
    if all.is_empty() { all } else { format!("; first, where they fit: {all}") }
}

/// The end of a text about something that is being deleted.
fn list_finalizers(finalizers: Option<&[String]>) -> String {
    let finalizers = finalizers.unwrap_or_default().join(", ");
    if finalizers.is_empty() { finalizers } else { format!(", kept by the finalizers {finalizers}") }
}
