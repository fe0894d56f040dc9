//! Plan and decide: which slots a commitment is to have, and which hosts its new slots get.
//!
//! `plan` is a function of facts. `decide` is the only step that touches the capacity view: it asks for room for the
//! whole plan at once (D13) and plans again when a slot cannot be restored on its host (U41).

use berth_cluster::{Frozen, ObjectKey, RouteError, Stopped, Whole};
use berth_core::{
    ClusterName, GroupName, HostName, SlotKey, SlotName, Zone,
    commitment::{Phase, ResourceType, Spec, State},
    flavor::FlavorGroups,
    planner::{self, PlanError, SlotPlan, Target, World},
    slot::Slot,
};
use berth_crds::{Reservation, conditions::commitment::Message};
use berth_scheduler::{Pin, Placement, Rank, Scheduler, SchedulerError, Shortage, SlotRequest, WholeRequest};
use jiff::Timestamp;

use crate::{
    facts::{Facts, Holding, Site},
    hindrance::Hindrance,
    ledger::{Claim, Verdict},
    pace::Paced,
};

mod cores;

use cores::cores;

/// What the look is about, and what it will do.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Where the commitment stands.
    pub course: Course,
    /// What the kept and new slots are to look like; absent when slots are only released.
    pub target: Option<Target>,
    /// What has to change where the slots belong; nothing without `whole`.
    pub slots: SlotPlan,
    /// Proof that all slots of that cluster are known (U47).
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
    /// It is left exactly as it is, whatever else is true of it (U57).
    Frozen(Frozen),
    /// It begins later and holds nothing.
    Planned,
    /// It is over and holds nothing.
    Over(State),
    /// It is being deleted.
    Deleting,
    /// Another object with the same UUID is served (U14).
    Duplicate(ObjectKey),
    /// It is in another cluster than its zone. Its slots stay as they are (D1).
    WrongCluster(ClusterName),
    /// Its slots follow its spec.
    Reserve,
    /// Its spec was refused for good: its slots follow the accepted spec.
    RolledBack,
    /// It cannot have slots as it is. Nothing is done, and its author is told; a spec that makes no sense is rejected
    /// even where rejection is not allowed (U37).
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
    /// It would disturb too many slots that nobody wished to be disturbed; nothing is done (D14).
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

/// What happens to the finalizer `reservations.cortex.cloud/release-slots` (D1, U50).
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
    /// Hosts are found later, slot by slot: the scheduler is an external one (D13).
    pub later: bool,
    /// How much of the plan this look creates, if not all of it.
    pub paced: Option<Paced>,
    /// Slots that hold an assume entry until the apply has ended (U1).
    pub assumed: Vec<SlotKey>,
    /// What the ledger says to [`Course::Count`].
    pub cores: Option<Verdict>,
}

/// How the requests to the scheduler are made.
#[derive(Clone, Debug, Default)]
pub struct Placing {
    /// Pipeline of the commitment's flavor group (document 21 section 6.3).
    pub pipeline: String,
    /// Name of the commitment's domain, if it could be resolved (document 21 section 6.2).
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
        (None, ResourceType::Memory) => memory(facts, limits),
    };
    // Slots of old data may lack it, whatever else can be done for their commitment (U50).
    let holds = !plan.slots.create.is_empty() || facts.all_slots().next().is_some();
    let finalizer = if holds && !facts.has_finalizer { Finalizer::Add } else { Finalizer::Leave };
    Plan { finalizer, ..plan }
}

impl Plan {
    fn idle(course: Course) -> Self {
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

fn leave_all(facts: &Facts) -> Vec<Leave> {
    facts.holdings.values().flat_map(leave).collect()
}

/// Not those in another cluster that are left to another object with the UUID.
fn leave_own(facts: &Facts) -> Vec<Leave> {
    let own = facts.holdings.iter().filter(|(cluster, holding)| **cluster == facts.cluster || !holding.shared);
    own.flat_map(|(_, holding)| leave(holding)).collect()
}

fn leave(holding: &Holding) -> Vec<Leave> {
    let Ok(whole) = &holding.read else { return Vec::new() };
    let staying = holding.slots.iter().filter(|slot| !slot.terminating);
    staying.map(|slot| Leave { name: slot.name.clone(), whole: whole.clone() }).collect()
}

/// What is left in other clusters after the commitment has changed its zone. It is given up only when the slots in
/// the new one are in force: for a customer who moves, too much is held for a moment, never too little.
fn leave_former(facts: &Facts, whole: &Whole<Reservation>) -> Vec<Leave> {
    let former = facts.holdings.iter().filter(|(cluster, holding)| *cluster != whole.cluster() && !holding.shared);
    if facts.is_accepted() { former.flat_map(|(_, holding)| leave(holding)).collect() } else { Vec::new() }
}

fn memory(facts: &Facts, limits: Limits) -> Plan {
    if facts.is_rejected() {
        return rolled_back(facts);
    }
    let place = match place_of(facts, &facts.site) {
        Ok(place) => place,
        Err(course) => return Plan::idle(course),
    };
    if let Err(error) = facts.spec.validate() {
        if facts.is_accepted() {
            // Whoever accepted it knew fewer rules. It holds what it holds, and nothing can be planned for it.
            return Plan::idle(Course::Settled);
        }
        return Plan::idle(Course::Refused { text: error.to_string(), retry: false, limit: None });
    }
    let max_new_slots = limits.max_new_slots.filter(|_| facts.may_reject());
    match slots(facts, &facts.spec, place, max_new_slots) {
        Ok((target, slots)) => with_slots(facts, Course::Reserve, target, slots, place.whole),
        Err(NoPlan::Hindered(why)) => Plan::idle(Course::Hindered(why)),
        Err(NoPlan::Refused(error)) => Plan::idle(Course::Refused {
            text: error.to_string(),
            retry: !facts.may_reject(),
            limit: matches!(error, PlanError::SlotLimit { .. })
                .then(|| (facts.spec.group.clone(), facts.spec.zone.clone())),
        }),
    }
}

/// Keeps up what was accepted before. Without an accepted spec of memory there are no slots to keep; with one that cannot
/// be planned, now or ever, they stay as they are (document 20 section 19 no. 4).
fn rolled_back(facts: &Facts) -> Plan {
    let place = match place_of(facts, &facts.accepted_site) {
        Ok(place) => place,
        Err(course) => return Plan::idle(course),
    };
    let accepted = facts.accepted.as_ref();
    let Some(accepted) = accepted.filter(|spec| spec.resource == ResourceType::Memory) else {
        return Plan { leave: leave_own(facts), ..Plan::idle(Course::RolledBack) };
    };
    if accepted.validate().is_err() {
        return Plan::idle(Course::RolledBack);
    }
    match slots(facts, accepted, place, None) {
        Ok((target, slots)) => with_slots(facts, Course::RolledBack, target, slots, place.whole),
        Err(_) => Plan::idle(Course::RolledBack),
    }
}

fn with_slots(facts: &Facts, course: Course, target: Target, slots: SlotPlan, whole: &Whole<Reservation>) -> Plan {
    let settled = course == Course::Reserve && slots.is_empty();
    let leave = if settled { leave_former(facts, whole) } else { Vec::new() };
    let finalizer = Finalizer::Leave;
    Plan { course, target: Some(target), slots, whole: Some(whole.clone()), leave, finalizer }
}

/// Where slots belong, what is there, and the proof that it is everything.
#[derive(Clone, Copy)]
struct PlaceOf<'a> {
    site: &'a Site,
    slots: &'a [Slot],
    whole: &'a Whole<Reservation>,
}

fn place_of<'a>(facts: &'a Facts, site: &'a Result<Site, RouteError>) -> Result<PlaceOf<'a>, Course> {
    let site = site.as_ref().map_err(|why| Course::Hindered(why.clone().into()))?;
    let unwatched = || Course::Unreadable(Hindrance::Unwatched(site.cluster.clone()));
    let holding = facts.holdings.get(&site.cluster).ok_or_else(unwatched)?;
    let whole = holding.read.as_ref().map_err(|why| Course::Unreadable(why.clone().into()))?;
    Ok(PlaceOf { site, slots: &holding.slots, whole })
}

enum NoPlan {
    Hindered(Hindrance),
    Refused(PlanError),
}

/// Unreadable flavor groups hinder only plans that need one: what is complete or has to shrink does not.
fn slots(
    facts: &Facts,
    spec: &Spec,
    place: PlaceOf<'_>,
    max_new_slots: Option<u64>,
) -> Result<(Target, SlotPlan), NoPlan> {
    let none = FlavorGroups::default();
    let (groups, unreadable) = match &facts.groups {
        Ok(groups) => (&**groups, facts.outdated.as_ref()),
        Err(why) => (&none, Some(why)),
    };
    let target = facts.target(spec);
    let taken = &*facts.taken.0;
    let world = World { groups, slots: place.slots, room: &facts.room, taken: &|name| taken(name), max_new_slots };
    match (planner::plan(&target, &world), unreadable, &place.site.hosts_unknown) {
        (Ok(slots), _, Some(why)) if needs_hosts(&slots) => Err(NoPlan::Hindered(why.clone().into())),
        (Ok(slots), _, _) => Ok((target, slots)),
        (Err(PlanError::GroupNotFound { .. } | PlanError::GroupWithoutFlavors(_)), Some(why), _) => {
            Err(NoPlan::Hindered(why.clone().into()))
        }
        (Err(error), _, _) => Err(NoPlan::Refused(error)),
    }
}

fn needs_hosts(slots: &SlotPlan) -> bool {
    !slots.create.is_empty() || slots.update.iter().any(|update| update.enlarge_on.is_some())
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

    /// How many of the plan's slots have a host, or could have one: `r` in the texts (U45).
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
