//! The plan of a commitment of memory: which slots it is to have.

use berth_cluster::{RouteError, Whole};
use berth_core::commitment::{ResourceType, Spec};
use berth_core::flavor::FlavorGroups;
use berth_core::planner::{self, PlanError, SlotPlan, Target, World};
use berth_core::slot::Slot;
use berth_crds::Reservation;

use super::course::{Course, Finalizer, Leave, Plan, leave, leave_own};
use crate::facts::{Facts, Site};
use crate::hindrance::Hindrance;

pub(super) fn memory(facts: &Facts, max_new_slots: Option<u64>) -> Plan {
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
    let max_new_slots = max_new_slots.filter(|_| facts.may_reject());
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

/// Keeps up what was accepted before. Without an accepted spec of memory there are no slots to keep; with one that
/// cannot be planned, now or ever, they stay as they are.
pub(super) fn rolled_back(facts: &Facts) -> Plan {
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

/// What is left in other clusters after the commitment has changed its zone. It is given up only when the slots in
/// the new one are in force: for a customer who moves, too much is held for a moment, never too little.
fn leave_former(facts: &Facts, whole: &Whole<Reservation>) -> Vec<Leave> {
    let former = facts.holdings.iter().filter(|(cluster, holding)| *cluster != whole.cluster() && !holding.shared);
    if facts.is_accepted() { former.flat_map(|(_, holding)| leave(holding)).collect() } else { Vec::new() }
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
