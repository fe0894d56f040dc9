//! The condition Ready of a CommittedResource (document 10 section 2.5; decisions D1, U14 and U37).

use crate::CommitmentState;

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

/// Message of [`Reason::Accepted`].
pub const RESERVED: &str = "commitment successfully reserved";

/// Message of [`Reason::Planned`].
pub const NOT_YET_ACTIVE: &str = "commitment is not yet active";

/// Beginning of the message of [`Reason::DuplicateUuid`].
pub const NOT_SERVED: &str = "commitment is not served";

/// Beginning of the message of [`Reason::WrongCluster`].
pub const WRONG_CLUSTER: &str = "availability zone";

/// Message of [`Reason::Inactive`].
pub const NO_LONGER_ACTIVE: &str = "commitment is no longer active";

/// Message of [`Reason::Reserving`]: the plan succeeded, slots are still on their way.
pub const WAITING_FOR_PLACEMENT: &str = "waiting for reservation placement";

/// Message of [`Reason::Reserving`] while the brake has stopped the plan for a spec of which nothing was said yet.
pub const HELD_BACK: &str = "held back by the brake";

/// Message of [`Reason::Reserving`] of a commitment that was frozen before anything was said about it.
pub const IS_FROZEN: &str = "commitment is frozen";

/// Message of [`Reason::Reserving`] for cores: there is no FlavorGroupCapacity.
pub const WAITING_FOR_CAPACITY_DATA: &str = "waiting for capacity data";

/// Message of [`Reason::Reserving`] for cores: the FlavorGroupCapacity has no total for cores.
pub const WAITING_FOR_CPU_CAPACITY_DATA: &str = "waiting for CPU capacity data";

/// Beginning of [`insufficient_capacity`]; clients match on it.
pub const INSUFFICIENT_CAPACITY: &str = "insufficient capacity";

/// Beginning of [`insufficient_cores`]; clients match on it.
pub const INSUFFICIENT_CORES: &str = "insufficient CPU cores";

/// Message when `wanted` slots of a plan do not all have room.
pub fn insufficient_capacity(placed: usize, wanted: usize) -> String {
    format!("{INSUFFICIENT_CAPACITY}: {placed}/{wanted} reservation slots could be placed")
}

/// Message when there are not enough cores.
pub fn insufficient_cores(available: i64, requested: i64) -> String {
    format!("{INSUFFICIENT_CORES}: {available} available, {requested} requested")
}

/// Message while a commitment that is going away may have slots in a cluster that cannot be read.
pub fn waiting_for_slots(cluster: &str) -> String {
    format!("waiting for slots in cluster {cluster}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reasons and texts are on the wire; those with numbers are in the test below.
    #[test]
    fn document_20_section_9_1_reasons_and_messages() {
        for (reason, word, message, text) in [
            (Reason::Accepted, "Accepted", RESERVED, "commitment successfully reserved"),
            (Reason::Planned, "Planned", NOT_YET_ACTIVE, "commitment is not yet active"),
            (Reason::Reserving, "Reserving", WAITING_FOR_PLACEMENT, "waiting for reservation placement"),
            (Reason::Reserving, "Reserving", WAITING_FOR_CAPACITY_DATA, "waiting for capacity data"),
            (Reason::Reserving, "Reserving", WAITING_FOR_CPU_CAPACITY_DATA, "waiting for CPU capacity data"),
            (Reason::Rejected, "Rejected", INSUFFICIENT_CAPACITY, "insufficient capacity"),
            (Reason::Rejected, "Rejected", INSUFFICIENT_CORES, "insufficient CPU cores"),
            (
                Reason::Inactive(CommitmentState::Superseded),
                "superseded",
                NO_LONGER_ACTIVE,
                "commitment is no longer active",
            ),
        ] {
            assert_eq!((reason.as_str(), message), (word, text));
        }
    }

    #[test]
    fn reasons_are_the_words_of_document_10() {
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

    #[test]
    fn texts_with_numbers() {
        assert_eq!(insufficient_capacity(1, 4), "insufficient capacity: 1/4 reservation slots could be placed");
        assert_eq!(insufficient_cores(10, 64), "insufficient CPU cores: 10 available, 64 requested");
        assert_eq!(waiting_for_slots("eu-2"), "waiting for slots in cluster eu-2");
    }
}
