//! The spec of a commitment, and its phase.

use std::fmt;

use jiff::Timestamp;
use thiserror::Error;

use crate::ids::{CommitmentUuid, DomainId, GroupName, ProjectId, Zone};
use crate::quantity::Quantity;
use crate::units::{Bytes, Cores};

/// `spec.resourceType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceType {
    Memory,
    Cores,
}

/// `spec.state`: the lifecycle state that Limes gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Planned,
    Pending,
    Guaranteed,
    Confirmed,
    Superseded,
    Expired,
}

impl State {
    /// Reads the word of Limes and of `spec.state`.
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "planned" => Self::Planned,
            "pending" => Self::Pending,
            "guaranteed" => Self::Guaranteed,
            "confirmed" => Self::Confirmed,
            "superseded" => Self::Superseded,
            "expired" => Self::Expired,
            _ => return None,
        })
    }

    /// Whether a commitment in this state holds its amount, until it ends.
    pub fn holds_amount(self) -> bool {
        matches!(self, Self::Pending | Self::Guaranteed | Self::Confirmed)
    }
}

impl fmt::Display for ResourceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Memory => "memory",
            Self::Cores => "cores",
        })
    }
}

/// The spec of a CommittedResource, wanted or accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    pub uuid: CommitmentUuid,
    pub group: GroupName,
    pub resource: ResourceType,
    pub amount: Quantity,
    pub zone: Zone,
    pub project: ProjectId,
    /// The domain of the project; may be empty.
    pub domain: DomainId,
    pub start: Option<Timestamp>,
    /// Copied into the slots; the commitment ends then.
    pub end: Option<Timestamp>,
    pub state: State,
    /// A failure may be answered with a rejection.
    pub allow_rejection: bool,
}

/// A spec that no slots can be planned for, in words for its author.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SpecError {
    /// The UUID cannot be part of slot names.
    #[error(
        "unexpected commitment format: spec.commitmentUUID is {0:?}, it must have 6 to 40 characters of a-z, A-Z, 0-9 and \"-\""
    )]
    Uuid(CommitmentUuid),
    #[error("unexpected commitment format: spec.amount is {0}, it must not be negative")]
    Negative(Quantity),
    #[error("unexpected commitment format: spec.{0} must not be empty")]
    Empty(&'static str),
}

/// The phase of a commitment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Planned,
    Wanted,
    Ended(State),
}

impl Spec {
    /// Memory wanted, rounded up to whole MiB; zero for a negative amount.
    pub fn memory(&self) -> Bytes {
        Bytes::new(self.amount.round_up()).at_least_zero().up_to_mib()
    }

    /// Cores wanted, rounded up to whole ones; zero for a negative amount.
    pub fn cores(&self) -> Cores {
        Cores::new(self.amount.round_up()).at_least_zero()
    }

    /// Checks what admission may have let through in older times.
    pub fn validate(&self) -> Result<(), SpecError> {
        let uuid = self.uuid.as_str();
        let plain = uuid.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        if !plain || !(6..=40).contains(&uuid.len()) {
            return Err(SpecError::Uuid(self.uuid.clone()));
        }
        if self.amount.is_negative() {
            return Err(SpecError::Negative(self.amount));
        }
        let names = [
            ("flavorGroupName", self.group.as_str()),
            ("availabilityZone", self.zone.as_str()),
            ("projectID", self.project.as_str()),
        ];
        names.iter().find(|(_, name)| name.is_empty()).map_or(Ok(()), |(field, _)| Err(SpecError::Empty(field)))
    }

    /// The phase at `now`. A commitment ends at its end time in any state, because Limes may report the old state for a
    /// while.
    pub fn phase(&self, now: Timestamp) -> Phase {
        if self.end.is_some_and(|end| end < now) {
            return Phase::Ended(State::Expired);
        }
        match self.state {
            State::Planned => Phase::Planned,
            State::Pending | State::Guaranteed | State::Confirmed => Phase::Wanted,
            State::Superseded | State::Expired => Phase::Ended(self.state),
        }
    }

    /// True if this accepted spec has at least the amount of `wanted` in the same group, zone and project: then a
    /// failure no longer rejects.
    pub fn covers(&self, wanted: &Self) -> bool {
        self.resource == wanted.resource
            && self.amount >= wanted.amount
            && (&self.group, &self.zone, &self.project) == (&wanted.group, &wanted.zone, &wanted.project)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{at, spec};

    #[test]
    fn phases_follow_state_and_time() {
        for (state, end, phase) in [
            (State::Planned, None, Phase::Planned),
            (State::Pending, None, Phase::Wanted),
            (State::Guaranteed, Some(1), Phase::Wanted),
            (State::Confirmed, Some(0), Phase::Wanted),
            (State::Confirmed, Some(-1), Phase::Ended(State::Expired)),
            (State::Superseded, None, Phase::Ended(State::Superseded)),
            (State::Superseded, Some(-1), Phase::Ended(State::Expired)),
            (State::Expired, None, Phase::Ended(State::Expired)),
        ] {
            let spec = Spec { state, end: end.map(at), ..spec("1Gi") };
            assert_eq!(spec.phase(at(0)), phase, "{state:?} {end:?}");
        }
    }

    #[test]
    fn amounts_are_rounded_up_to_mib() {
        for (amount, mib) in [("0", 0), ("1", 1), ("1Mi", 1), ("1048577", 2), ("1.5Gi", 1536), ("-5Gi", 0)] {
            assert_eq!(spec(amount).memory(), Bytes::from_mib(mib), "{amount}");
        }
    }

    #[test]
    fn amounts_of_cores_are_rounded_up_to_whole_ones() {
        for (amount, cores) in [("0", 0), ("40", 40), ("500m", 1), ("2.1", 3), ("1k", 1000), ("-5", 0)] {
            assert_eq!(spec(amount).cores(), Cores::new(cores), "{amount}");
        }
    }

    #[test]
    fn an_accepted_spec_covers_less_of_the_same() {
        let accepted = spec("60Gi");
        assert!(accepted.covers(&spec("60Gi")) && accepted.covers(&spec("30Gi")));
        assert!(!accepted.covers(&spec("61Gi")));
        assert!(!accepted.covers(&Spec { zone: "az-b".into(), ..spec("1Gi") }));
        assert!(!accepted.covers(&Spec { project: "other".into(), ..spec("1Gi") }));
    }

    #[test]
    fn errors_name_the_field_and_what_is_expected() {
        let with = |change: fn(&mut Spec)| {
            let mut spec = spec("1Gi");
            change(&mut spec);
            spec.validate().map_err(|error| error.to_string())
        };
        assert_eq!(with(|_| ()), Ok(()));
        for (change, part) in [
            ((|s: &mut Spec| s.uuid = "no".into()) as fn(&mut Spec), "spec.commitmentUUID is \"no\""),
            (|s| s.uuid = "with space".into(), "6 to 40 characters"),
            (|s| s.amount = Quantity::from_units(-1), "spec.amount is -1, it must not be negative"),
            (|s| s.project = "".into(), "spec.projectID must not be empty"),
        ] {
            let text = with(change).unwrap_err();
            assert!(text.starts_with("unexpected commitment format") && text.contains(part), "{text}");
        }
    }
}
