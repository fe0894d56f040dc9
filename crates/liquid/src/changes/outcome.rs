//! What became of a commitment that a change has written.

use berth_core::commitment::{Phase, Spec};
use berth_crds::conditions::commitment::{Reason, without_filters};
use berth_crds::{CommittedResource, conditions, facts};
use jiff::Timestamp;

/// The outcome of one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemOutcome {
    Waiting,
    Accepted,
    Rejected(String),
}

/// The outcome of a commitment with the spec that was written to it. One that holds nothing any more needs no decision, and
/// neither does one that holds at least as much already; what `was_over` has given its capacity back.
pub(crate) fn outcome(object: &CommittedResource, written: &Spec, was_over: bool, now: Timestamp) -> ItemOutcome {
    let conditions = object.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    let covers = facts::accepted_spec(object).is_some_and(|accepted| accepted.covers(written)) && !was_over;
    if written.phase(now) != Phase::Wanted || covers {
        return ItemOutcome::Accepted;
    }
    let Some(ready) = conditions::ready(conditions) else { return ItemOutcome::Waiting };
    if ready.observed_generation != object.metadata.generation {
        return ItemOutcome::Waiting;
    }
    match Reason::parse(&ready.reason) {
        _ if ready.status == conditions::Status::True.as_str() => ItemOutcome::Accepted,
        Some(Reason::Rejected) => ItemOutcome::Rejected(without_filters(&ready.message).to_owned()),
        Some(Reason::Planned | Reason::Inactive(_)) => ItemOutcome::Accepted,
        _ => ItemOutcome::Waiting,
    }
}

/// Whether the controller of commitments has decided about the present spec, whatever it decided.
pub(super) fn is_observed(object: &CommittedResource) -> bool {
    let conditions = object.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    conditions::ready(conditions).is_some_and(|ready| ready.observed_generation == object.metadata.generation)
}

/// Whether the controller of commitments has not come to an end with it, whatever keeps it.
pub(super) fn is_reserving(object: &CommittedResource) -> bool {
    let conditions = object.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    conditions::ready(conditions).is_some_and(|ready| Reason::parse(&ready.reason) == Some(Reason::Reserving))
}

#[cfg(test)]
mod tests {
    use berth_crds::conditions::{Status, ready_condition};
    use berth_crds::{CommitmentState, testing};

    use super::*;

    fn commitment(status: Status, reason: &str, observed: i64) -> CommittedResource {
        let mut object = testing::commitment("uuid-1", "480Gi");
        object.metadata.generation = Some(4);
        let condition = ready_condition(status, reason, "because", Some(observed), Timestamp::UNIX_EPOCH);
        object.status.get_or_insert_default().conditions = vec![condition];
        object
    }

    fn outcome_of(object: &CommittedResource) -> ItemOutcome {
        outcome(object, &facts::spec(object), false, Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn a_verdict_counts_only_for_the_written_generation() {
        assert_eq!(outcome_of(&commitment(Status::True, "Accepted", 4)), ItemOutcome::Accepted);
        assert_eq!(outcome_of(&commitment(Status::True, "Accepted", 3)), ItemOutcome::Waiting);
        assert_eq!(outcome_of(&commitment(Status::False, "Reserving", 4)), ItemOutcome::Waiting);
        let rejected = commitment(Status::False, "Rejected", 4);
        assert_eq!(outcome_of(&rejected), ItemOutcome::Rejected("because".to_owned()));
        assert_eq!(outcome_of(&commitment(Status::False, "Rejected", 3)), ItemOutcome::Waiting, "of an older spec");
    }

    #[test]
    fn a_commitment_that_holds_nothing_any_more_needs_no_verdict() {
        let mut object = commitment(Status::True, "Accepted", 1);
        object.spec.state = CommitmentState::Superseded;
        assert_eq!(outcome_of(&object), ItemOutcome::Accepted);
    }

    #[test]
    fn a_commitment_that_holds_as_much_already_needs_no_verdict() {
        let mut object = commitment(Status::True, "Accepted", 1);
        object.status.as_mut().unwrap().accepted_spec = Some(object.spec.clone());
        assert_eq!(outcome_of(&object), ItemOutcome::Accepted);
        let over = outcome(&object, &facts::spec(&object), true, Timestamp::UNIX_EPOCH);
        assert_eq!(over, ItemOutcome::Waiting, "it has given its capacity back");
        object.spec.amount = "960Gi".into();
        assert_eq!(outcome_of(&object), ItemOutcome::Waiting);
    }
}
