//! Plan and decide: which slots a commitment is to have, and which hosts its new slots get.
//!
//! `plan` is a function of facts. `decide` is the only step that touches the capacity view: it asks for room for the
//! whole plan at once and plans again when a slot cannot be restored on its host.

use berth_core::commitment::{Phase, ResourceType};
use berth_core::slot::Slot;
use berth_core::{HostName, SlotKey, planner};
use berth_scheduler::{Pin, Placement, Rank, Scheduler, SchedulerError, Shortage, SlotRequest, WholeRequest};
use jiff::Timestamp;

use crate::facts::Facts;
use crate::hindrance::Hindrance;
use crate::ledger::Verdict;
use crate::pace::Paced;

mod cores;
mod course;
mod memory;

use cores::cores;
pub use course::{Course, Finalizer, Leave, Plan};
use course::{leave_all, leave_own};
use memory::memory;

/// What limits a plan.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// `maxSlotsPerCommitment`; applies only while the commitment may be rejected.
    pub max_new_slots: Option<u64>,
}

/// A plan with hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Decided {
    /// What is done.
    pub plan: Plan,
    /// Hosts of `plan.slots.create`, in that order.
    pub hosts: Vec<Option<HostName>>,
    /// Why a slot has no host.
    pub shortage: Option<Shortage>,
    /// Hosts are found later, slot by slot: the scheduler is an external one.
    pub later: bool,
    /// How much of the plan this look creates, if not all of it.
    pub paced: Option<Paced>,
    /// Slots that hold an assume entry until the apply has ended.
    pub assumed: Vec<SlotKey>,
    /// What the ledger says to [`Course::Count`].
    pub cores: Option<Verdict>,
}

/// How the requests to the scheduler are made.
#[derive(Clone, Debug, Default)]
pub struct Placing {
    /// Pipeline of the commitment's flavor group.
    pub pipeline: String,
    /// Name of the commitment's domain, if it could be resolved.
    pub domain_name: Option<String>,
    /// Correlates everything that one look causes.
    pub request_id: String,
}

/// Plans a look at `now`.
pub fn plan(facts: &Facts, limits: Limits, now: Timestamp) -> Plan {
    if let Some(why) = &facts.frozen {
        return Plan::idle(Course::Frozen(why.clone()));
    }
    if facts.deleting {
        return deletion(facts);
    }
    if let Some(served) = &facts.served_instead {
        return Plan::idle(Course::Duplicate(served.key.clone()));
    }
    if let Some(why) = facts.may_be_duplicate() {
        return Plan::idle(Course::Unreadable(why.clone().into()));
    }
    match facts.was_over().map_or_else(|| facts.spec.phase(now), Phase::Over) {
        Phase::Planned => nothing(facts, Course::Planned),
        Phase::Over(state) => nothing(facts, Course::Over(state)),
        Phase::Wanted => wanted(facts, limits),
    }
}

fn wanted(facts: &Facts, limits: Limits) -> Plan {
    let plan = match (&facts.belongs_to, &facts.spec.resource) {
        (Some(cluster), _) => Plan::idle(Course::WrongCluster(cluster.clone())),
        (None, ResourceType::Cores) => cores(facts),
        (None, ResourceType::Memory) => memory(facts, limits.max_new_slots),
    };
    // Slots of old data may lack it, whatever else can be done for their commitment.
    let holds = !plan.slots.create.is_empty() || facts.all_slots().next().is_some();
    let finalizer = if holds && !facts.has_finalizer { Finalizer::Add } else { Finalizer::Leave };
    Plan { finalizer, ..plan }
}

fn deletion(facts: &Facts) -> Plan {
    let (leave, free) = match &facts.served_instead {
        None => (leave_all(facts), facts.unreadable().next().is_none()),
        // Its slots are left to the other object, once that one cannot go without them.
        Some(served) => (Vec::new(), served.protects || facts.all_slots().next().is_none()),
    };
    let finalizer = if facts.has_finalizer && free { Finalizer::Remove } else { Finalizer::Leave };
    Plan { leave, finalizer, ..Plan::idle(Course::Deleting) }
}

/// Gives up what it holds, as far as that can be read.
fn nothing(facts: &Facts, course: Course) -> Plan {
    let unreadable = facts.holdings.values().find(|holding| holding.read.is_err() && !holding.slots.is_empty());
    let why = unreadable.and_then(|holding| holding.read.as_ref().err());
    let course = why.map_or(course, |why| Course::Unreadable(why.clone().into()));
    Plan { leave: leave_own(facts), ..Plan::idle(course) }
}

/// Finds hosts for the plan of a look. The entries that it makes in the capacity view are in [`Decided::assumed`]; the
/// caller ends them with [`Scheduler::applied`] when the apply has ended.
///
/// A host that has no room for a larger slot after all leaves `facts.room`, and the look is planned again.
pub async fn decide<S: Scheduler>(
    facts: &mut Facts,
    limits: Limits,
    now: Timestamp,
    scheduler: &S,
    placing: &Placing,
) -> Result<Decided, SchedulerError> {
    loop {
        let mut decided = Decided::undecided(plan(facts, limits, now));
        let full = match pin(&mut decided, scheduler).await {
            Ok(None) => match place(facts, &mut decided, scheduler, placing).await {
                Ok(()) => return Ok(decided),
                Err(error) => Err(error),
            },
            Ok(Some(full)) => Ok(full),
            Err(error) => Err(error),
        };
        scheduler.applied(&decided.assumed);
        facts.room.remove(&full?);
    }
}

/// Keeps room for slots that grow in place, or says which host has none after all.
async fn pin<S: Scheduler>(decided: &mut Decided, scheduler: &S) -> Result<Option<HostName>, SchedulerError> {
    for pin in pins(&decided.plan) {
        decided.assumed.push(pin.key.clone());
        if !scheduler.pin(&pin).await? {
            return Ok(Some(pin.host));
        }
    }
    Ok(None)
}

fn pins(plan: &Plan) -> Vec<Pin> {
    let pin = |update: &planner::Update| {
        Some(Pin {
            key: plan.key(&update.name),
            host: update.enlarge_on.clone()?,
            size: update.size,
            zone: plan.target.as_ref()?.zone.clone(),
        })
    };
    plan.slots.update.iter().filter_map(pin).collect()
}

async fn place<S: Scheduler>(
    facts: &Facts,
    decided: &mut Decided,
    scheduler: &S,
    placing: &Placing,
) -> Result<(), SchedulerError> {
    if decided.plan.slots.create.is_empty() {
        return Ok(());
    }
    let request = whole_request(facts, &decided.plan, placing);
    match scheduler.place_all(&request).await? {
        Placement::Decided { hosts, shortage } => {
            // Of the others none is held here: as soon as they exist they ask for themselves, and what they then hold
            // does not end with this apply.
            let held = request.slots.iter().zip(&hosts).filter(|(_, host)| host.is_some());
            decided.assumed.extend(held.map(|(slot, _)| slot.key.clone()));
            (decided.hosts, decided.shortage) = (hosts, shortage);
        }
        Placement::Later => decided.later = true,
    }
    Ok(())
}

fn whole_request(facts: &Facts, plan: &Plan, placing: &Placing) -> WholeRequest {
    let smaller = |update: &&planner::Update| update.enlarge_on.is_none();
    WholeRequest {
        slots: plan.slots.create.iter().map(|new| slot_request(facts, plan, new, placing)).collect(),
        release: plan.slots.release.iter().map(|release| plan.key(&release.name)).collect(),
        shrink: plan.slots.update.iter().filter(smaller).map(|update| (plan.key(&update.name), update.size)).collect(),
        all_or_nothing: plan.course == Course::Reserve && facts.may_reject(),
        existing: false,
    }
}

fn slot_request(facts: &Facts, plan: &Plan, new: &planner::NewSlot, placing: &Placing) -> SlotRequest {
    let (project, zone) =
        plan.target.as_ref().map_or_else(Default::default, |target| (target.project.clone(), target.zone.clone()));
    SlotRequest {
        key: plan.key(&new.name),
        rank: Rank { created_unix: facts.created.as_second(), commitment: facts.spec.uuid.clone(), number: new.number },
        project,
        zone,
        flavor: new.flavor.clone(),
        size: new.size,
        domain_name: placing.domain_name.clone(),
        pipeline: placing.pipeline.clone(),
        prefer: None,
        request_id: placing.request_id.clone(),
    }
}

impl Decided {
    fn undecided(plan: Plan) -> Self {
        let hosts = vec![None; plan.slots.create.len()];
        Self { plan, hosts, shortage: None, later: false, paced: None, assumed: Vec::new(), cores: None }
    }

    /// Nothing can be done now.
    pub fn hindered(why: Hindrance) -> Self {
        Self::idle(Course::Hindered(why))
    }

    /// Nothing is done.
    pub fn idle(course: Course) -> Self {
        Self::undecided(Plan::idle(course))
    }

    /// How many of the plan's slots have a host, or could have one: `r` in the texts.
    pub fn could_be_placed(&self, facts: &Facts) -> usize {
        let gone = self.plan.slots.gone();
        let stays = |slot: &&Slot| !slot.terminating && !gone.contains(&slot.name);
        let placed = facts.slots().iter().filter(stays).filter(|slot| slot.target_host.is_some());
        placed.count() + self.hosts.iter().flatten().count()
    }

    /// True when the whole is refused: it does not fit, and it may be rejected. Then nothing is applied.
    pub fn is_refused(&self, facts: &Facts) -> bool {
        self.shortage.is_some() && self.plan.course == Course::Reserve && facts.may_reject()
    }
}

#[cfg(test)]
pub(crate) mod tests;
