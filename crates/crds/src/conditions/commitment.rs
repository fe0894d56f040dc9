//! The condition Ready of a CommittedResource.

use std::fmt;

use crate::{CommitmentState, Condition};

/// Why a commitment is ready or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// `True`: the spec is in force.
    Accepted,
    /// `False`: the commitment has not begun.
    Planned,
    /// `False`: in progress, or tried again.
    Reserving,
    /// `False`: final for this generation.
    Rejected,
    /// `False`: the commitment holds nothing any more. The text is that of the state.
    Inactive(CommitmentState),
    /// `False`: the object is going away and its slots cannot all be released yet.
    Releasing,
    /// `False`: the zone routes to another cluster than the one that holds the object.
    WrongCluster,
    /// `False`: another object is served for this UUID.
    DuplicateUuid,
}

impl Reason {
    /// All reasons; of the states only two are written by us, the others by the system that Berth replaces.
    pub const ALL: [Self; 13] = {
        use CommitmentState::{Confirmed, Expired, Guaranteed, Pending, Planned, Superseded};
        [
            Self::Accepted,
            Self::Planned,
            Self::Reserving,
            Self::Rejected,
            Self::Releasing,
            Self::WrongCluster,
            Self::DuplicateUuid,
            Self::Inactive(Planned),
            Self::Inactive(Pending),
            Self::Inactive(Guaranteed),
            Self::Inactive(Confirmed),
            Self::Inactive(Superseded),
            Self::Inactive(Expired),
        ]
    };

    /// The text on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "Accepted",
            Self::Planned => "Planned",
            Self::Reserving => "Reserving",
            Self::Rejected => "Rejected",
            Self::Inactive(state) => state.as_str(),
            Self::Releasing => "Releasing",
            Self::WrongCluster => "WrongCluster",
            Self::DuplicateUuid => "DuplicateUUID",
        }
    }

    /// Reads the text on the wire; none for a reason that is not ours.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == text)
    }
}

/// The message of the condition. Its text is derived from this value, and no decision depends on the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// With [`Reason::Accepted`].
    Reserved,
    /// With [`Reason::Planned`].
    NotYetActive,
    /// With [`Reason::Inactive`].
    NoLongerActive,
    /// With [`Reason::Reserving`]: the plan succeeded, slots are still on their way.
    WaitingForPlacement,
    /// With [`Reason::Reserving`], while the disruption limit has stopped the plan for a spec that has no condition
    /// yet.
    HeldBack,
    /// With [`Reason::Reserving`], for a commitment that was paused before it had a condition.
    Paused,
    /// With [`Reason::Reserving`], for cores: there is no FlavorGroupCapacity.
    WaitingForCapacityData,
    /// With [`Reason::Reserving`], for cores: the FlavorGroupCapacity has no total for cores.
    WaitingForCpuCapacityData,
    /// Not all slots of a plan have free capacity.
    InsufficientCapacity {
        /// Slots that have.
        placed: usize,
        /// Slots of the plan.
        wanted: usize,
    },
    /// There are not enough cores.
    InsufficientCores {
        /// The free amount.
        available: i64,
        /// The requested amount.
        requested: i64,
    },
    /// With [`Reason::Releasing`]: a commitment that is going away may have slots in this cluster.
    WaitingForSlots {
        /// Its name.
        cluster: String,
    },
    /// With [`Reason::DuplicateUuid`].
    NotServed,
    /// With [`Reason::WrongCluster`].
    WrongCluster {
        /// The availability zone of the commitment.
        zone: String,
        /// Where it belongs.
        cluster: String,
    },
    /// Any other obstacle, in the words of its source.
    Other(String),
}

/// Beginning of [`Message::InsufficientCapacity`]; clients match on it.
pub const INSUFFICIENT_CAPACITY: &str = "insufficient capacity";

/// Beginning of [`Message::InsufficientCores`]; clients match on it.
pub const INSUFFICIENT_CORES: &str = "insufficient CPU cores";

/// The end of the fixed part of [`Message::InsufficientCapacity`].
const PLACED: &str = "reservation slots could be placed";

/// A message without the numbers per filter that may follow it: customers need not know how a cloud is built.
pub fn without_filters(message: &str) -> &str {
    message.find(PLACED).map_or(message, |at| &message[..at + PLACED.len()])
}

impl Message {
    /// Whether a condition that was read from an object has this message, with any detail.
    pub fn is_text_of(&self, condition: &Condition) -> bool {
        let rest = condition.message.strip_prefix(&self.to_string());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(": "))
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reserved => "commitment successfully reserved",
            Self::NotYetActive => "commitment is not yet active",
            Self::NoLongerActive => "commitment is no longer active",
            Self::WaitingForPlacement => "waiting for reservation placement",
            Self::HeldBack => "held back by the disruption limit",
            Self::Paused => "commitment is paused",
            Self::WaitingForCapacityData => "waiting for capacity data",
            Self::WaitingForCpuCapacityData => "waiting for CPU capacity data",
            Self::NotServed => "commitment is not served",
            Self::Other(text) => text,
            Self::InsufficientCapacity { placed, wanted } => {
                return write!(f, "{INSUFFICIENT_CAPACITY}: {placed}/{wanted} {PLACED}");
            }
            Self::InsufficientCores { available, requested } => {
                return write!(f, "{INSUFFICIENT_CORES}: {available} available, {requested} requested");
            }
            Self::WaitingForSlots { cluster } => return write!(f, "waiting for slots in cluster {cluster}"),
            Self::WrongCluster { zone, cluster } => {
                return write!(f, "availability zone {zone} belongs to cluster {cluster}");
            }
        })
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Self {
        Self::Other(text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reasons and texts are part of the API.
    #[test]
    fn reasons_and_messages() {
        for (reason, word, message, text) in [
            (Reason::Accepted, "Accepted", Message::Reserved, "commitment successfully reserved"),
            (Reason::Planned, "Planned", Message::NotYetActive, "commitment is not yet active"),
            (Reason::Reserving, "Reserving", Message::WaitingForPlacement, "waiting for reservation placement"),
            (Reason::Reserving, "Reserving", Message::WaitingForCapacityData, "waiting for capacity data"),
            (Reason::Reserving, "Reserving", Message::WaitingForCpuCapacityData, "waiting for CPU capacity data"),
            (
                Reason::Rejected,
                "Rejected",
                Message::InsufficientCapacity { placed: 1, wanted: 4 },
                "insufficient capacity: 1/4 reservation slots could be placed",
            ),
            (
                Reason::Rejected,
                "Rejected",
                Message::InsufficientCores { available: 10, requested: 64 },
                "insufficient CPU cores: 10 available, 64 requested",
            ),
            (
                Reason::Releasing,
                "Releasing",
                Message::WaitingForSlots { cluster: "eu-2".to_owned() },
                "waiting for slots in cluster eu-2",
            ),
            (
                Reason::Inactive(CommitmentState::Superseded),
                "superseded",
                Message::NoLongerActive,
                "commitment is no longer active",
            ),
        ] {
            assert_eq!((reason.as_str(), message.to_string().as_str()), (word, text));
        }
    }

    #[test]
    fn a_condition_reports_a_message_with_any_detail_and_no_longer_word() {
        let reported = |text: &str| {
            let condition = crate::conditions::ready_condition(
                crate::conditions::Status::False,
                "Reserving",
                text,
                None,
                jiff::Timestamp::UNIX_EPOCH,
            );
            Message::Paused.is_text_of(&condition)
        };
        assert!(reported("commitment is paused") && reported("commitment is paused: by hand"));
        assert!(!reported("commitment is paused!") && !reported("a commitment is paused") && !reported(""));
    }

    #[test]
    fn customers_read_no_numbers_of_filters() {
        let fixed = Message::InsufficientCapacity { placed: 8, wanted: 9 }.to_string();
        assert_eq!(without_filters(&format!("{fixed}: 24 hosts; zone 16, capacity 8")), fixed);
        assert_eq!(
            without_filters("insufficient CPU cores: 1 available, 2 requested"),
            "insufficient CPU cores: 1 available, 2 requested"
        );
    }

    #[test]
    fn reasons_are_those_that_limes_knows() {
        let words =
            ["Accepted", "Planned", "Reserving", "Rejected", "superseded", "expired", "confirmed", "DuplicateUUID"];
        for word in words {
            assert_eq!(Reason::parse(word).map(Reason::as_str), Some(word));
        }
        assert_eq!(
            Reason::parse("planned"),
            Some(Reason::Inactive(CommitmentState::Planned)),
            "not the reason Planned"
        );
        assert_eq!(Reason::parse("Other"), None);
    }
}
