//! Turns a commitment as Limes has it into the spec that Berth keeps.

use jiff::Timestamp;

use crate::commitment::{ResourceType, Spec, State};
use crate::ids::{CommitmentUuid, DomainId, GroupName, ProjectId, Zone};
use crate::quantity::Quantity;

/// A commitment as Limes has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimesCommitment {
    pub uuid: CommitmentUuid,
    pub group: GroupName,
    pub resource: ResourceType,
    /// The whole amount, whether or not the commitment is in force; see [`committed_amount`](super::units::committed_amount).
    pub amount: Quantity,
    pub zone: Zone,
    pub project: ProjectId,
    /// May be empty.
    pub domain: DomainId,
    pub status: State,
    pub start: Start,
    pub expires_at: Option<Timestamp>,
}

/// When an active commitment starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Then, also if another time is stored.
    At(Timestamp),
    /// As stored if the stored commitment is active, otherwise then: repeating a request does not move the start.
    UnlessStored(Timestamp),
}

impl Start {
    /// The start that a request gives: the time of its confirmation, or now.
    pub fn requested(confirm_by: Option<Timestamp>, now: Timestamp) -> Self {
        confirm_by.map_or(Self::UnlessStored(now), Self::At)
    }

    /// The start of a commitment that Limes lists.
    pub fn listed(confirmed_at: Option<Timestamp>, created_at: Timestamp) -> Self {
        Self::UnlessStored(confirmed_at.unwrap_or(created_at))
    }

    fn of(self, stored: Option<Timestamp>) -> Timestamp {
        match self {
            Self::At(time) => time,
            Self::UnlessStored(time) => stored.unwrap_or(time),
        }
    }
}

/// The spec of the commitment. Nothing is held for one that is planned, superseded or over, whatever its amount in Limes.
/// The same commitment gives the same spec again, as long as no end passes in between.
pub fn convert(commitment: &LimesCommitment, existing: Option<&Spec>, now: Timestamp, allow_rejection: bool) -> Spec {
    let is_active = commitment.status.holds_amount();
    let end = commitment.expires_at.map(whole_second);
    let is_over = end.is_some_and(|end| end <= now);
    let stored = existing.filter(|spec| spec.state.holds_amount()).and_then(|spec| spec.start);
    Spec {
        uuid: commitment.uuid.clone(),
        group: commitment.group.clone(),
        resource: commitment.resource,
        amount: if is_active && !is_over { commitment.amount } else { Quantity::ZERO },
        zone: commitment.zone.clone(),
        project: commitment.project.clone(),
        domain: commitment.domain.clone(),
        start: is_active.then(|| whole_second(commitment.start.of(stored))),
        end,
        state: commitment.status,
        allow_rejection,
    }
}

/// What a commitment becomes that is deleted only after others have taken its capacity.
pub fn superseded(spec: &Spec) -> Spec {
    Spec { state: State::Superseded, amount: Quantity::ZERO, start: None, ..spec.clone() }
}

/// Objects keep times with a resolution of one second.
fn whole_second(time: Timestamp) -> Timestamp {
    let second = time.as_second() - i64::from(time.subsec_nanosecond() < 0);
    Timestamp::from_second(second).unwrap_or(time)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::testing::{at, spec};

    const STATES: [State; 6] =
        [State::Planned, State::Pending, State::Guaranteed, State::Confirmed, State::Superseded, State::Expired];

    fn commitment(status: State) -> LimesCommitment {
        LimesCommitment {
            uuid: "uuid-1".into(),
            group: "amber".into(),
            resource: ResourceType::Memory,
            amount: Quantity::parse("960Gi").unwrap(),
            zone: "az-a".into(),
            project: "project".into(),
            domain: "domain".into(),
            status,
            start: Start::requested(None, at(0)),
            expires_at: Some(at(100)),
        }
    }

    fn converted(status: State, existing: Option<&Spec>) -> Spec {
        convert(&commitment(status), existing, at(0), false)
    }

    #[test]
    fn only_active_commitments_have_an_amount_and_a_start() {
        for status in STATES {
            let spec = converted(status, None);
            let is_active = matches!(status, State::Pending | State::Guaranteed | State::Confirmed);
            let (amount, start) = if is_active { ("960Gi", Some(at(0))) } else { ("0", None) };
            assert_eq!((spec.amount, spec.start), (Quantity::parse(amount).unwrap(), start), "{status:?}");
            assert_eq!((spec.state, spec.end), (status, Some(at(100))));
        }
    }

    #[test]
    fn a_commitment_that_is_over_holds_nothing_in_any_state() {
        for (end, amount) in [(-1, "0"), (0, "0"), (1, "960Gi")] {
            let commitment = LimesCommitment { expires_at: Some(at(end)), ..commitment(State::Confirmed) };
            let spec = convert(&commitment, None, at(0), false);
            assert_eq!((spec.amount, spec.start), (Quantity::parse(amount).unwrap(), Some(at(0))), "{end}");
        }
    }

    #[test]
    fn the_stored_start_of_an_active_commitment_stays() {
        for (state, start, expected) in [
            (State::Confirmed, Some(at(-50)), at(-50)),
            (State::Pending, Some(at(-50)), at(-50)),
            (State::Planned, Some(at(-50)), at(0)),
            (State::Superseded, Some(at(-50)), at(0)),
            (State::Confirmed, None, at(0)),
        ] {
            let existing = Spec { start, state, ..spec("1Gi") };
            assert_eq!(converted(State::Confirmed, Some(&existing)).start, Some(expected), "{state:?}");
        }
    }

    #[test]
    fn a_time_of_confirmation_replaces_the_stored_start() {
        let existing = Spec { start: Some(at(-50)), ..spec("1Gi") };
        let confirmed = LimesCommitment { start: Start::requested(Some(at(7)), at(0)), ..commitment(State::Confirmed) };
        assert_eq!(convert(&confirmed, Some(&existing), at(0), true).start, Some(at(7)));
    }

    #[test]
    fn a_listed_commitment_starts_when_it_was_confirmed_or_created() {
        for (confirmed_at, start) in [(Some(at(3)), at(3)), (None, at(1))] {
            let listed = LimesCommitment { start: Start::listed(confirmed_at, at(1)), ..commitment(State::Confirmed) };
            assert_eq!(convert(&listed, None, at(9), false).start, Some(start));
            let existing = Spec { start: Some(at(2)), ..spec("1Gi") };
            assert_eq!(convert(&listed, Some(&existing), at(9), false).start, Some(at(2)), "stored by a request");
        }
    }

    #[test]
    fn times_have_a_resolution_of_one_second() {
        let half = Duration::from_millis(500);
        let commitment = LimesCommitment {
            start: Start::At(at(1) + half),
            expires_at: Some(at(9) + half),
            ..commitment(State::Confirmed)
        };
        let spec = convert(&commitment, None, at(0), false);
        assert_eq!((spec.start, spec.end), (Some(at(1)), Some(at(9))));
        let early = Timestamp::from_second(-2).unwrap() + half;
        assert_eq!(whole_second(early).as_second(), -2, "also before 1970");
        assert_eq!(whole_second(Timestamp::MAX).subsec_nanosecond(), 0);
    }

    #[test]
    fn a_superseded_commitment_keeps_its_end_and_holds_nothing() {
        let existing = Spec { start: Some(at(-50)), end: Some(at(100)), ..spec("960Gi") };
        let superseded = superseded(&existing);
        assert_eq!(superseded, converted_with(&existing));
    }

    fn converted_with(existing: &Spec) -> Spec {
        convert(&commitment(State::Superseded), Some(existing), at(0), existing.allow_rejection)
    }

    prop_compose! {
        fn times()(second in -1000_i64..1000, nanosecond in 0..1_000_000_000_u64) -> Timestamp {
            at(second) + Duration::from_nanos(nanosecond)
        }
    }

    prop_compose! {
        fn commitments()(
            status in prop::sample::select(STATES.to_vec()),
            confirm_by in prop::option::of(times()),
            expires_at in prop::option::of(times()),
            (is_listed, now) in (any::<bool>(), times()),
        ) -> (LimesCommitment, Timestamp) {
            let start = if is_listed { Start::listed(confirm_by, now) } else { Start::requested(confirm_by, now) };
            (LimesCommitment { start, expires_at, ..commitment(status) }, now)
        }
    }

    proptest! {
        #[test]
        fn repeating_an_applied_request_changes_nothing(
            (commitment, now) in commitments(),
            stored in prop::option::of((prop::sample::select(STATES.to_vec()), prop::option::of(times()))),
            later in 0..1000_u64,
            allow_rejection in any::<bool>(),
        ) {
            let stored = stored.map(|(state, start)| Spec { start, state, ..spec("1Gi") });
            let applied = convert(&commitment, stored.as_ref(), now, allow_rejection);
            let later = now + Duration::from_secs(later);
            let repeated = match commitment.start {
                Start::UnlessStored(_) => LimesCommitment { start: Start::UnlessStored(later), ..commitment.clone() },
                Start::At(_) => commitment.clone(),
            };
            let again = convert(&repeated, Some(&applied), later, allow_rejection);
            let ends_between = applied.end.is_some_and(|end| end > now && end <= later);
            prop_assert!(ends_between || again == applied, "{again:?} {applied:?}");
            let ended = Spec { amount: Quantity::ZERO, ..applied.clone() };
            prop_assert!(!ends_between || again == ended, "only the amount changes at the end");
        }

        #[test]
        fn a_spec_holds_an_amount_only_while_it_is_wanted((commitment, now) in commitments()) {
            let spec = convert(&commitment, None, now, false);
            prop_assert!(spec.amount == Quantity::ZERO || spec.phase(now) == crate::commitment::Phase::Wanted);
            prop_assert_eq!(spec.start.is_some(), commitment.status.holds_amount());
        }
    }
}
