//! Which commitments their controller has planned as they are now. Until then it is not known which of their slots are
//! still wanted, for example after a change while no process led, so these slots get no host.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use berth_core::{CommitmentUuid, SlotKey};

use crate::SlotRequest;

/// The commitments that count; the slots of others wait for no plan.
#[derive(Debug, Default)]
pub(super) struct PlannedCommitments {
    by_uuid: BTreeMap<CommitmentUuid, Plans>,
}

/// The generations of the objects with one UUID, by their UIDs.
#[derive(Debug, Default)]
struct Plans {
    present: BTreeMap<String, i64>,
    planned: BTreeMap<String, i64>,
    /// Slots that have asked for a host or were passed over.
    waiting: BTreeSet<SlotKey>,
}

impl Plans {
    fn are_complete(&self) -> bool {
        self.present.iter().all(|(uid, generation)| self.planned.get(uid) >= Some(generation))
    }

    /// The slots that can get a host from now on.
    fn take_ready(&mut self) -> BTreeSet<SlotKey> {
        if self.are_complete() { mem::take(&mut self.waiting) } else { BTreeSet::new() }
    }
}

impl PlannedCommitments {
    /// False for a slot that has to wait: it is enqueued when its commitment has been planned.
    pub(super) fn admits(&mut self, slot: &SlotRequest) -> bool {
        let plans = self.by_uuid.get_mut(&slot.rank.commitment).filter(|plans| !plans.are_complete());
        plans.is_none_or(|plans| {
            plans.waiting.insert(slot.key.clone());
            false
        })
    }

    /// The objects with this UUID are these now. Returns the slots that can get a host.
    pub(super) fn show(&mut self, uuid: &CommitmentUuid, present: BTreeMap<String, i64>) -> BTreeSet<SlotKey> {
        if present.is_empty() {
            return self.by_uuid.remove(uuid).map(|plans| plans.waiting).unwrap_or_default();
        }
        let plans = self.by_uuid.entry(uuid.clone()).or_default();
        plans.planned.retain(|uid, _| present.contains_key(uid));
        plans.present = present;
        plans.take_ready()
    }

    /// The object with this UID was planned. Returns the slots that can get a host.
    pub(super) fn note(&mut self, uuid: &CommitmentUuid, object: &str, generation: i64) -> BTreeSet<SlotKey> {
        let Some(plans) = self.by_uuid.get_mut(uuid) else { return BTreeSet::new() };
        plans.planned.insert(object.to_owned(), generation);
        plans.take_ready()
    }
}
