//! What a plan says: where the commitment stands, and what has to change.

use berth_cluster::{Frozen, ObjectKey, Stopped, Whole};
use berth_core::commitment::State;
use berth_core::planner::{SlotPlan, Target};
use berth_core::{ClusterName, GroupName, SlotKey, SlotName, Zone};
use berth_crds::Reservation;
use berth_crds::conditions::commitment::Message;

use crate::facts::{Facts, Holding};
use crate::hindrance::Hindrance;
use crate::ledger::Claim;

/// What the look is about, and what it will do.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Where the commitment stands.
    pub course: Course,
    /// What the kept and new slots are to look like; absent when slots are only released.
    pub target: Option<Target>,
    /// What has to change where the slots belong; nothing without `whole`.
    pub slots: SlotPlan,
    /// Proof that all slots of that cluster are known.
    pub whole: Option<Whole<Reservation>>,
    /// Slots that are given up, wherever they are.
    pub leave: Vec<Leave>,
    /// What happens to the finalizer.
    pub finalizer: Finalizer,
}

/// A slot that is given up because its commitment holds nothing any more, or holds everything elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leave {
    /// The slot.
    pub name: SlotName,
    /// Proof that the slots of its cluster are all known.
    pub whole: Whole<Reservation>,
}

/// Where a commitment stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Course {
    /// It is left exactly as it is, whatever else is true of it.
    Frozen(Frozen),
    /// It begins later and holds nothing.
    Planned,
    /// It is over and holds nothing.
    Over(State),
    /// It is being deleted.
    Deleting,
    /// Another object with the same UUID is served.
    Duplicate(ObjectKey),
    /// It is in another cluster than its zone. Its slots stay as they are.
    WrongCluster(ClusterName),
    /// Its slots follow its spec.
    Reserve,
    /// Its spec was refused for good: its slots follow the accepted spec.
    RolledBack,
    /// It cannot have slots as it is. Nothing is done, and its author is told; a spec that makes no sense is rejected
    /// even where rejection is not allowed.
    Refused {
        /// What to change.
        text: String,
        /// Tried again instead of rejected.
        retry: bool,
        /// Flavor group and zone, when `maxSlotsPerCommitment` is what was exceeded.
        limit: Option<(GroupName, Zone)>,
    },
    /// What there is cannot be read completely; nothing is done, and what was said before stands.
    Unreadable(Hindrance),
    /// It would disturb too many slots that nobody wished to be disturbed; nothing is done.
    Braked(Stopped),
    /// Something is missing and cannot be had at the moment; nothing is done.
    Hindered(Hindrance),
    /// What was said about this generation stands.
    Settled,
    /// Cores: accepted if they are left.
    Count(Claim),
    /// Cores: it has what it wants, nobody has to be asked.
    Covered,
    /// Cores: nobody has said yet how many there are.
    NoCapacity {
        /// What is to be said.
        message: Message,
        /// What is missing.
        detail: String,
    },
}

/// What happens to the finalizer `reservations.cortex.cloud/release-slots`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Finalizer {
    /// Nothing.
    #[default]
    Leave,
    /// Added before anything else.
    Add,
    /// Removed after everything else.
    Remove,
}

impl Plan {
    pub(super) fn idle(course: Course) -> Self {
        let (slots, finalizer) = (SlotPlan::default(), Finalizer::Leave);
        Self { course, target: None, slots, whole: None, leave: Vec::new(), finalizer }
    }

    /// The key of a slot of this plan.
    pub fn key(&self, name: &SlotName) -> SlotKey {
        SlotKey::new(self.cluster(), name.clone())
    }

    /// Where the slots of this plan belong; the cluster `home` for a plan without any.
    pub fn cluster(&self) -> ClusterName {
        self.whole.as_ref().map_or_else(ClusterName::home, |whole| whole.cluster().clone())
    }

    /// True when there is nothing to do besides the report.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty() && self.leave.is_empty() && self.finalizer == Finalizer::Leave
    }
}

pub(super) fn leave_all(facts: &Facts) -> Vec<Leave> {
    facts.holdings.values().flat_map(leave).collect()
}

/// Not those in another cluster that are left to another object with the UUID.
pub(super) fn leave_own(facts: &Facts) -> Vec<Leave> {
    let own = facts.holdings.iter().filter(|(cluster, holding)| **cluster == facts.cluster || !holding.shared);
    own.flat_map(|(_, holding)| leave(holding)).collect()
}

pub(super) fn leave(holding: &Holding) -> Vec<Leave> {
    let Ok(whole) = &holding.read else { return Vec::new() };
    let staying = holding.slots.iter().filter(|slot| !slot.terminating);
    staying.map(|slot| Leave { name: slot.name.clone(), whole: whole.clone() }).collect()
}
