//! Report: what the Ready condition of a commitment says after a look, and when to look again.

use std::time::Duration;

use berth_cluster::{Frozen, ObjectKey};
use berth_core::ClusterName;
use berth_core::backoff::retry_delay;
use berth_core::commitment::State;
use berth_core::slot::Standing;
use berth_core::summary::Summary;
use berth_crds::conditions::commitment::{Message, Reason};
use berth_crds::conditions::{self, Status};
use berth_crds::{CommitmentState, CommittedResource, CommittedResourceStatus, Condition, facts};
use berth_scheduler::Shortage;
use jiff::Timestamp;

use crate::facts::{Facts, Holding};
use crate::ledger::{Claim, Verdict};
use crate::plan::{Course, Decided};

/// How long to wait.
#[derive(Clone, Copy, Debug)]
pub struct Delays {
    /// `requeueIntervalRetry`: first delay after a failure.
    pub retry: Duration,
    /// `maxRequeueInterval`: the longest delay, and the timed look while slots are on their way.
    pub cap: Duration,
}

/// What is to be said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The condition, or nothing new.
    pub says: Option<Says>,
    /// When to look again without an event.
    pub again: Option<Duration>,
}

/// A Ready condition without its times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Says {
    /// True only for `Accepted`.
    pub ready: bool,
    /// The reason.
    pub reason: Reason,
    /// What it says; a difference here is a reason to write.
    pub message: Message,
    /// Continues the message after a colon; alone no reason to write.
    pub detail: Option<String>,
}

/// What came of a look: `after` are the facts after the apply.
pub fn report(after: &Facts, decided: &Decided, delays: Delays, now: Timestamp) -> Report {
    if let Some(why) = &after.frozen {
        return Report { says: first_word(after, why), again: None };
    }
    let says = says(after, decided);
    let again = match says.as_ref().map(|says| (says.reason, &says.message)) {
        Some((Reason::Reserving, Message::WaitingForPlacement)) => Some(delays.cap),
        Some((Reason::Reserving, _)) => Some(retry_delay(delays.retry, delays.cap, after.reserving_for(now))),
        Some((Reason::Releasing, _)) => Some(delays.retry),
        None if matches!(decided.plan.course, Course::Unreadable(_) | Course::Braked(_)) => Some(delays.retry),
        _ => None,
    };
    let end = after.spec.end.filter(|_| !matches!(decided.plan.course, Course::Over(_) | Course::Deleting));
    let pause = decided.paced.and_then(|paced| paced.again);
    Report { says, again: again.into_iter().chain(pause).chain(end.and_then(|end| until_over(end, now))).min() }
}

/// One second after the end, when it has certainly passed.
fn until_over(end: Timestamp, now: Timestamp) -> Option<Duration> {
    let left: Duration = end.duration_since(now).try_into().ok()?;
    Some(left + Duration::from_secs(1))
}

fn says(after: &Facts, decided: &Decided) -> Option<Says> {
    match &decided.plan.course {
        Course::Planned => Some(Says::no(Reason::Planned, Message::NotYetActive)),
        Course::Over(state) => Some(Says::no(Reason::Inactive(over(*state)), Message::NoLongerActive)),
        Course::Deleting => releasing(after),
        Course::Braked(_) if after.verdict().is_some() => None,
        Course::Braked(stopped) => {
            Some(Says::no(Reason::Reserving, Message::HeldBack).detailed(Some(stopped.to_string())))
        }
        Course::Duplicate(served) => Some(duplicate(after, served)),
        Course::WrongCluster(cluster) => Some(misplaced(after, cluster)),
        Course::Unreadable(_) if after.verdict().is_some_and(|said| said.reason != Some(Reason::Reserving)) => None,
        Course::Hindered(_) if after.is_rejected() => None,
        Course::Hindered(why) if after.deleting => {
            let first = after.unreadable().next().map_or(&after.cluster, |(cluster, _)| cluster);
            Some(still_there(first, Some(why.to_string())))
        }
        Course::Unreadable(why) | Course::Hindered(why) => {
            Some(Says::no(Reason::Reserving, Message::Other(why.to_string())))
        }
        Course::Refused { text, retry, .. } => {
            Some(Says::no(if *retry { Reason::Reserving } else { Reason::Rejected }, text.as_str()))
        }
        // One that was frozen is set free here, which has woken it.
        Course::Frozen(_) | Course::RolledBack | Course::Settled => None,
        Course::NoCapacity { message, detail } => {
            Some(Says::no(Reason::Reserving, message.clone()).detailed(Some(detail.clone())))
        }
        Course::Covered => Some(Says::accepted()),
        Course::Count(claim) => Some(counted(after, claim, decided.cores)),
        Course::Reserve => Some(reserve(after, decided)),
    }
}

/// What was said stands while a commitment is frozen; only one of which nothing was ever said must not stay silent.
fn first_word(after: &Facts, why: &Frozen) -> Option<Says> {
    let silent = after.ready.is_none();
    silent.then(|| Says::no(Reason::Reserving, Message::Frozen).detailed(Some(why.to_string())))
}

fn duplicate(after: &Facts, served: &ObjectKey) -> Says {
    let place = if served.cluster == after.cluster { String::new() } else { format!(" of cluster {}", served.cluster) };
    let detail =
        format!("{}{place} has the same spec.commitmentUUID and is served; delete one of the two", served.name);
    Says::no(Reason::DuplicateUuid, Message::NotServed).detailed(Some(detail))
}

fn misplaced(after: &Facts, cluster: &ClusterName) -> Says {
    let (zone, here) = (&after.spec.zone, &after.cluster);
    let message = Message::WrongCluster { zone: zone.to_string(), cluster: cluster.to_string() };
    let detail =
        format!("create the commitment there, then delete this one; its slots in cluster {here} stay until then");
    Says::no(Reason::WrongCluster, message).detailed(Some(detail))
}

/// What keeps a commitment from going away.
fn releasing(after: &Facts) -> Option<Says> {
    if let Some((cluster, why)) = after.unreadable().next() {
        return Some(still_there(cluster, Some(why.to_string())));
    }
    let held = |(cluster, holding): (_, &Holding)| {
        let slot = holding.slots.iter().find(|slot| slot.terminating)?;
        Some(still_there(cluster, Some(format!("{} is kept by its finalizers", slot.name))))
    };
    after.holdings.iter().find_map(held)
}

fn still_there(cluster: &ClusterName, why: Option<String>) -> Says {
    Says::no(Reason::Releasing, Message::WaitingForSlots { cluster: cluster.to_string() }).detailed(why)
}

fn reserve(after: &Facts, decided: &Decided) -> Says {
    let total = decided.plan.slots.total();
    if decided.is_refused(after) {
        let message = Message::InsufficientCapacity { placed: decided.could_be_placed(after), wanted: total };
        let reason = if after.host_unreadable().is_some() { Reason::Reserving } else { Reason::Rejected };
        return Says::no(reason, message).detailed(shortage(after, decided));
    }
    let staying = after.slots().iter().filter(|slot| !slot.terminating);
    let standings: Vec<_> = staying.map(|slot| slot.standing(after.generation)).collect();
    if decided.shortage.is_some() || standings.contains(&Standing::Failed) {
        let placed = after.slots().iter().filter(|slot| slot.target_host.is_some()).count();
        let final_ = after.may_reject() && after.host_unreadable().is_none();
        let reason = if final_ { Reason::Rejected } else { Reason::Reserving };
        return Says::no(reason, Message::InsufficientCapacity { placed, wanted: total })
            .detailed(shortage(after, decided));
    }
    if standings.len() >= total && standings.iter().all(|standing| *standing == Standing::Ready) {
        return Says::accepted();
    }
    Says::waiting()
}

/// Document 20 section 13. What is decided for others and may still come to nothing rejects nobody.
fn counted(after: &Facts, claim: &Claim, verdict: Option<Verdict>) -> Says {
    match verdict {
        Some(Verdict::Enough) => Says::accepted(),
        Some(Verdict::Short { available, provisional }) => {
            let final_ = after.may_reject() && !provisional;
            let reason = if final_ { Reason::Rejected } else { Reason::Reserving };
            let message = Message::InsufficientCores { available: available.get(), requested: claim.cores.get() };
            Says::no(reason, message)
        }
        None => Says::waiting(),
    }
}

/// Why a slot has no host, in numbers per filter, with the way out where it is obvious.
fn shortage(after: &Facts, decided: &Decided) -> Option<String> {
    let shortage = decided.shortage.as_ref().or(after.shortage.as_ref())?;
    let zone = &after.spec.zone;
    let nothing_there = format!("; no host is in zone {zone}, correct spec.availabilityZone or label hosts with it");
    let hint = if nothing_in_zone(shortage) { nothing_there.as_str() } else { "" };
    let unreadable = after.host_unreadable().map(|host| format!("; {host}")).unwrap_or_default();
    Some(format!("{shortage}{hint}{unreadable}"))
}

fn nothing_in_zone(shortage: &Shortage) -> bool {
    shortage.hosts == 0
        || shortage.removed.iter().any(|(filter, count)| filter.step == "filter_correct_az" && *count == shortage.hosts)
}

impl Says {
    fn no(reason: Reason, message: impl Into<Message>) -> Self {
        Self { ready: false, reason, message: message.into(), detail: None }
    }

    fn accepted() -> Self {
        Self { ready: true, ..Self::no(Reason::Accepted, Message::Reserved) }
    }

    /// Slots are on their way.
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

    /// The message with its detail.
    pub fn text(&self) -> String {
        match &self.detail {
            Some(detail) => format!("{}: {detail}", self.message),
            None => self.message.to_string(),
        }
    }

    /// True when the condition says this already, at least up to its fixed part.
    fn is_said_by(&self, condition: &Condition, generation: i64) -> bool {
        (condition.status == "True") == self.ready
            && condition.reason == self.reason.as_str()
            && condition.observed_generation.unwrap_or_default() == generation
            && self.message.is_text_of(condition)
    }
}

/// The status that the object is to have. It equals the old one when there is nothing new to say: times, the summary
/// and details of a message are no reason to write.
pub fn status(object: &CommittedResource, says: &Says, now: Timestamp) -> CommittedResourceStatus {
    let mut status = object.status.clone().unwrap_or_default();
    let generation = object.metadata.generation.unwrap_or_default();
    let accepted = status.accepted_spec.as_ref().map(facts::spec_of);
    let accepts = says.ready && accepted != Some(facts::spec(object));
    let said = conditions::ready(&status.conditions).is_some_and(|c| says.is_said_by(c, generation));
    if said && !accepts {
        return status;
    }
    if says.ready {
        status.accepted_spec = Some(object.spec.clone());
        status.accepted_at = Some(conditions::whole_seconds(now));
    }
    say(&mut status.conditions, says, generation, now);
    status.last_reconcile_at = Some(conditions::whole_seconds(now));
    status.status_summary = Some(summary(object, &status, says, now));
    status
}

/// The first successful plan after a failure starts the back-off anew.
fn say(all: &mut Vec<Condition>, says: &Says, generation: i64, now: Timestamp) {
    let status = if says.ready { Status::True } else { Status::False };
    let new = conditions::ready_condition(status, says.reason.as_str(), &says.text(), Some(generation), now);
    let failed_before = conditions::ready(all).is_some_and(|old| !Message::WaitingForPlacement.is_text_of(old));
    if says.message == Message::WaitingForPlacement && failed_before {
        conditions::restart_condition(all, new);
    } else {
        conditions::set_condition_by_reason(all, new);
    }
}

fn summary(object: &CommittedResource, status: &CommittedResourceStatus, says: &Says, now: Timestamp) -> String {
    let spec = facts::spec(object);
    let accepted = status.accepted_spec.as_ref().map(facts::spec_of);
    let vms = status.assigned_instances.len();
    Summary { reason: says.reason.as_str(), message: &says.text(), spec: &spec, accepted: accepted.as_ref(), vms }
        .line(now)
}

fn over(state: State) -> CommitmentState {
    if state == State::Superseded { CommitmentState::Superseded } else { CommitmentState::Expired }
}

#[cfg(test)]
mod tests;
