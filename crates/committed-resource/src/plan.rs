//! Plan and decide: which slots a commitment gets, and which hosts. `plan` is a function of facts; `decide` calls the
//! scheduler once for the whole plan, and plans again if a slot cannot be restored on its host.

use std::collections::BTreeMap;

use berth_core::commitment::{Phase, ResourceType, State};
use berth_core::slot::Slot;
use berth_core::{HostName, SlotKey, SlotName, planner};
use berth_scheduler::{
    CommitmentRequest, Handover, Pin, Placement, Scheduler, SchedulerError, Shortage, SlotRequest, WaitingRank,
};
use berth_telemetry::clock::TrustedTime;
use jiff::Timestamp;

use crate::block_reason::BlockReason;
use crate::facts::CommitmentFacts;
use crate::ledger::ClaimResult;
use crate::pace::PacedCreates;

mod cores;
mod memory;
mod verdict;

use cores::cores;
use memory::memory;
pub use verdict::{CommitmentPlan, Finalizer, ReleasedSlot, Verdict};
use verdict::{leave_all, leave_own};

/// The limits of a plan.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// `maxSlotsPerCommitment`; applies only while the commitment may be rejected.
    pub max_new_slots: Option<u64>,
}

/// A plan with hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct CommitmentDecision {
    pub plan: CommitmentPlan,
    pub hosts: Vec<Option<HostName>>,
    pub shortage: Option<Shortage>,
    /// Slots of other commitments of the same change whose capacity the hosts need.
    pub used: Vec<SlotKey>,
    /// Hosts are found later, slot by slot: the scheduler is an external one.
    pub is_delayed: bool,
    /// How much of the plan this reconciliation creates, if not all of it.
    pub paced: Option<PacedCreates>,
    /// Slots that hold an assume entry until the apply has ended.
    pub assumed: Vec<SlotKey>,
    pub cores: Option<ClaimResult>,
}

/// How the requests to the scheduler are made.
#[derive(Clone, Debug, Default)]
pub struct Placing {
    pub pipeline: String,
    /// Name of the commitment's domain, if it could be resolved.
    pub domain_name: Option<String>,
    pub request_id: String,
}

/// While the clock cannot be trusted nothing ends, and nothing begins that may have ended.
pub fn plan(facts: &CommitmentFacts, limits: Limits, now: TrustedTime) -> CommitmentPlan {
    if let Some(why) = &facts.paused {
        return CommitmentPlan::idle(Verdict::Paused(why.clone()));
    }
    if facts.deleting {
        return deletion(facts);
    }
    if let Some(served) = &facts.served_instead {
        return CommitmentPlan::idle(Verdict::Duplicate(served.key.clone()));
    }
    if let Some(why) = facts.may_be_duplicate() {
        return CommitmentPlan::idle(Verdict::Unreadable(why.clone().into()));
    }
    match facts.spec.phase(now.unwrap_or(Timestamp::MIN)) {
        Phase::Ended(state) => nothing(facts, Verdict::Over(facts.reported_end().unwrap_or(state))),
        // Anyone may have written the condition: it releases nothing by itself.
        _ if facts.has_reported_end() => CommitmentPlan::idle(Verdict::Over(State::Expired)),
        Phase::Planned => nothing(facts, Verdict::Planned),
        Phase::Wanted
            if let Err(why) = now
                && facts.is_new()
                && facts.spec.end.is_some() =>
        {
            CommitmentPlan::idle(Verdict::Blocked(why.into()))
        }
        Phase::Wanted => wanted(facts, limits),
    }
}

fn wanted(facts: &CommitmentFacts, limits: Limits) -> CommitmentPlan {
    let plan = match (&facts.belongs_to, &facts.spec.resource) {
        (Some(cluster), _) => CommitmentPlan::idle(Verdict::WrongCluster(cluster.clone())),
        (None, ResourceType::Cores) => cores(facts),
        (None, ResourceType::Memory) => memory(facts, limits.max_new_slots),
    };
    // Slots of old data may lack it, whatever else can be done for their commitment.
    let holds = !plan.slots.create.is_empty() || facts.all_slots().next().is_some();
    let finalizer = if holds && !facts.has_finalizer { Finalizer::Add } else { Finalizer::Leave };
    CommitmentPlan { finalizer, ..plan }
}

fn deletion(facts: &CommitmentFacts) -> CommitmentPlan {
    let (leave, free) = match &facts.served_instead {
        None => (leave_all(facts), facts.unreadable().next().is_none()),
        // Its slots are left to the other object, once that one cannot go without them.
        Some(served) => (Vec::new(), served.protects || facts.all_slots().next().is_none()),
    };
    let finalizer = if facts.has_finalizer && free { Finalizer::Remove } else { Finalizer::Leave };
    CommitmentPlan { leave, finalizer, ..CommitmentPlan::idle(Verdict::Deleting) }
}

/// Releases its slots, as far as they can be read. Those of an open change stay until it ends: others may take them over, and
/// a roll-back needs them.
fn nothing(facts: &CommitmentFacts, verdict: Verdict) -> CommitmentPlan {
    let unreadable = facts.holdings.values().find(|holding| holding.read.is_err() && !holding.slots.is_empty());
    let why = unreadable.and_then(|holding| holding.read.as_ref().err());
    let verdict = why.map_or(verdict, |why| Verdict::Unreadable(why.clone().into()));
    if facts.binding_change().is_some() {
        return CommitmentPlan::idle(verdict);
    }
    CommitmentPlan { leave: leave_own(facts), ..CommitmentPlan::idle(verdict) }
}

/// Finds hosts for the plan of a reconciliation. The entries that it makes in the capacity view are in
/// [`CommitmentDecision::assumed`]; the caller ends them with [`Scheduler::applied`] when the apply has ended.
/// A host that has no free capacity for a larger slot after all leaves the facts, as does a VM that cannot be taken over,
/// and the reconciliation is planned again.
pub async fn decide<S: Scheduler>(
    facts: &mut CommitmentFacts,
    limits: Limits,
    now: TrustedTime,
    scheduler: &S,
    placing: &Placing,
) -> Result<CommitmentDecision, SchedulerError> {
    loop {
        let mut decided = CommitmentDecision::undecided(plan(facts, limits, now));
        let refused = match pin(&mut decided, scheduler).await {
            Ok(refused) if refused.is_empty() => match place_slots(facts, &mut decided, scheduler, placing).await {
                Ok(()) => return Ok(decided),
                Err(error) => Err(error),
            },
            other => other,
        };
        scheduler.applied(&decided.assumed);
        refused?.iter().for_each(|pin| facts.rule_out(pin));
    }
}

/// Keeps free capacity for slots that grow in place and for those around VMs. Returns what was refused.
async fn pin<S: Scheduler>(decided: &mut CommitmentDecision, scheduler: &S) -> Result<Vec<Pin>, SchedulerError> {
    let mut refused = Vec::new();
    for pin in pins(&decided.plan) {
        decided.assumed.push(pin.key.clone());
        if !scheduler.pin(&pin).await? {
            refused.push(pin);
        }
    }
    Ok(refused)
}

fn pins(plan: &CommitmentPlan) -> Vec<Pin> {
    let Some(target) = &plan.target else { return Vec::new() };
    let pin = |name: &SlotName, host: &HostName, size, vms| Pin {
        key: plan.key(name),
        host: host.clone(),
        size,
        vms,
        zone: target.zone.clone(),
    };
    let larger = plan.slots.update.iter().filter_map(|update| Some((update, update.enlarge_on.as_ref()?)));
    let larger = larger.map(|(update, host)| pin(&update.name, host, update.size, BTreeMap::new()));
    larger.chain(plan.slots.around_vms().map(|(new, vm)| pin(&new.name, &vm.host, new.size, new.vms()))).collect()
}

async fn place_slots<S: Scheduler>(
    facts: &CommitmentFacts,
    decided: &mut CommitmentDecision,
    scheduler: &S,
    placing: &Placing,
) -> Result<(), SchedulerError> {
    if decided.plan.slots.unplaced().next().is_none() {
        return Ok(());
    }
    let request = whole_request(facts, &decided.plan, placing);
    match scheduler.place_all(&request).await? {
        Placement::Decided { hosts, shortage, used } => {
            // Capacity for the other slots is not held here: when they exist they request it themselves, and an entry
            // for them does not end with this apply.
            let held = request.slots.iter().zip(&hosts).filter(|(_, host)| host.is_some());
            decided.assumed.extend(held.map(|(slot, _)| slot.key.clone()));
            let mut found = hosts.into_iter();
            let unplaced = decided.plan.slots.create.iter().zip(&mut decided.hosts);
            for (_, host) in unplaced.filter(|(new, _)| new.around.is_none()) {
                *host = found.next().flatten();
            }
            (decided.shortage, decided.used) = (shortage, used);
        }
        Placement::Later => decided.is_delayed = true,
    }
    Ok(())
}

pub(crate) fn whole_request(facts: &CommitmentFacts, plan: &CommitmentPlan, placing: &Placing) -> CommitmentRequest {
    let smaller = |update: &&planner::Update| update.enlarge_on.is_none();
    CommitmentRequest {
        slots: plan.slots.unplaced().map(|new| slot_request(facts, plan, new, placing)).collect(),
        release: plan.slots.release.iter().map(|release| plan.key(&release.name)).collect(),
        shrink: plan.slots.update.iter().filter(smaller).map(|update| (plan.key(&update.name), update.size)).collect(),
        all_or_nothing: plan.verdict == Verdict::Reserve && facts.may_reject(),
        existing: false,
        handover: facts
            .change
            .as_ref()
            .map(|change| Handover { change: change.name.clone(), slots: change.left.clone() }),
    }
}

pub(crate) fn slot_request(
    facts: &CommitmentFacts,
    plan: &CommitmentPlan,
    new: &planner::NewSlot,
    placing: &Placing,
) -> SlotRequest {
    let (project, zone) =
        plan.target.as_ref().map_or_else(Default::default, |target| (target.project.clone(), target.zone.clone()));
    SlotRequest {
        key: plan.key(&new.name),
        rank: WaitingRank {
            created_unix: facts.created.as_second(),
            commitment: facts.spec.uuid.clone(),
            number: new.number,
        },
        project,
        zone,
        flavor: new.flavor.clone(),
        size: new.size,
        vms: new.vms(),
        domain_name: placing.domain_name.clone(),
        pipeline: placing.pipeline.clone(),
        prefer: new.prefer.clone(),
        request_id: placing.request_id.clone(),
    }
}

impl CommitmentDecision {
    fn undecided(plan: CommitmentPlan) -> Self {
        let hosts = plan.slots.create.iter().map(|new| Some(new.around.as_ref()?.host.clone())).collect();
        Self {
            plan,
            hosts,
            shortage: None,
            used: Vec::new(),
            is_delayed: false,
            paced: None,
            assumed: Vec::new(),
            cores: None,
        }
    }

    pub fn blocked(why: BlockReason) -> Self {
        Self::idle(Verdict::Blocked(why))
    }

    pub fn idle(verdict: Verdict) -> Self {
        Self::undecided(CommitmentPlan::idle(verdict))
    }

    /// How many of the plan's slots have a host, or could have one: `r` in the texts.
    pub fn could_be_placed(&self, facts: &CommitmentFacts) -> usize {
        let gone = self.plan.slots.gone();
        let stays = |slot: &&Slot| !slot.terminating && !gone.contains(&slot.name);
        let placed = facts.slots().iter().filter(stays).filter(|slot| slot.target_host.is_some());
        placed.count() + self.plan.slots.take_over.len() + self.hosts.iter().flatten().count()
    }

    /// True if the whole plan is refused: it does not fit, and the commitment may be rejected. Then nothing is applied.
    pub fn is_refused(&self, facts: &CommitmentFacts) -> bool {
        self.shortage.is_some() && self.plan.verdict == Verdict::Reserve && facts.may_reject()
    }
}

#[cfg(test)]
pub(crate) mod tests;
