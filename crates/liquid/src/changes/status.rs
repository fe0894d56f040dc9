//! The status of a change after a step.

use berth_core::text::escape_line;
use berth_crds::commitment_change::{ChangeItemStatus, ChangeOutcome, ChangePhase, ChangeStep, RollBackCause};
use berth_crds::conditions::{self, Status, commitment_change as texts};
use berth_crds::{CommitmentChange, CommitmentChangeStatus, Time};
use jiff::Timestamp;

use super::{ChangeFacts, ItemFacts, ItemOutcome, RollBackReason};
use crate::rejection::describe_rejection;

/// The longest message of an item.
const MAX_MESSAGE: usize = 1000;

/// The change has begun.
pub(super) fn begun(change: &CommitmentChange, now: Timestamp) -> CommitmentChangeStatus {
    let mut status = in_phase(change, ChangePhase::Applying);
    status.started_at = Some(whole(now));
    set_finished(&mut status, change, false, texts::APPLYING, "", now);
    status
}

/// The commit point: the phase and the outcome of every item in one write.
pub(super) fn accepted(
    change: &CommitmentChange,
    facts: &ChangeFacts,
    is_finished: bool,
    now: Timestamp,
) -> CommitmentChangeStatus {
    let mut status = in_phase(change, ChangePhase::Accepted);
    status.items = items(facts, ChangeStep::Written, |_| ChangeOutcome::Accepted);
    status.message = Some(texts::IN_FORCE.to_owned());
    status.decided_at = Some(whole(now));
    if is_finished {
        finish(&mut status, change, texts::ACCEPTED, texts::IN_FORCE, now);
    } else {
        set_finished(&mut status, change, false, texts::DELETING, texts::DELETIONS_ARE_LEFT, now);
    }
    status
}

/// The change is undone from now on.
pub(super) fn rolling_back(
    change: &CommitmentChange,
    facts: &ChangeFacts,
    reason: &RollBackReason,
    now: Timestamp,
) -> CommitmentChangeStatus {
    let mut status = in_phase(change, ChangePhase::RollingBack);
    let outcome = |item: &ItemFacts| match item.outcome {
        ItemOutcome::Rejected(_) => ChangeOutcome::Rejected,
        ItemOutcome::Accepted => ChangeOutcome::Accepted,
        ItemOutcome::Waiting => ChangeOutcome::Waiting,
    };
    status.roll_back_cause = Some(cause(reason));
    status.items = items(facts, ChangeStep::Written, outcome);
    status.message = Some(describe(reason, facts));
    status.decided_at = Some(whole(now));
    set_finished(&mut status, change, false, texts::ROLLING_BACK, "", now);
    status
}

/// Undoing has failed many times, and goes on.
pub(super) fn failed(change: &CommitmentChange, why: &str, now: Timestamp) -> CommitmentChangeStatus {
    let mut status = in_phase(change, ChangePhase::Failed);
    set_finished(&mut status, change, false, texts::FAILED, &escape_line(why, MAX_MESSAGE), now);
    status
}

/// Nothing is left to do.
pub(super) fn finished(change: &CommitmentChange, phase: ChangePhase, now: Timestamp) -> CommitmentChangeStatus {
    let mut status = in_phase(change, phase);
    if phase == ChangePhase::Accepted {
        finish(&mut status, change, texts::ACCEPTED, texts::IN_FORCE, now);
    } else {
        status.items.iter_mut().for_each(|item| item.step = ChangeStep::Undone);
        finish(&mut status, change, texts::ROLLED_BACK, texts::AS_BEFORE, now);
    }
    status
}

/// Nothing more can be done, because a user has given up the cluster of the commitments.
pub(super) fn given_up(change: &CommitmentChange, now: Timestamp) -> CommitmentChangeStatus {
    if change.phase() == ChangePhase::Accepted {
        return finished(change, ChangePhase::Accepted, now);
    }
    let mut status = in_phase(change, ChangePhase::RolledBack);
    status.roll_back_cause.get_or_insert(RollBackCause::Interrupted);
    status.decided_at.get_or_insert(whole(now));
    finish(&mut status, change, texts::ROLLED_BACK, texts::GIVEN_UP, now);
    status
}

fn cause(reason: &RollBackReason) -> RollBackCause {
    match reason {
        RollBackReason::Rejected(_) => RollBackCause::Rejected,
        RollBackReason::Timeout => RollBackCause::Timeout,
        RollBackReason::Abandoned => RollBackCause::Abandoned,
        RollBackReason::Interrupted => RollBackCause::Interrupted,
        RollBackReason::Deleted => RollBackCause::Deleted,
        RollBackReason::Conflict => RollBackCause::Conflict,
        RollBackReason::Refused(_) => RollBackCause::Refused,
    }
}

/// The reason in the words of the API.
pub fn describe(reason: &RollBackReason, facts: &ChangeFacts) -> String {
    match reason {
        RollBackReason::Timeout => {
            let waiting = facts.items.iter().filter(|item| item.outcome == ItemOutcome::Waiting).count();
            format!("timeout: {waiting} commitment(s) were not decided in time")
        }
        RollBackReason::Abandoned => texts::ABANDONED.to_owned(),
        RollBackReason::Interrupted => texts::INTERRUPTED.to_owned(),
        RollBackReason::Deleted => texts::DELETED.to_owned(),
        RollBackReason::Conflict => texts::CHANGED_BY_OTHERS.to_owned(),
        RollBackReason::Refused(why) => escape_line(why, MAX_MESSAGE),
        RollBackReason::Rejected(rejected) => describe_rejection(rejected),
    }
}

fn in_phase(change: &CommitmentChange, phase: ChangePhase) -> CommitmentChangeStatus {
    CommitmentChangeStatus { phase, ..change.status.clone().unwrap_or_default() }
}

fn items(
    facts: &ChangeFacts,
    step: ChangeStep,
    outcome: impl Fn(&ItemFacts) -> ChangeOutcome,
) -> Vec<ChangeItemStatus> {
    let one = |item: &ItemFacts| ChangeItemStatus {
        commitment_uuid: item.uuid.clone(),
        step,
        generation: None,
        outcome: outcome(item),
        message: match &item.outcome {
            ItemOutcome::Rejected(why) => Some(escape_line(why, MAX_MESSAGE)),
            ItemOutcome::Accepted | ItemOutcome::Waiting => None,
        },
    };
    facts.items.iter().map(one).collect()
}

fn finish(status: &mut CommitmentChangeStatus, change: &CommitmentChange, reason: &str, text: &str, now: Timestamp) {
    status.finished_at = Some(whole(now));
    set_finished(status, change, true, reason, text, now);
}

fn set_finished(
    status: &mut CommitmentChangeStatus,
    change: &CommitmentChange,
    is_finished: bool,
    reason: &str,
    text: &str,
    now: Timestamp,
) {
    let value = if is_finished { Status::True } else { Status::False };
    let new = conditions::condition(texts::FINISHED, value, reason, text, change.metadata.generation, now);
    conditions::set_condition_by_reason(&mut status.conditions, new);
}

fn whole(now: Timestamp) -> Time {
    conditions::whole_seconds(now)
}
