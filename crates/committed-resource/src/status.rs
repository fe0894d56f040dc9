//! Report: the Ready condition of a commitment after a reconciliation, and when to reconcile again.

use std::time::Duration;

use berth_cluster::{ObjectKey, PauseCause};
use berth_core::ClusterName;
use berth_core::backoff::retry_delay;
use berth_core::commitment::State;
use berth_core::slot::GenerationVerdict;
use berth_core::summary::Summary;
use berth_crds::conditions::commitment::{Message, Reason};
use berth_crds::conditions::{self, Status};
use berth_crds::{CommitmentState, CommittedResource, CommittedResourceStatus, Condition, facts};
use jiff::Timestamp;

use crate::facts::{CommitmentFacts, Holding};
use crate::ledger::{ClaimResult, CoresClaim};
use crate::plan::{CommitmentDecision, Verdict};

/// How long to wait.
#[derive(Clone, Copy, Debug)]
pub struct Delays {
    pub retry: Duration,
    /// `maxRequeueInterval`: the longest delay, and the requeue while slots are on their way.
    pub cap: Duration,
}

/// The report of a reconciliation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitmentReport {
    pub ready: Option<CommitmentReady>,
    pub requeue_after: Option<Duration>,
}

impl CommitmentReport {
    pub(crate) fn rejects_for_capacity(&self) -> bool {
        let rejects = |ready: &CommitmentReady| {
            ready.reason == Reason::Rejected && matches!(ready.message, Message::InsufficientCapacity { .. })
        };
        self.ready.as_ref().is_some_and(rejects)
    }

    /// It is decided again after the other commitment has released its slots.
    pub(crate) fn after_rejection_of(self, other: &ObjectKey, delays: Delays) -> Self {
        let why = format!("{} was rejected and releases its slots first", other.name);
        Self {
            ready: Some(CommitmentReady::no(Reason::Reserving, Message::Other(why))),
            requeue_after: self.requeue_after.into_iter().chain([delays.retry]).min(),
        }
    }

    /// When the commitment is reconciled again, at the latest when the text of its condition may be refreshed.
    pub(crate) fn time_until_requeue(
        &self,
        object: &CommittedResource,
        refresh: Duration,
        now: Timestamp,
    ) -> Option<Duration> {
        let outdated = self.ready.as_ref().and_then(|ready| time_until_refresh(object, ready, refresh, now));
        self.requeue_after.into_iter().chain(outdated.filter(|left| !left.is_zero())).min()
    }
}

/// A Ready condition without its times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitmentReady {
    /// True only for `Accepted`.
    pub ready: bool,
    pub reason: Reason,
    /// A difference in the message is a reason to write.
    pub message: Message,
    /// Continues the message after a colon; refreshed at most every `requeueIntervalRetry`.
    pub detail: Option<String>,
}

/// The report after a reconciliation; `after` are the facts after the apply.
pub fn report(
    after: &CommitmentFacts,
    decided: &CommitmentDecision,
    delays: Delays,
    now: Timestamp,
) -> CommitmentReport {
    if let Some(why) = &after.paused {
        return CommitmentReport { ready: ready_while_paused(after, why), requeue_after: None };
    }
    let ready = ready_condition(after, decided);
    let requeue_after = match ready.as_ref().map(|ready| (ready.reason, &ready.message)) {
        Some((Reason::Reserving, Message::WaitingForPlacement)) => Some(delays.cap),
        // Its slots have not been tried yet by this process. No event reports why they find no host.
        Some((Reason::Reserving, Message::InsufficientCapacity { .. })) if !ready.as_ref().is_some_and(has_detail) => {
            Some(delays.retry)
        }
        Some((Reason::Reserving, _)) => Some(retry_delay(delays.retry, delays.cap, after.reserving_for(now))),
        Some((Reason::Releasing, _)) => Some(delays.retry),
        None if matches!(decided.plan.verdict, Verdict::Unreadable(_) | Verdict::DisruptionLimited(_)) => {
            Some(delays.retry)
        }
        _ => None,
    };
    let end = after.spec.end.filter(|_| !matches!(decided.plan.verdict, Verdict::Deleting));
    let pause = decided.paced.and_then(|paced| paced.requeue_after);
    CommitmentReport {
        ready: ready.filter(|ready| !is_passing(ready, after)),
        requeue_after: requeue_after.into_iter().chain(pause).chain(end.and_then(|end| time_until_end(end, now))).min(),
    }
}

/// Whether the condition would be replaced at once: what a change writes is decided within seconds, and its caller waits.
fn is_passing(ready: &CommitmentReady, after: &CommitmentFacts) -> bool {
    ready.message == Message::WaitingForPlacement && after.change.as_ref().is_some_and(|change| change.is_being_applied)
}

fn has_detail(ready: &CommitmentReady) -> bool {
    ready.detail.is_some()
}

/// One second after the end, when it has certainly passed.
fn time_until_end(end: Timestamp, now: Timestamp) -> Option<Duration> {
    let left: Duration = end.duration_since(now).try_into().ok()?;
    Some(left + Duration::from_secs(1))
}

fn ready_condition(after: &CommitmentFacts, decided: &CommitmentDecision) -> Option<CommitmentReady> {
    match &decided.plan.verdict {
        Verdict::Planned => Some(CommitmentReady::no(Reason::Planned, Message::NotYetActive)),
        Verdict::Over(state) => Some(CommitmentReady::no(Reason::Inactive(end_state(*state)), Message::NoLongerActive)),
        Verdict::Deleting => releasing(after),
        Verdict::DisruptionLimited(_) if after.verdict().is_some() => None,
        Verdict::DisruptionLimited(stopped) => {
            Some(CommitmentReady::no(Reason::Reserving, Message::HeldBack).detailed(Some(stopped.to_string())))
        }
        Verdict::Duplicate(served) => Some(duplicate(after, served)),
        Verdict::WrongCluster(cluster) => Some(misplaced(after, cluster)),
        Verdict::Unreadable(_)
            if after.verdict().is_some_and(|reported| reported.reason != Some(Reason::Reserving)) =>
        {
            None
        }
        Verdict::Blocked(_) if after.is_rejected() => None,
        Verdict::Blocked(why) if after.deleting => {
            let first = after.unreadable().next().map_or(&after.cluster, |(cluster, _)| cluster);
            Some(report_remaining_slots(first, Some(why.to_string())))
        }
        Verdict::Unreadable(why) | Verdict::Blocked(why) => {
            Some(CommitmentReady::no(Reason::Reserving, Message::Other(why.to_string())))
        }
        Verdict::Refused { text, retry, .. } => {
            Some(CommitmentReady::no(if *retry { Reason::Reserving } else { Reason::Rejected }, text.as_str()))
        }
        // One that was paused is resumed here, which has woken it.
        Verdict::Paused(_) | Verdict::RolledBack | Verdict::Settled => None,
        Verdict::NoCapacity { message, detail } => {
            Some(CommitmentReady::no(Reason::Reserving, message.clone()).detailed(Some(detail.clone())))
        }
        Verdict::Covered => Some(CommitmentReady::accepted()),
        Verdict::Count(claim) => Some(counted(after, claim, decided.cores)),
        Verdict::Reserve => Some(reserve(after, decided)),
    }
}

/// A paused commitment keeps its condition; only one that has no condition yet gets one.
fn ready_while_paused(after: &CommitmentFacts, why: &PauseCause) -> Option<CommitmentReady> {
    let silent = after.ready.is_none();
    silent.then(|| CommitmentReady::no(Reason::Reserving, Message::Paused).detailed(Some(why.to_string())))
}

fn duplicate(after: &CommitmentFacts, served: &ObjectKey) -> CommitmentReady {
    let place = if served.cluster == after.cluster { String::new() } else { format!(" of cluster {}", served.cluster) };
    let detail =
        format!("{}{place} has the same spec.commitmentUUID and is served; delete one of the two", served.name);
    CommitmentReady::no(Reason::DuplicateUuid, Message::NotServed).detailed(Some(detail))
}

fn misplaced(after: &CommitmentFacts, cluster: &ClusterName) -> CommitmentReady {
    let (zone, here) = (&after.spec.zone, &after.cluster);
    let message = Message::WrongCluster { zone: zone.to_string(), cluster: cluster.to_string() };
    let detail =
        format!("create the commitment there, then delete this one; its slots in cluster {here} stay until then");
    CommitmentReady::no(Reason::WrongCluster, message).detailed(Some(detail))
}

fn releasing(after: &CommitmentFacts) -> Option<CommitmentReady> {
    if let Some((cluster, why)) = after.unreadable().next() {
        return Some(report_remaining_slots(cluster, Some(why.to_string())));
    }
    let held = |(cluster, holding): (_, &Holding)| {
        let slot = holding.slots.iter().find(|slot| slot.terminating)?;
        Some(report_remaining_slots(cluster, Some(format!("{} is kept by its finalizers", slot.name))))
    };
    after.holdings.iter().find_map(held)
}

fn report_remaining_slots(cluster: &ClusterName, why: Option<String>) -> CommitmentReady {
    CommitmentReady::no(Reason::Releasing, Message::WaitingForSlots { cluster: cluster.to_string() }).detailed(why)
}

fn reserve(after: &CommitmentFacts, decided: &CommitmentDecision) -> CommitmentReady {
    let total = decided.plan.slots.total();
    if decided.is_refused(after) {
        let message = Message::InsufficientCapacity { placed: decided.could_be_placed(after), wanted: total };
        let reason = if after.host_unreadable().is_some() { Reason::Reserving } else { Reason::Rejected };
        return CommitmentReady::no(reason, message).detailed(shortage(after, decided));
    }
    let staying = after.slots().iter().filter(|slot| !slot.terminating);
    let standings: Vec<_> = staying.map(|slot| slot.generation_verdict(after.generation)).collect();
    if decided.shortage.is_some() || standings.contains(&GenerationVerdict::Failed) {
        if let Some(why) = &after.in_the_way {
            return CommitmentReady::no(Reason::Reserving, Message::Other(why.to_string()));
        }
        let placed = after.slots().iter().filter(|slot| slot.target_host.is_some()).count();
        let final_ = after.may_reject() && after.host_unreadable().is_none();
        let reason = if final_ { Reason::Rejected } else { Reason::Reserving };
        return CommitmentReady::no(reason, Message::InsufficientCapacity { placed, wanted: total })
            .detailed(shortage(after, decided));
    }
    if standings.len() >= total && standings.iter().all(|standing| *standing == GenerationVerdict::Ready) {
        return CommitmentReady::accepted();
    }
    let undecided = after.undecided.as_deref();
    undecided.map_or_else(CommitmentReady::waiting, |why| CommitmentReady::no(Reason::Reserving, why))
}

/// A decision for other commitments that may still fail does not reject a commitment.
fn counted(after: &CommitmentFacts, claim: &CoresClaim, verdict: Option<ClaimResult>) -> CommitmentReady {
    match verdict {
        Some(ClaimResult::Enough) => CommitmentReady::accepted(),
        Some(ClaimResult::Short { available, provisional }) => {
            let final_ = after.may_reject() && !provisional;
            let reason = if final_ { Reason::Rejected } else { Reason::Reserving };
            let message = Message::InsufficientCores { available: available.get(), requested: claim.cores.get() };
            CommitmentReady::no(reason, message)
        }
        None => CommitmentReady::waiting(),
    }
}

/// Why a slot has no host, in numbers per filter, with the way out where it is obvious.
fn shortage(after: &CommitmentFacts, decided: &CommitmentDecision) -> Option<String> {
    let shortage = decided.shortage.as_ref().or(after.shortage.as_ref())?;
    let zone = &after.spec.zone;
    let nothing_there = format!("; no host is in zone {zone}, correct spec.availabilityZone or label hosts with it");
    let hint = if shortage.hosts == 0 || shortage.zone_is_empty { nothing_there.as_str() } else { "" };
    let unreadable = after.host_unreadable().map(|host| format!("; {host}")).unwrap_or_default();
    Some(format!("{shortage}{hint}{unreadable}"))
}

impl CommitmentReady {
    fn no(reason: Reason, message: impl Into<Message>) -> Self {
        Self { ready: false, reason, message: message.into(), detail: None }
    }

    fn accepted() -> Self {
        Self { ready: true, ..Self::no(Reason::Accepted, Message::Reserved) }
    }

    pub fn waiting() -> Self {
        Self::no(Reason::Reserving, Message::WaitingForPlacement)
    }

    /// Slots that are on their way are no failure, although their commitment is not ready.
    pub fn is_failure(&self) -> bool {
        match self.reason {
            Reason::Rejected | Reason::DuplicateUuid => true,
            Reason::Reserving => self.message != Message::WaitingForPlacement,
            Reason::Accepted | Reason::Planned | Reason::Inactive(_) | Reason::Releasing | Reason::WrongCluster => {
                false
            }
        }
    }

    fn detailed(self, detail: Option<String>) -> Self {
        Self { detail, ..self }
    }

    pub fn text(&self) -> String {
        match &self.detail {
            Some(detail) => format!("{}: {detail}", self.message),
            None => self.message.to_string(),
        }
    }

    /// True if the condition is already equal, at least up to the fixed part of its message.
    fn equals(&self, condition: &Condition, generation: i64) -> bool {
        (condition.status == "True") == self.ready
            && condition.reason == self.reason.as_str()
            && condition.observed_generation.unwrap_or_default() == generation
            && self.message.is_text_of(condition)
    }
}

/// The desired status of the object. It equals the old one if there is no change to report: times and the summary are no
/// reason to write, and another detail of a message only after `refresh`.
pub fn status(
    object: &CommittedResource,
    ready: &CommitmentReady,
    refresh: Duration,
    now: Timestamp,
) -> CommittedResourceStatus {
    let mut status = object.status.clone().unwrap_or_default();
    let generation = object.metadata.generation.unwrap_or_default();
    let accepted = status.accepted_spec.as_ref().map(facts::spec_of);
    let accepts = ready.ready && accepted != Some(facts::spec(object));
    let reported = conditions::ready(&status.conditions).is_some_and(|c| ready.equals(c, generation));
    let outdated = time_until_refresh(object, ready, refresh, now) == Some(Duration::ZERO);
    if reported && !outdated && !accepts {
        return status;
    }
    if ready.ready {
        status.accepted_spec = Some(object.spec.clone());
        status.accepted_at = Some(conditions::whole_seconds(now));
    }
    set_ready(&mut status.conditions, ready, generation, now);
    status.last_reconcile_at = Some(conditions::whole_seconds(now));
    status.status_summary = Some(summary(object, &status, ready, now));
    status
}

/// When the text of the condition may be refreshed, if nothing but its detail differs: `refresh` after the last write.
fn time_until_refresh(
    object: &CommittedResource,
    ready: &CommitmentReady,
    refresh: Duration,
    now: Timestamp,
) -> Option<Duration> {
    let status = object.status.as_ref()?;
    let condition = conditions::ready(&status.conditions)?;
    let same = ready.equals(condition, object.metadata.generation.unwrap_or_default());
    // Without a detail nothing is known that is newer than the text, for example after a restart.
    if !same || ready.detail.is_none() || condition.message == conditions::stored_message(&ready.text()) {
        return None;
    }
    let written = status.last_reconcile_at.as_ref().unwrap_or(&condition.last_transition_time).0;
    let passed: Duration = now.duration_since(written).try_into().unwrap_or_default();
    Some(refresh.saturating_sub(passed))
}

/// The first successful plan after a failure resets the back-off.
fn set_ready(all: &mut Vec<Condition>, ready: &CommitmentReady, generation: i64, now: Timestamp) {
    let status = if ready.ready { Status::True } else { Status::False };
    let new = conditions::ready_condition(status, ready.reason.as_str(), &ready.text(), Some(generation), now);
    let failed_before = conditions::ready(all).is_some_and(|old| !Message::WaitingForPlacement.is_text_of(old));
    if ready.message == Message::WaitingForPlacement && failed_before {
        conditions::restart_condition(all, new);
    } else {
        conditions::set_condition_by_reason(all, new);
    }
}

fn summary(
    object: &CommittedResource,
    status: &CommittedResourceStatus,
    ready: &CommitmentReady,
    now: Timestamp,
) -> String {
    let spec = facts::spec(object);
    let accepted = status.accepted_spec.as_ref().map(facts::spec_of);
    let vms = status.assigned_instances.len();
    Summary { reason: ready.reason.as_str(), message: &ready.text(), spec: &spec, accepted: accepted.as_ref(), vms }
        .line(now)
}

fn end_state(state: State) -> CommitmentState {
    if state == State::Superseded { CommitmentState::Superseded } else { CommitmentState::Expired }
}

#[cfg(test)]
mod tests;
