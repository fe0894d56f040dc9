//! What each reason of a Ready condition means, in a sentence for people. A reason without a sentence does not compile.

use berth_crds::conditions::{self, commitment, reservation, safety};
use berth_crds::{CommitmentState, Condition};
use jiff::Timestamp;
use serde::Serialize;

use super::times::moment;

/// A condition that is not one of ours.
const FOREIGN: &str = "This reason is not one of Berth's: somebody else has written the condition.";

/// What the condition Frozen means.
const FROZEN: &str = "FROZEN: nothing is done about it";

/// What the condition Braked means.
const BRAKED: &str = "BRAKED: too much would be deleted or moved at once, so it waits for its cause to go or for somebody \
                      to confirm it";

/// A condition with its meaning. The names of its members are promised in docs/commands.md.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Told {
    /// `True`, `False` or `Unknown`.
    pub(super) status: String,
    pub(super) reason: String,
    pub(super) message: String,
    /// Since when it has this status or reason.
    pub(super) since: Timestamp,
    /// It speaks of an older spec than the present one.
    pub(super) outdated: bool,
    /// What the reason means.
    pub(super) meaning: String,
}

impl Told {
    /// What is told of a commitment of this generation.
    pub(super) fn of_commitment(condition: &Condition, generation: i64) -> Self {
        let outdated = condition.observed_generation.unwrap_or_default() != generation;
        let reason = commitment::Reason::parse(&condition.reason);
        Self { outdated, ..Self::new(condition, reason.map_or(FOREIGN, of_commitment)) }
    }

    /// What is told of a slot.
    pub(super) fn of_slot(condition: &Condition) -> Self {
        let reason = reservation::Reason::parse(&condition.reason);
        Self::new(condition, reason.map_or(FOREIGN, of_reservation))
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
    pub(super) fn marks(conditions: &[Condition]) -> Vec<Self> {
        let marks = [(safety::FROZEN, FROZEN), (safety::BRAKED, BRAKED)].into_iter();
        let holding = marks.filter(|(type_, _)| safety::holds(conditions, type_));
        holding.filter_map(|(type_, meaning)| Some(Self::new(conditions::find(conditions, type_)?, meaning))).collect()
    }

    /// The lines about marks.
    pub(super) fn mark_lines(marks: &[Self], now: Timestamp) -> String {
        let line = |mark: &Self| {
            let since = moment(mark.since, now);
            format!("{}, since {since}\n  {}\n", mark.meaning, mark.message.replace('\n', " "))
        };
        marks.iter().map(line).collect()
    }

    /// The lines for people.
    pub(super) fn lines(told: Option<&Self>, now: Timestamp) -> String {
        let Some(told) = told else { return "NOT READY: nothing has been said about it yet\n".to_owned() };
        let ready = if told.status == "True" { "READY" } else { "NOT READY" };
        let since = moment(told.since, now);
        let mut text = format!("{ready}: {}, since {since}\n", told.reason);
        if told.outdated {
            text.push_str("  This was said of an older spec.\n");
        }
        for line in [&told.message, &told.meaning].into_iter().filter(|line| !line.is_empty()) {
            text.extend(["  ", &line.replace('\n', " "), "\n"]);
        }
        text
    }
}

fn of_commitment(reason: commitment::Reason) -> &'static str {
    use commitment::Reason;
    match reason {
        Reason::Accepted => "What is wanted is held for the customer.",
        Reason::Planned => "It has not begun: it holds nothing before its state changes.",
        Reason::Reserving => "It is under way, or something is missing; it is tried again by itself.",
        Reason::Rejected => {
            "This spec was refused for good. What was accepted before stays; another spec is tried anew."
        }
        Reason::Inactive(state) => inactive(state),
        Reason::Releasing => "It is being deleted, and its slots have to go before it does.",
        Reason::WrongCluster => "The cluster that holds it is not that of its zone; its slots stay as they are.",
        Reason::DuplicateUuid => "Another object has the same UUID and is served in its place.",
    }
}

fn inactive(state: CommitmentState) -> &'static str {
    match state {
        CommitmentState::Superseded => "Other commitments have replaced it; it holds nothing any more.",
        CommitmentState::Expired => "Its time is over; it holds nothing any more.",
        CommitmentState::Planned
        | CommitmentState::Pending
        | CommitmentState::Guaranteed
        | CommitmentState::Confirmed => {
            "Its time is over although its state does not say so; it holds nothing any more."
        }
    }
}

fn of_reservation(reason: reservation::Reason) -> &'static str {
    use reservation::Reason;
    match reason {
        Reason::MissingResourceName => "It names no flavor, so nobody can know which hosts it may be on.",
        Reason::PreAllocated => "It was made around VMs that run already, and is in force on their host.",
        Reason::ReservationActive => "Its room is kept on its host.",
        Reason::PlacementRevoked => "It has lost its host and keeps no room until another one is found.",
        Reason::NoHostsAvailable => "There is no host at all, so it keeps no room.",
        Reason::NoHostsFound => "No host has room for it, so it keeps none; it waits for room.",
        Reason::FlavorNotFound => "Its flavor has left the flavor group, so no host can be chosen for it.",
        Reason::FlavorDataUnavailable => "The flavor groups cannot be read, so no host can be chosen for it now.",
        Reason::SchedulerUnavailable => "The scheduler cannot decide at the moment; it is asked again.",
        Reason::InvalidResources => "It names resources other than cpu and memory and cannot be in force.",
        Reason::UnexpectedType => "It is not of the type that its controller was asked to look after.",
        Reason::MissingSpec => "The data of its type are missing, so nobody can look after it.",
        Reason::InstanceNotFound => "The VM that it keeps room for has not been seen on any host yet.",
        Reason::VmSizeUnknown => "The VM that it keeps room for is there; nobody can say whether it has its new size.",
        Reason::VmSizeMismatch => "The VM that it keeps room for does not have its new size yet.",
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
    fn document_21_section_5_every_reason_of_a_slot_has_a_sentence_of_its_own() {
        let said = |reason: reservation::Reason| {
            let condition = ready_condition(Status::False, reason.as_str(), "", None, now());
            Told::of_slot(&condition).meaning
        };
        let all: BTreeSet<String> = reservation::Reason::ALL.iter().copied().map(said).collect();
        assert_eq!(all.len(), reservation::Reason::ALL.len());
        assert!(all.iter().all(|sentence| sentence.ends_with('.') && sentence != FOREIGN));
    }

    #[test]
    fn document_20_section_9_1_every_reason_of_a_commitment_has_a_sentence() {
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
            let told = Told::of_commitment(&ready_condition(Status::False, word, "", Some(3), now()), 3);
            assert!(told.meaning != FOREIGN && !told.outdated, "{word}");
        }
        let foreign = Told::of_commitment(&ready_condition(Status::False, "Odd", "", Some(2), now()), 3);
        assert!(foreign.meaning == FOREIGN && foreign.outdated);
    }

    #[test]
    fn lines_say_whether_it_is_ready_since_when_and_of_which_spec() {
        let condition = ready_condition(Status::False, "Rejected", "no room", Some(1), now());
        let later = "2026-03-01T14:00:00Z".parse().unwrap();
        let text = Told::lines(Some(&Told::of_commitment(&condition, 2)), later);
        let start = "NOT READY: Rejected, since 2026-03-01T12:00:00Z (2h 0m ago)\n  This was said of an older spec.\n  no room\n";
        assert!(text.starts_with(start), "{text}");
        assert_eq!(Told::lines(None, later), "NOT READY: nothing has been said about it yet\n");
    }
}
