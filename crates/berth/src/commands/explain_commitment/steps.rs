//! The next steps of a commitment: what the controller would change, what it waits for, and when it reconciles again.

use std::collections::BTreeMap;
use std::time::Duration;

use berth_committed_resource::{CommitmentPlan, Finalizer, Verdict};
use berth_core::HostName;
use berth_core::planner::{NewSlot, ReleaseReason};
use berth_crds::conditions::commitment::{INSUFFICIENT_CAPACITY, INSUFFICIENT_CORES};
use jiff::Timestamp;

use super::facts::ExplainedCommitment;
use crate::commands::amounts::Amounts;
use crate::commands::next_step::NextStep;
use crate::commands::slot_facts::{CONFIRMED, SlotFacts, wait_for_confirmation};

pub(super) fn steps(facts: &ExplainedCommitment) -> Vec<NextStep> {
    let mut all = Vec::new();
    if !facts.dry_run.refused {
        let todo = to_do(&facts.dry_run.decided.plan, &facts.dry_run.decided.hosts);
        all.extend(
            todo.into_iter().map(|next| {
                wait_for_confirmation(next, facts.dry_run.object.status.as_ref().map(|s| &s.conditions[..]))
            }),
        );
    }
    all.extend(next_ready_condition(facts));
    all.extend(facts.slots.iter().flat_map(list_slot_steps));
    all.extend(wait_for_user(facts));
    all.extend(next_tries(facts));
    all.push(next_reconciliation(facts));
    all.extend(end(facts));
    all
}

fn to_do(plan: &CommitmentPlan, hosts: &[Option<HostName>]) -> Vec<NextStep> {
    let mut all = Vec::new();
    if plan.finalizer == Finalizer::Add {
        all.push("it gets its finalizer, which releases its slots before it is deleted".to_owned());
    }
    let whys = plan
        .slots
        .release
        .iter()
        .map(|release| format!("slot {} is deleted: {}", release.name, describe_release(release.why)));
    all.extend(whys);
    all.extend(plan.leave.iter().map(|leave| format!("slot {} is released", leave.name)));
    all.extend(
        plan.slots
            .update
            .iter()
            .map(|update| format!("slot {} is written, with {}", update.name, Amounts::from(update.size).format())),
    );
    all.extend(plan.slots.create.iter().zip(hosts).map(|(new, host)| created(new, host.as_ref())));
    if plan.finalizer == Finalizer::Remove {
        all.push("Berth removes its finalizer".to_owned());
    }
    all.into_iter().map(NextStep::at_next_reconciliation).collect()
}

fn created(new: &NewSlot, host: Option<&HostName>) -> String {
    let size = Amounts::from(new.size).format();
    let place = host.map_or("without a host".to_owned(), |host| format!("on {host}"));
    format!("slot {} of {size} is created {place}", new.name)
}

fn describe_release(why: ReleaseReason) -> &'static str {
    match why {
        ReleaseReason::OtherIdentity => "its project, flavor group or zone is no longer that of the commitment",
        ReleaseReason::LostFlavor => "its flavor is no longer in the flavor group, and it has no host",
        ReleaseReason::NoMemory => "it holds no memory",
        ReleaseReason::TooFewCores => "it has too few cores, and its host has no capacity for more",
        ReleaseReason::Surplus => "the commitment was reduced",
    }
}

/// The condition that the next reconciliation would write differs from the present one.
fn next_ready_condition(facts: &ExplainedCommitment) -> Option<NextStep> {
    let ready = facts.dry_run.report.ready.as_ref().filter(|_| facts.dry_run.is_change)?;
    // The result of a plan is only known after its apply.
    let known = facts.dry_run.refused || facts.dry_run.decided.plan.is_empty();
    known.then(|| {
        NextStep::at_next_reconciliation(format!("the condition says {}: {}", ready.reason.as_str(), ready.text()))
    })
}

/// Periodic reconciliations of its slots would add no information.
fn list_slot_steps(slot: &SlotFacts) -> Vec<NextStep> {
    slot.steps()
        .into_iter()
        .map(|next| NextStep { what: format!("{}: {}", slot.key.name, next.what), ..next })
        .collect()
}

fn wait_for_user(facts: &ExplainedCommitment) -> Option<NextStep> {
    let accepted = facts.dry_run.facts.accepted.is_some();
    match &facts.dry_run.decided.plan.verdict {
        Verdict::RolledBack => Some(NextStep::once(change(facts), "it is placed again as a whole")),
        Verdict::Reserve if facts.dry_run.refused => {
            let then = if accepted { "it keeps what was accepted before" } else { "it holds nothing" };
            Some(NextStep::once(change(facts), format!("it is placed again as a whole; until then {then}")))
        }
        Verdict::Refused { retry: false, .. } => {
            Some(NextStep::once("its spec is corrected", "it is reconciled again"))
        }
        Verdict::Paused(_) => Some(NextStep::once("it is resumed", "everything that waits is applied")),
        Verdict::DisruptionLimited(_) => Some(NextStep::once(CONFIRMED, "the plan is applied")),
        Verdict::Duplicate(_) => Some(NextStep::once("one of the two is deleted", "the other one is served")),
        Verdict::WrongCluster(_) => Some(NextStep::once("it is deleted here", "its slots are released")),
        Verdict::Deleting if facts.slots.is_empty() && !facts.foreign_finalizers().is_empty() => {
            let finalizers = facts.foreign_finalizers().join(", ");
            Some(NextStep::once(format!("other clients have removed {finalizers}"), "it is gone"))
        }
        _ => None,
    }
}

/// The changes after which a rejected commitment is reconciled again.
fn change(facts: &ExplainedCommitment) -> String {
    let message = facts.dry_run.facts.ready.as_ref().map(|ready| ready.message.as_str()).unwrap_or_default();
    if facts.dry_run.refused || message.starts_with(INSUFFICIENT_CAPACITY) || message.starts_with(INSUFFICIENT_CORES) {
        "its spec asks for less, for another zone or group, or has allowRejection: false".to_owned()
    } else {
        "its spec is corrected as its condition requires".to_owned()
    }
}

/// When timers let its slots be tried again, as the leader has planned it.
fn next_tries(facts: &ExplainedCommitment) -> Vec<NextStep> {
    let Some(answer) = &facts.asked.answer else { return Vec::new() };
    let mut times: BTreeMap<Timestamp, usize> = BTreeMap::new();
    for due in answer.slots.iter().filter_map(|slot| slot.next_try) {
        *times.entry(due).or_default() += 1;
    }
    let or_more = if answer.slots_left_out > 0 { " or more" } else { "" };
    let tried = |count| match count {
        1 => format!("1{or_more} of its slots is tried again"),
        _ => format!("{count}{or_more} of its slots are tried again, together"),
    };
    times.into_iter().map(|(due, count)| NextStep::at(due, tried(count))).collect()
}

fn next_reconciliation(facts: &ExplainedCommitment) -> NextStep {
    if let Some(known) = facts.asked.answer.as_ref().and_then(|answer| answer.reconciliation.as_ref()) {
        let again = NextStep::reconciliation(known, facts.now);
        return again.unwrap_or_else(|| NextStep::once("something changes", "it is reconciled again"));
    }
    let again = facts.dry_run.report.requeue_after.filter(|again| Some(*again) != time_until_end(facts));
    match again {
        Some(again) => NextStep::within(again, "it is reconciled again, and at once after a change"),
        None => NextStep::once("something changes", "it is reconciled again"),
    }
}

/// The wait that the controller takes for the end: a second more than the time that is left.
fn time_until_end(facts: &ExplainedCommitment) -> Option<Duration> {
    let left: Duration = facts.dry_run.facts.spec.end?.duration_since(facts.now).try_into().ok()?;
    Some(left + Duration::from_secs(1))
}

fn end(facts: &ExplainedCommitment) -> Option<NextStep> {
    let end = facts.dry_run.facts.spec.end.filter(|end| *end > facts.now)?;
    match facts.dry_run.decided.plan.verdict {
        Verdict::Over(_) | Verdict::Deleting => None,
        Verdict::Paused(_) => Some(NextStep::at(end, "it ends, and keeps its slots as long as it is paused")),
        _ => Some(NextStep::at(end, "it ends, and all of its slots are released")),
    }
}
