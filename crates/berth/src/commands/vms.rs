//! The VMs that are expected in a slot: where each of them is, and until when a missing one is waited for.

use berth_core::{Resources, VmId};
use berth_reservation::{ReservationDryRun, ReservationStep, VerificationPlan, VmFact};
use berth_scheduler_api::explain::SlotAnswer;
use jiff::Timestamp;
use serde::Serialize;

use super::amounts::Amounts;
use super::next_step::NextStep;
use super::times::{moment, span};

/// A VM in text and JSON. docs/commands.md lists its members.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct VmRow {
    pub(super) vm: String,
    pub(super) size: Amounts,
    pub(super) expected_since: Option<Timestamp>,
    pub(super) seen_on: Vec<String>,
    /// The status of the slot confirms it.
    pub(super) confirmed: bool,
    /// Until when it is waited for, while it is not confirmed and no host lists it.
    pub(super) waited_for_until: Option<Timestamp>,
    /// Since when the leader has missed it, if it was asked and does.
    pub(super) missing_since: Option<Timestamp>,
    pub(super) state: String,
}

/// The VMs of a slot, by their ids.
pub(super) fn rows(slot: &ReservationDryRun, known: Option<&SlotAnswer>, now: Timestamp) -> Vec<VmRow> {
    let missing = |vm: &VmId| known?.missing_vms.iter().find(|missing| missing.vm == vm.as_str());
    let row = |(vm, size): (&VmId, &Resources)| row(slot, vm, *size, missing(vm).map(|missing| missing.since), now);
    slot.facts.slot.expected.iter().map(row).collect()
}

fn row(
    slot: &ReservationDryRun,
    vm: &VmId,
    size: Resources,
    missing_since: Option<Timestamp>,
    now: Timestamp,
) -> VmRow {
    let data = slot.object.spec.committed_resource_reservation.as_ref();
    let since = data.and_then(|data| Some(data.allocations.get(vm.as_str())?.creation_timestamp.0));
    let confirmed = slot.facts.confirmed.contains_key(vm);
    let unseen = slot.facts.vms.get(vm).is_none_or(|fact| fact.hosts.is_empty());
    let awaited = unseen && !confirmed && slot.facts.slot.is_in_force();
    let until = since.and_then(|since| since.checked_add(slot.delays.allocation).ok()).filter(|_| awaited);
    let seen = slot.facts.vms.get(vm).into_iter().flat_map(|fact| &fact.hosts);
    VmRow {
        vm: vm.to_string(),
        size: size.into(),
        expected_since: since,
        seen_on: seen.map(ToString::to_string).collect(),
        confirmed,
        waited_for_until: until,
        missing_since,
        state: slot.facts.vms.get(vm).map_or_else(String::new, |fact| match missing_since {
            Some(since) if confirmed && fact.hosts.is_empty() => ended(slot, since, now),
            _ => state(slot, vm, fact, until, now),
        }),
    }
}

fn state(slot: &ReservationDryRun, vm: &VmId, fact: &VmFact, until: Option<Timestamp>, now: Timestamp) -> String {
    let (place, confirmed) = (slot.facts.slot.status_host.as_ref(), slot.facts.confirmed.contains_key(vm));
    let here = place.is_some_and(|host| fact.hosts.contains(host));
    let there = fact.hosts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let grace = span(slot.delays.grace);
    match (here, confirmed) {
        (true, _) if place.is_some_and(|host| fact.taken.contains(host)) => {
            "is here and counts in another slot".to_owned()
        }
        (true, true) => "is here".to_owned(),
        (true, false) => "is here, not confirmed yet".to_owned(),
        (false, _) if !fact.hosts.is_empty() => format!("is on {there}"),
        (false, true) => {
            format!("was here, no host lists it; removed from the slot when it has been missing for {grace}")
        }
        (false, false) => match until {
            Some(until) if until > now => format!("not observed yet, waited for until {}", moment(until, now)),
            Some(until) => format!("not observed, was waited for until {}", moment(until, now)),
            None => "not observed yet".to_owned(),
        },
    }
}

/// The state of a VM that was here, and that no host has listed since then.
fn ended(slot: &ReservationDryRun, since: Timestamp, now: Timestamp) -> String {
    let removed = since.saturating_add(slot.delays.grace).unwrap_or(Timestamp::MAX);
    let removed = moment(removed, now);
    format!("was here, no host has listed it since {since}; removed from the slot at {removed} if it stays away")
}

/// The next steps for the VMs of a slot in force.
pub(super) fn next(slot: &ReservationDryRun) -> Vec<NextStep> {
    let (fresh, drop, follow) = match &slot.plan.step {
        ReservationStep::Verify(VerificationPlan { fresh, drop, follow, .. }) => (fresh, drop, follow),
        ReservationStep::Adopt(vms) => {
            let adopted = vms.keys().map(|vm| format!("VM {vm}, which runs beside it, is added to its allocations"));
            return adopted.map(NextStep::at_next_reconciliation).collect();
        }
        _ => return Vec::new(),
    };
    let mut all: Vec<String> = fresh.iter().map(|vm| format!("VM {vm} is confirmed in it")).collect();
    all.extend(drop.iter().map(|vm| format!("VM {vm} is removed from it, and its capacity stays reserved")));
    all.extend(follow.iter().map(|follow| {
        let hosts = follow.hosts.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ");
        format!("it follows VM {} to {hosts} if there is free capacity, and otherwise drops the VM", follow.vm)
    }));
    if all.is_empty() {
        all.push("its status names the VMs that are in it".to_owned());
    }
    all.into_iter().map(NextStep::at_next_reconciliation).collect()
}
