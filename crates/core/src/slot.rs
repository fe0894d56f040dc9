//! A slot of a commitment as its planner sees it.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::host::ConditionStatus;
use crate::ids::{CommitmentUuid, DomainId, FlavorName, GroupName, HostName, ProjectId, SlotName, VmId, Zone};
use crate::units::{Bytes, Resources};

/// One Reservation of a commitment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Its object name, `<commitment object>-<number>`.
    pub name: SlotName,
    /// The commitment that it names.
    pub commitment: CommitmentUuid,
    /// The project that may use it.
    pub project: ProjectId,
    /// The domain of the project.
    pub domain: DomainId,
    /// The flavor group.
    pub group: GroupName,
    /// The zone.
    pub zone: Zone,
    /// The flavor that gave it its shape.
    pub flavor: FlavorName,
    /// Its size.
    pub size: Resources,
    /// The wanted host; `None` while it waits for one.
    pub target_host: Option<HostName>,
    /// The host where it is in force.
    pub status_host: Option<HostName>,
    /// The VMs that are expected in it, with their sizes.
    pub expected: BTreeMap<VmId, Resources>,
    /// Copy of the commitment's start.
    pub start: Option<Timestamp>,
    /// Copy of the commitment's end.
    pub end: Option<Timestamp>,
    /// The generation of the commitment at the last write of ours; 0 when unset.
    pub parent_generation: i64,
    /// The generation that the reservation controller has processed; 0 when unset.
    pub observed_parent_generation: i64,
    /// True when the type label is there: without it other tools do not find the slot.
    pub labelled: bool,
    /// Its Ready condition.
    pub ready: Option<(ConditionStatus, String)>,
    /// In the waiting list of the scheduler: it was tried and nothing fits.
    pub waiting: bool,
    /// It has a deletion time: it holds nothing for its commitment any more, but its name is taken and its room blocked
    /// until its finalizers are gone.
    pub terminating: bool,
}

/// What a slot says about the present generation of its commitment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Placed and in force.
    Ready,
    /// It was tried and cannot be placed.
    Failed,
    /// Not decided yet.
    Pending,
}

/// Reasons of a False condition that mean: it cannot be placed. Every other False is pending.
const FINAL_REASONS: [&str; 3] = ["NoHostsFound", "NoHostsAvailable", "FlavorNotFound"];

impl Slot {
    /// Memory that its VMs use.
    pub fn used(&self) -> Bytes {
        self.expected.values().map(|vm| vm.memory.at_least_zero()).sum()
    }

    /// True when a host is wanted and reached.
    pub fn is_placed(&self) -> bool {
        self.target_host.is_some() && self.target_host == self.status_host
    }

    /// True when its Ready condition is True.
    pub fn is_ready(&self) -> bool {
        matches!(self.ready, Some((ConditionStatus::True, _)))
    }

    /// True when it is Ready on the host that it names.
    pub fn is_in_force(&self) -> bool {
        self.is_ready() && self.is_placed()
    }

    /// What it says about `generation` of its commitment. A slot that is Ready and placed counts whatever generation
    /// it echoes, because a change that leaves it alone does not write it; a failure must be of this generation, and is
    /// past once a host was found.
    pub fn standing(&self, generation: i64) -> Standing {
        match &self.ready {
            Some((ConditionStatus::True, _)) if self.is_placed() => Standing::Ready,
            _ if self.waiting && self.target_host.is_none() => Standing::Failed,
            Some((ConditionStatus::False, reason))
                if self.target_host.is_none()
                    && self.observed_parent_generation == generation
                    && FINAL_REASONS.contains(&reason.as_str()) =>
            {
                Standing::Failed
            }
            _ => Standing::Pending,
        }
    }
}

/// The number of a slot: what follows the known prefix of its commitment.
pub fn number(name: &SlotName, prefix: &str) -> Option<u64> {
    let digits = name.as_str().strip_prefix(prefix)?;
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::ConditionStatus::{False, True, Unknown};
    use crate::testing::slot;

    #[test]
    fn document_20_section_7_3_examples_with_u38_and_u45() {
        let at = |observed, status, reason: &str| Slot {
            observed_parent_generation: observed,
            ready: Some((status, reason.to_owned())),
            ..slot(0, "amber_s", (12, 4), if status == True { "h" } else { "-" }, &[])
        };
        assert_eq!(at(7, True, "ReservationActive").standing(7), Standing::Ready);
        assert_eq!(at(6, False, "NoHostsFound").standing(7), Standing::Pending);
        assert_eq!(at(7, False, "NoHostsFound").standing(7), Standing::Failed);
        assert_eq!(at(7, Unknown, "SchedulerUnavailable").standing(7), Standing::Pending);
        assert_eq!(at(6, True, "ReservationActive").standing(7), Standing::Ready, "U38: needs no write");
        assert_eq!(at(7, False, "PlacementRevoked").standing(7), Standing::Pending, "U45");
        let found = Slot { target_host: Some("h".into()), ..at(7, False, "NoHostsFound") };
        assert_eq!(found.standing(7), Standing::Pending, "it has a host by now");
        let moving = Slot { status_host: Some("other".into()), ..at(7, True, "ReservationActive") };
        assert_eq!(moving.standing(7), Standing::Pending);
        let waiting = Slot { waiting: true, ..slot(0, "amber_s", (12, 4), "-", &[]) };
        assert_eq!(waiting.standing(7), Standing::Failed, "U45");
        assert_eq!(slot(0, "amber_s", (12, 4), "-", &[]).standing(7), Standing::Pending);
    }

    #[test]
    fn document_20_section_12_8_slot_numbers() {
        for (name, prefix, expected) in [
            ("commitment-u-0", "commitment-u-", Some(0)),
            ("commitment-u-17", "commitment-u-", Some(17)),
            ("cr1-0", "cr1-", Some(0)),
            ("commitment-u-x", "commitment-u-", None),
            ("commitment-u-", "commitment-u-", None),
            ("commitment-u-+1", "commitment-u-", None),
            ("commitment-v-1", "commitment-u-", None),
        ] {
            assert_eq!(number(&name.into(), prefix), expected, "{name}");
        }
    }
}
