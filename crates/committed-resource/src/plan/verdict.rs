//! The result of a plan: the verdict on the commitment, and the changes.

use berth_cluster::{CompletenessProof, ObjectKey, PauseCause, Stopped};
use berth_core::commitment::State;
use berth_core::planner::{SlotPlan, Target};
use berth_core::{ClusterName, GroupName, SlotKey, SlotName, Zone};
use berth_crds::Reservation;
use berth_crds::conditions::commitment::Message;

use crate::block_reason::BlockReason;
use crate::facts::{CommitmentFacts, Holding};
use crate::ledger::CoresClaim;

/// The verdict of a reconciliation, and its changes.
#[derive(Clone, Debug, PartialEq)]
pub struct CommitmentPlan {
    pub verdict: Verdict,
    /// The target of kept and new slots; `None` if slots are only released.
    pub target: Option<Target>,
    /// The changes in the cluster of the zone; empty without `proof`.
    pub slots: SlotPlan,
    /// Proof that all slots of that cluster are known.
    pub proof: Option<CompletenessProof<Reservation>>,
    /// Slots that are given up, wherever they are.
    pub leave: Vec<ReleasedSlot>,
    pub finalizer: Finalizer,
}

/// A slot that is given up because its commitment holds nothing any more, or holds everything elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleasedSlot {
    pub name: SlotName,
    /// Proof that the slots of its cluster are all known.
    pub proof: CompletenessProof<Reservation>,
}

/// The verdict about a commitment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is left exactly as it is, whatever else is true of it.
    Paused(PauseCause),
    Planned,
    Over(State),
    Deleting,
    /// Another object with the same UUID is served.
    Duplicate(ObjectKey),
    /// It is in another cluster than its zone. Its slots stay as they are.
    WrongCluster(ClusterName),
    Reserve,
    /// Its spec was refused for good: its slots follow the accepted spec.
    RolledBack,
    /// The commitment cannot have slots with this spec. Nothing is changed, and the condition reports the reason. An
    /// invalid spec is rejected even where rejection is not allowed.
    Refused {
        text: String,
        retry: bool,
        /// Flavor group and zone, if `maxSlotsPerCommitment` was exceeded.
        limit: Option<(GroupName, Zone)>,
    },
    /// The slots cannot be read completely; nothing is changed, and the accepted spec stays.
    Unreadable(BlockReason),
    /// It would disrupt too many slots although no user asked for it; nothing is done.
    DisruptionLimited(Stopped),
    /// Something is missing and cannot be had at the moment; nothing is done.
    Blocked(BlockReason),
    Settled,
    Count(CoresClaim),
    /// Cores: it has its desired amount, and needs no decision.
    Covered,
    /// Cores: the total is unknown.
    NoCapacity {
        message: Message,
        detail: String,
    },
}

/// The change of the finalizer `reservations.cortex.cloud/release-slots`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Finalizer {
    #[default]
    Leave,
    Add,
    Remove,
}

impl CommitmentPlan {
    pub(super) fn idle(verdict: Verdict) -> Self {
        let (slots, finalizer) = (SlotPlan::default(), Finalizer::Leave);
        Self { verdict, target: None, slots, proof: None, leave: Vec::new(), finalizer }
    }

    /// The key of a slot of this plan.
    pub fn key(&self, name: &SlotName) -> SlotKey {
        SlotKey::new(self.cluster(), name.clone())
    }

    /// Where the slots of this plan belong; the cluster `home` for a plan without any.
    pub fn cluster(&self) -> ClusterName {
        self.proof.as_ref().map_or_else(ClusterName::home, |proof| proof.cluster().clone())
    }

    /// True when there is nothing to do besides the report.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty() && self.leave.is_empty() && self.finalizer == Finalizer::Leave
    }
}

pub(super) fn leave_all(facts: &CommitmentFacts) -> Vec<ReleasedSlot> {
    facts.holdings.values().flat_map(leave).collect()
}

/// Not those in another cluster that are left to another object with the UUID.
pub(super) fn leave_own(facts: &CommitmentFacts) -> Vec<ReleasedSlot> {
    let own = facts.holdings.iter().filter(|(cluster, holding)| **cluster == facts.cluster || !holding.shared);
    own.flat_map(|(_, holding)| leave(holding)).collect()
}

pub(super) fn leave(holding: &Holding) -> Vec<ReleasedSlot> {
    let Ok(proof) = &holding.read else { return Vec::new() };
    let staying = holding.slots.iter().filter(|slot| !slot.terminating);
    staying.map(|slot| ReleasedSlot { name: slot.name.clone(), proof: proof.clone() }).collect()
}
