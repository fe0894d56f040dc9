//! One slot as the commands tell of it: what the controller would do with it, in a few words, and what happens next.

use berth_cluster::ObjectKey;
use berth_core::HostName;
use berth_crds::Condition;
use berth_crds::conditions::safety;
use berth_reservation::{HostFact, Outlook, Step};
use berth_scheduler::Shortage;
use jiff::Timestamp;
use serde::Serialize;

use super::next::Next;
use super::times::span;
use super::vms::{self, VmRow};

/// What became of a slot without a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trial {
    /// There is room on this host now.
    Host(HostName),
    /// Nothing fits.
    Nowhere {
        /// Why, in numbers per filter.
        shortage: Shortage,
        /// Where it stands among those that wait in its zone, from 1.
        number: usize,
        /// How many wait there.
        of: usize,
        /// The commitments that come before it, with how many slots.
        before: Vec<(String, usize)>,
    },
    /// Nobody can be asked, and why.
    Unanswered(String),
    /// A scheduler outside of the operator decides, and is not asked.
    Elsewhere,
}

/// A slot, what a look at it would do, and whether there is room for it.
#[derive(Clone, Debug)]
pub(super) struct SlotFacts {
    pub(super) key: ObjectKey,
    pub(super) outlook: Outlook,
    /// Set when it needs a host.
    pub(super) trial: Option<Trial>,
    /// The VMs that are expected in it.
    pub(super) vms: Vec<VmRow>,
}

/// Why a slot has no host, for programs. The names of its members are promised in docs/commands.md.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Waiting {
    /// How many hosts were looked at.
    pub(super) hosts: usize,
    pub(super) removed: Vec<Removed>,
    /// Its place among the slots that wait in its zone, from 1.
    pub(super) number: usize,
    pub(super) of: usize,
    /// Commitments that come before its own, with how many slots.
    pub(super) before: Vec<Before>,
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
pub(super) struct Before {
    pub(super) commitment: String,
    pub(super) slots: usize,
}

impl SlotFacts {
    /// It is in force where it should be.
    pub(super) fn is_in_force(&self) -> bool {
        let slot = &self.outlook.facts.slot;
        slot.is_in_force() && !slot.terminating
    }

    /// Where it stands, in a few words.
    pub(super) fn state(&self) -> String {
        let slot = &self.outlook.facts.slot;
        if slot.terminating {
            return format!("is being deleted{}", kept_by(self.outlook.object.metadata.finalizers.as_deref()));
        }
        match &self.outlook.plan.step {
            Step::Nothing => self.resting(),
            Step::Frozen => self.frozen(),
            Step::Echo | Step::Verify(_) => "in force".to_owned(),
            Step::Nameless => "no host: it names no flavor".to_owned(),
            Step::Unbind(why) => format!("no host: {}", why.message()),
            Step::Revoke(why) => format!("loses its host: {}", why.message()),
            Step::Return(host) => format!("goes back to {host}, where it is in force"),
            Step::Place => self.placing(),
            Step::Confirm { .. } => match moving(slot.status_host.as_ref(), slot.target_host.as_ref()) {
                Some(moving) => moving,
                None => "has a host, is not confirmed yet".to_owned(),
            },
        }
    }

    fn frozen(&self) -> String {
        let why = self.outlook.facts.frozen.as_ref();
        why.map_or_else(|| "frozen".to_owned(), |why| format!("frozen: {why}"))
    }

    fn resting(&self) -> String {
        match (&self.outlook.facts.slot.target_host, &self.outlook.facts.host) {
            (None, _) => "no host: the hosts of its zone cannot be read".to_owned(),
            (Some(host), HostFact::Missing(..)) => format!("keeps {host} for now, which has no Hypervisor any more"),
            (Some(_), _) if self.is_in_force() => "in force".to_owned(),
            (Some(host), _) => format!("waits on {host}: the hosts of its zone cannot be read"),
        }
    }

    fn placing(&self) -> String {
        match &self.trial {
            Some(Trial::Host(host)) => format!("no host yet, {host} has room"),
            Some(Trial::Nowhere { shortage, number, of, .. }) => {
                format!("no host: {shortage}; number {number} of {of} that wait")
            }
            Some(Trial::Unanswered(why)) => format!("no host: {why}"),
            Some(Trial::Elsewhere) => "no host: the external scheduler has found none yet".to_owned(),
            None => "no host".to_owned(),
        }
    }

    /// The numbers behind the state of a slot for which nothing fits.
    pub(super) fn waiting(&self) -> Option<Waiting> {
        let Some(Trial::Nowhere { shortage, number, of, before }) = &self.trial else { return None };
        let before = before.iter().map(|(commitment, slots)| Before { commitment: commitment.clone(), slots: *slots });
        Some(Waiting {
            hosts: shortage.hosts,
            removed: removed(shortage),
            number: *number,
            of: *of,
            before: before.collect(),
        })
    }

    /// What becomes of it without anybody's doing.
    pub(super) fn next(&self) -> Vec<Next> {
        if self.outlook.facts.slot.terminating {
            return vec![Next::once("its finalizers are gone", "it is gone, and its room is free")];
        }
        if self.outlook.plan.step == Step::Frozen {
            return vec![Next::once("it is set free", "everything that waits is done")];
        }
        let conditions = self.outlook.object.status.as_ref().map(|status| &status.conditions[..]);
        let mut all: Vec<Next> =
            self.step().map(|next| braked(next, conditions)).into_iter().chain(vms::next(&self.outlook)).collect();
        let look = "it is looked at again, and at once when something changes";
        all.extend(self.outlook.plan.again.map(|again| Next::within(again, look)));
        all
    }

    fn step(&self) -> Option<Next> {
        let slot = &self.outlook.facts.slot;
        match &self.outlook.plan.step {
            Step::Nothing => self.missing(),
            Step::Frozen | Step::Echo | Step::Verify(_) => None,
            Step::Nameless => Some(Next::once(
                "spec.committedResourceReservation.resourceName names a flavor of its group",
                "a host is looked for; or delete the slot, its commitment makes another one",
            )),
            Step::Unbind(_) | Step::Revoke(_) => Some(Next::soon("it says so, and another host is looked for")),
            Step::Return(host) => Some(Next::soon(format!("spec.targetHost becomes {host} again"))),
            Step::Confirm { .. } => {
                let host = slot.target_host.as_ref().map(ToString::to_string).unwrap_or_default();
                Some(Next::soon(format!("it is confirmed on {host}")))
            }
            Step::Place => self.place(),
        }
    }

    fn place(&self) -> Option<Next> {
        match self.trial.as_ref()? {
            Trial::Host(host) => Some(Next::soon(format!("it gets {host}, unless that is taken by then"))),
            Trial::Nowhere { number, of, before, .. } => {
                let zone = &self.outlook.facts.slot.zone;
                let standing = format!("it gets a host: number {number} of {of} that wait in zone {zone}");
                Some(Next::once("room is freed", standing + &preceding(before)))
            }
            Trial::Unanswered(_) => Some(Next::once("that is possible", "a host is looked for again")),
            Trial::Elsewhere => Some(Next::soon("the external scheduler is asked for a host")),
        }
    }

    /// How long the host has been missing only the operator knows.
    fn missing(&self) -> Option<Next> {
        let (host, HostFact::Missing(..)) = (self.outlook.facts.slot.target_host.as_ref()?, &self.outlook.facts.host)
        else {
            return None;
        };
        let grace = span(self.outlook.delays.grace);
        let so = format!("{host} has been missing for {grace} (requeueIntervalGracePeriod)");
        Some(Next::once(so, "the slot and the VMs in it lose their host, and another one is looked for"))
    }

    /// When its time ends, if it is to come.
    pub(super) fn end(&self, now: Timestamp) -> Option<Timestamp> {
        self.outlook.facts.slot.end.filter(|end| *end > now)
    }
}

/// When the brake lets something go on.
pub(super) const CONFIRMED: &str = "the cause is gone or somebody confirms";

/// What would be done at the next look waits while the brake holds the object back.
pub(super) fn braked(next: Next, conditions: Option<&[Condition]>) -> Next {
    let soon = next == Next::soon(next.what.as_str());
    let held = conditions.is_some_and(|all| safety::holds(all, safety::BRAKED));
    if soon && held { Next::once(CONFIRMED, next.what) } else { next }
}

fn removed(shortage: &Shortage) -> Vec<Removed> {
    let removed = shortage.removed.iter();
    removed.map(|(filter, count)| Removed { filter: filter.step, short: filter.short, count: *count }).collect()
}

fn moving(from: Option<&HostName>, to: Option<&HostName>) -> Option<String> {
    let (from, to) = (from?, to?);
    (from != to).then(|| format!("moves from {from} to {to}"))
}

fn preceding(before: &[(String, usize)]) -> String {
    let each =
        |(name, count): &(String, usize)| format!("{count} {} of {name}", if *count == 1 { "slot" } else { "slots" });
    let all = before.iter().map(each).collect::<Vec<_>>().join(", ");
    if all.is_empty() { all } else { format!("; before it: {all}") }
}

/// The end of a text about something that is being deleted.
fn kept_by(finalizers: Option<&[String]>) -> String {
    let finalizers = finalizers.unwrap_or_default().join(", ");
    if finalizers.is_empty() { finalizers } else { format!(", kept by the finalizers {finalizers}") }
}
