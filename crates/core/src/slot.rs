//! A slot of a commitment as its planner sees it.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::host::ConditionStatus;
use crate::ids::{CommitmentUuid, DomainId, FlavorName, GroupName, HostName, ProjectId, SlotName, VmId, Zone};
use crate::units::{Bytes, Cores, Resources};

/// One Reservation of a commitment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    pub name: SlotName,
    pub commitment: CommitmentUuid,
    pub project: ProjectId,
    pub domain: DomainId,
    pub group: GroupName,
    pub zone: Zone,
    pub flavor: FlavorName,
    pub size: Resources,
    /// The wanted host; `None` while it waits for one.
    pub target_host: Option<HostName>,
    pub status_host: Option<HostName>,
    /// The VMs that are expected in it, with their sizes.
    pub expected: BTreeMap<VmId, Resources>,
    pub start: Option<Timestamp>,
    pub end: Option<Timestamp>,
    /// The generation of the commitment at the last write of ours; 0 when unset.
    pub parent_generation: i64,
    /// The generation that the reservation controller has processed; 0 when unset.
    pub observed_parent_generation: i64,
    /// True when the type label is there: without it other tools do not find the slot.
    pub labelled: bool,
    pub ready: Option<(ConditionStatus, String)>,
    /// In the waiting list of the scheduler: it was tried and nothing fits.
    pub waiting: bool,
    /// It has a deletion time: it no longer counts for its commitment, but its name is taken and its capacity blocked
    /// until its finalizers are removed.
    pub terminating: bool,
}

/// The report of a slot about the present generation of its commitment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GenerationVerdict {
    Ready,
    Failed,
    Pending,
}

/// Reasons of a False condition that mean: it cannot be placed. Every other False is pending.
const FINAL_REASONS: [&str; 3] = ["NoHostsFound", "NoHostsAvailable", "FlavorNotFound"];

impl Slot {
    pub fn used(&self) -> Bytes {
        self.expected.values().map(|vm| vm.memory.at_least_zero()).sum()
    }

    pub fn used_cores(&self) -> Cores {
        self.expected.values().map(|vm| vm.cpu.at_least_zero()).sum()
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

    /// The report of the slot about `generation` of its commitment. A slot that is Ready and placed counts for every
    /// generation, because a change that does not concern it does not write it. A failure counts only for its own
    /// generation, and ends when a host was found.
    pub fn generation_verdict(&self, generation: i64) -> GenerationVerdict {
        match &self.ready {
            Some((ConditionStatus::True, _)) if self.is_placed() => GenerationVerdict::Ready,
            _ if self.waiting && self.target_host.is_none() => GenerationVerdict::Failed,
            Some((ConditionStatus::False, reason))
                if self.target_host.is_none()
                    && self.observed_parent_generation == generation
                    && FINAL_REASONS.contains(&reason.as_str()) =>
            {
                GenerationVerdict::Failed
            }
            _ => GenerationVerdict::Pending,
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
    fn what_a_slot_reports_about_the_present_generation() {
        let at = |observed, status, reason: &str| Slot {
            observed_parent_generation: observed,
            ready: Some((status, reason.to_owned())),
            ..slot(0, "amber_s", (12, 4), if status == True { "h" } else { "-" }, &[])
        };
        assert_eq!(at(7, True, "ReservationActive").generation_verdict(7), GenerationVerdict::Ready);
        assert_eq!(at(6, False, "NoHostsFound").generation_verdict(7), GenerationVerdict::Pending);
        assert_eq!(at(7, False, "NoHostsFound").generation_verdict(7), GenerationVerdict::Failed);
        assert_eq!(at(7, Unknown, "SchedulerUnavailable").generation_verdict(7), GenerationVerdict::Pending);
        assert_eq!(at(6, True, "ReservationActive").generation_verdict(7), GenerationVerdict::Ready, "needs no write");
        assert_eq!(at(7, False, "PlacementRevoked").generation_verdict(7), GenerationVerdict::Pending);
        let found = Slot { target_host: Some("h".into()), ..at(7, False, "NoHostsFound") };
        assert_eq!(found.generation_verdict(7), GenerationVerdict::Pending, "the slot has a host by now");
        let moving = Slot { status_host: Some("other".into()), ..at(7, True, "ReservationActive") };
        assert_eq!(moving.generation_verdict(7), GenerationVerdict::Pending);
        let waiting = Slot { waiting: true, ..slot(0, "amber_s", (12, 4), "-", &[]) };
        assert_eq!(waiting.generation_verdict(7), GenerationVerdict::Failed);
        assert_eq!(slot(0, "amber_s", (12, 4), "-", &[]).generation_verdict(7), GenerationVerdict::Pending);
    }

    #[test]
    fn the_number_of_a_slot_is_the_end_of_its_name() {
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
