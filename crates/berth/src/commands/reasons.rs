//! Explains each reason of a Ready condition in a sentence. A reason without a sentence does not compile.

use berth_crds::conditions::{self, commitment, reservation, safety};
use berth_crds::{CommitmentState, Condition};
use jiff::Timestamp;
use serde::Serialize;

use super::times::moment;

/// A condition that is not one of ours.
const FOREIGN: &str = "This reason is not one of Berth's: another client has written the condition.";

const PAUSED: &str = "PAUSED: it is not reconciled";

const DISRUPTION_LIMITED: &str = "DISRUPTION LIMITED: too many slots would be deleted or moved at once; it waits until the cause is gone or a user confirms it";

/// A condition with its meaning. The names of its members are promised in docs/commands.md.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExplainedCondition {
    /// `True`, `False` or `Unknown`.
    pub(super) status: String,
    pub(super) reason: String,
    pub(super) message: String,
    /// Since when it has this status or reason.
    pub(super) since: Timestamp,
    /// It speaks of an older spec than the present one.
    pub(super) outdated: bool,
    pub(super) meaning: String,
}

impl ExplainedCondition {
    /// Explains the condition of a commitment of this generation.
    pub(super) fn of_commitment(condition: &Condition, generation: i64) -> Self {
        let outdated = condition.observed_generation.unwrap_or_default() != generation;
        let reason = commitment::Reason::parse(&condition.reason);
        Self { outdated, ..Self::new(condition, reason.map_or(FOREIGN, explain_commitment_reason)) }
    }

    pub(super) fn of_slot(condition: &Condition) -> Self {
        let reason = reservation::Reason::parse(&condition.reason);
        Self::new(condition, reason.map_or(FOREIGN, explain_slot_reason))
    }

    fn new(condition: &Condition, meaning: &str) -> Self {
        Self {
            status: condition.status.clone(),
            reason: condition.reason.clone(),
            message: condition.message.clone(),
            since: condition.last_transition_time.0,
            outdated: false,
            meaning: meaning.to_owned(),
        }
    }

    /// The conditions beside Ready that keep the object from being changed, and hold.
    pub(super) fn extra_conditions(conditions: &[Condition]) -> Vec<Self> {
        let types = [(safety::PAUSED, PAUSED), (safety::DISRUPTION_LIMITED, DISRUPTION_LIMITED)].into_iter();
        let holding = types.filter(|(type_, _)| safety::holds(conditions, type_));
        holding.filter_map(|(type_, meaning)| Some(Self::new(conditions::find(conditions, type_)?, meaning))).collect()
    }

    pub(super) fn format_extra_conditions(conditions: &[Self], now: Timestamp) -> String {
        let line = |condition: &Self| {
            let since = moment(condition.since, now);
            format!("{}, since {since}\n  {}\n", condition.meaning, condition.message.replace('\n', " "))
        };
        conditions.iter().map(line).collect()
    }

    pub(super) fn lines(reported: Option<&Self>, now: Timestamp) -> String {
        let Some(reported) = reported else { return "NOT READY: it has not been reconciled yet\n".to_owned() };
        let ready = if reported.status == "True" { "READY" } else { "NOT READY" };
        let since = moment(reported.since, now);
        let mut text = format!("{ready}: {}, since {since}\n", reported.reason);
        if reported.outdated {
            text.push_str("  This is about an older spec.\n");
        }
        for line in [&reported.message, &reported.meaning].into_iter().filter(|line| !line.is_empty()) {
            text.extend(["  ", &line.replace('\n', " "), "\n"]);
        }
        text
    }
}

fn explain_commitment_reason(reason: commitment::Reason) -> &'static str {
    use commitment::Reason;
    match reason {
        Reason::Accepted => "All of its capacity is reserved.",
        Reason::Planned => "It has not started: it has no slots before its state changes.",
        Reason::Reserving => "It is being placed, or waits; it is reconciled again automatically.",
        Reason::Rejected => {
            "This spec was refused and is not retried. The accepted spec stays in force; a new spec is reconciled."
        }
        Reason::Inactive(state) => inactive(state),
        Reason::Releasing => "It is being deleted, and its slots are released before.",
        Reason::WrongCluster => "It is not in the cluster of its zone; its slots are not changed.",
        Reason::DuplicateUuid => "Another object has the same UUID and is served in its place.",
    }
}

fn inactive(state: CommitmentState) -> &'static str {
    match state {
        CommitmentState::Superseded => "Other commitments have replaced it; it has no slots.",
        CommitmentState::Expired => "Its end time has passed; it has no slots.",
        CommitmentState::Planned
        | CommitmentState::Pending
        | CommitmentState::Guaranteed
        | CommitmentState::Confirmed => "Its end time has passed although its state is another one; it has no slots.",
    }
}

fn explain_slot_reason(reason: reservation::Reason) -> &'static str {
    use reservation::Reason;
    match reason {
        Reason::MissingResourceName => "It names no flavor, so no host can be chosen.",
        Reason::PreAllocated => "It was created for VMs that were running already, and is in force on their host.",
        Reason::ReservationActive => "Its capacity is reserved on its host.",
        Reason::PlacementRevoked => "It has lost its host and reserves nothing until it gets another one.",
        Reason::NoHostsAvailable => "There is no host, so it reserves nothing.",
        Reason::NoHostsFound => "No host is feasible, so it reserves nothing; it waits for capacity.",
        Reason::FlavorNotFound => "Its flavor is no longer in the flavor group, so no host can be chosen.",
        Reason::FlavorDataUnavailable => "The flavor groups cannot be read, so no host can be chosen now.",
        Reason::SchedulerUnavailable => "The scheduler cannot decide now; it is asked again.",
        Reason::InvalidResources => "It names resources other than cpu and memory and cannot be in force.",
        Reason::UnexpectedType => "It does not have the type of its controller.",
        Reason::MissingSpec => "The data of its type are missing, so it cannot be reconciled.",
        Reason::InstanceNotFound => "The VM that it reserves capacity for is on no host yet.",
        Reason::VmSizeUnknown => "The VM that it reserves capacity for is on its host; its size is unknown.",
        Reason::VmSizeMismatch => "The VM that it reserves capacity for does not have its new size yet.",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use berth_crds::conditions::{Status, ready_condition};

    use super::*;

    fn now() -> Timestamp {
        "2026-03-01T12:00:00Z".parse().unwrap()
    }

    #[test]
    fn every_reason_of_a_slot_has_a_sentence_of_its_own() {
        let message = |reason: reservation::Reason| {
            let condition = ready_condition(Status::False, reason.as_str(), "", None, now());
            ExplainedCondition::of_slot(&condition).meaning
        };
        let all: BTreeSet<String> = reservation::Reason::ALL.iter().copied().map(message).collect();
        assert_eq!(all.len(), reservation::Reason::ALL.len());
        assert!(all.iter().all(|sentence| sentence.ends_with('.') && sentence != FOREIGN));
    }

    #[test]
    fn every_reason_of_a_commitment_has_a_sentence() {
        let words = [
            "Accepted",
            "Planned",
            "Reserving",
            "Rejected",
            "planned",
            "pending",
            "guaranteed",
            "confirmed",
            "superseded",
            "expired",
            "Releasing",
            "WrongCluster",
            "DuplicateUUID",
        ];
        for word in words {
            let reported =
                ExplainedCondition::of_commitment(&ready_condition(Status::False, word, "", Some(3), now()), 3);
            assert!(reported.meaning != FOREIGN && !reported.outdated, "{word}");
        }
        let foreign = ExplainedCondition::of_commitment(&ready_condition(Status::False, "Odd", "", Some(2), now()), 3);
        assert!(foreign.meaning == FOREIGN && foreign.outdated);
    }

    #[test]
    fn lines_say_whether_it_is_ready_since_when_and_of_which_spec() {
        let condition = ready_condition(Status::False, "Rejected", "no capacity", Some(1), now());
        let later = "2026-03-01T14:00:00Z".parse().unwrap();
        let text = ExplainedCondition::lines(Some(&ExplainedCondition::of_commitment(&condition, 2)), later);
        let start = "NOT READY: Rejected, since 2026-03-01T12:00:00Z (2h 0m ago)\n  This is about an older spec.\n  no capacity\n";
        assert!(text.starts_with(start), "{text}");
        assert_eq!(ExplainedCondition::lines(None, later), "NOT READY: it has not been reconciled yet\n");
    }
}
