//! The plan of a commitment of memory: its slots.

use berth_cluster::{CompletenessProof, RouteError};
use berth_core::commitment::{ResourceType, Spec};
use berth_core::flavor::FlavorGroups;
use berth_core::planner::{self, OpenChange, PlanError, PlannerInput, ReleaseReason, RunningVm, SlotPlan, Target};
use berth_core::slot::Slot;
use berth_crds::Reservation;

use super::verdict::{CommitmentPlan, Finalizer, ReleasedSlot, Verdict, leave, leave_own};
use crate::block_reason::BlockReason;
use crate::facts::{CommitmentFacts, Site};

pub(super) fn memory(facts: &CommitmentFacts, max_new_slots: Option<u64>) -> CommitmentPlan {
    if facts.is_rejected() {
        return rolled_back(facts);
    }
    let place = match find_slots(facts, &facts.site) {
        Ok(place) => place,
        Err(verdict) => return CommitmentPlan::idle(verdict),
    };
    if let Err(error) = facts.spec.validate() {
        if facts.is_accepted() {
            // It was accepted under fewer rules. It keeps its slots, and nothing can be planned for it.
            return CommitmentPlan::idle(Verdict::Settled);
        }
        return CommitmentPlan::idle(Verdict::Refused { text: error.to_string(), retry: false, limit: None });
    }
    let max_new_slots = max_new_slots.filter(|_| facts.may_reject());
    match slots(facts, &facts.spec, place, &facts.vms, max_new_slots) {
        Ok((target, slots)) => with_slots(facts, Verdict::Reserve, target, slots, place.proof),
        Err(PlanFailure::Blocked(why)) => CommitmentPlan::idle(Verdict::Blocked(why)),
        Err(PlanFailure::Refused(error)) => CommitmentPlan::idle(Verdict::Refused {
            text: error.to_string(),
            retry: !facts.may_reject() || may_have_hosts(&error, facts),
            limit: matches!(error, PlanError::SlotLimit { .. })
                .then(|| (facts.spec.group.clone(), facts.spec.zone.clone())),
        }),
    }
}

/// A host that cannot be read may be in the zone.
fn may_have_hosts(error: &PlanError, facts: &CommitmentFacts) -> bool {
    matches!(error, PlanError::ZoneWithoutHosts(_)) && facts.host_unreadable().is_some()
}

/// Keeps the accepted spec in force. Without an accepted spec of memory there are no slots to keep; if the accepted
/// spec cannot be planned, the slots stay as they are.
pub(super) fn rolled_back(facts: &CommitmentFacts) -> CommitmentPlan {
    let place = match find_slots(facts, &facts.accepted_site) {
        Ok(place) => place,
        Err(verdict) => return CommitmentPlan::idle(verdict),
    };
    let accepted = facts.accepted.as_ref();
    let Some(accepted) = accepted.filter(|spec| spec.resource == ResourceType::Memory) else {
        return CommitmentPlan { leave: leave_own(facts), ..CommitmentPlan::idle(Verdict::RolledBack) };
    };
    if accepted.validate().is_err() {
        return CommitmentPlan::idle(Verdict::RolledBack);
    }
    match slots(facts, accepted, place, &[], None) {
        Ok((target, slots)) => with_slots(facts, Verdict::RolledBack, target, slots, place.proof),
        Err(_) => CommitmentPlan::idle(Verdict::RolledBack),
    }
}

fn with_slots(
    facts: &CommitmentFacts,
    verdict: Verdict,
    target: Target,
    slots: SlotPlan,
    proof: &CompletenessProof<Reservation>,
) -> CommitmentPlan {
    let settled = verdict == Verdict::Reserve && slots.is_empty() && facts.binding_change().is_none();
    let leave = if settled { leave_former(facts, proof) } else { Vec::new() };
    let finalizer = Finalizer::Leave;
    CommitmentPlan { verdict, target: Some(target), slots, proof: Some(proof.clone()), leave, finalizer }
}

/// Releases the slots that are left in other clusters after a change of the zone, once the slots in the new zone are in
/// force: during a move the customer holds too much for a moment, never too little.
fn leave_former(facts: &CommitmentFacts, proof: &CompletenessProof<Reservation>) -> Vec<ReleasedSlot> {
    let former = facts.holdings.iter().filter(|(cluster, holding)| *cluster != proof.cluster() && !holding.shared);
    if facts.is_accepted() { former.flat_map(|(_, holding)| leave(holding)).collect() } else { Vec::new() }
}

/// The site of the slots, the slots there, and the proof that all of them are known.
#[derive(Clone, Copy)]
struct SlotsOfSite<'a> {
    site: &'a Site,
    slots: &'a [Slot],
    proof: &'a CompletenessProof<Reservation>,
}

fn find_slots<'a>(facts: &'a CommitmentFacts, site: &'a Result<Site, RouteError>) -> Result<SlotsOfSite<'a>, Verdict> {
    let site = site.as_ref().map_err(|why| Verdict::Blocked(why.clone().into()))?;
    let unwatched = || Verdict::Unreadable(BlockReason::Unwatched(site.cluster.clone()));
    let holding = facts.holdings.get(&site.cluster).ok_or_else(unwatched)?;
    let proof = holding.read.as_ref().map_err(|why| Verdict::Unreadable(why.clone().into()))?;
    Ok(SlotsOfSite { site, slots: &holding.slots, proof })
}

enum PlanFailure {
    Blocked(BlockReason),
    Refused(PlanError),
}

/// Invalid flavor groups stop only plans that need one: a commitment that is complete or shrinks does not. Slots are not
/// given up for others in a zone without hosts. With outdated flavor groups, what was accepted before is kept complete,
/// and nothing grows.
fn slots(
    facts: &CommitmentFacts,
    spec: &Spec,
    place: SlotsOfSite<'_>,
    vms: &[RunningVm],
    max_new_slots: Option<u64>,
) -> Result<(Target, SlotPlan), PlanFailure> {
    let none = FlavorGroups::default();
    let (groups, unreadable) = match &facts.groups {
        Ok(groups) => (&**groups, facts.outdated.as_ref()),
        Err(why) => (&none, Some(why)),
    };
    let target = facts.target(spec);
    let taken = &*facts.taken.0;
    let world = PlannerInput {
        groups,
        slots: place.slots,
        free_capacity: &facts.free_capacity,
        taken: &|name| taken(name),
        vms,
        max_new_slots,
        change: facts.binding_change().map(|change| OpenChange { offered: &change.offered, former: &change.former }),
    };
    match (planner::plan(&target, &world), unreadable, &place.site.hosts_unknown) {
        (Ok(slots), _, Some(why)) if needs_hosts(&slots) => Err(PlanFailure::Blocked(why.clone().into())),
        (Ok(slots), Some(why), _) if needs_hosts(&slots) && !facts.was_accepted_with(spec) => {
            Err(PlanFailure::Blocked(why.clone().into()))
        }
        (Ok(slots), _, _) if exchanges_slots(&slots) && !place.site.has_hosts => {
            Err(PlanFailure::Refused(PlanError::ZoneWithoutHosts(spec.zone.clone())))
        }
        (Ok(slots), _, _) => Ok((target, slots)),
        (Err(PlanError::GroupNotFound { .. } | PlanError::GroupWithoutFlavors(_)), Some(why), _) => {
            Err(PlanFailure::Blocked(why.clone().into()))
        }
        (Err(error), _, _) => Err(PlanFailure::Refused(error)),
    }
}

fn exchanges_slots(slots: &SlotPlan) -> bool {
    !slots.create.is_empty() && slots.release.iter().any(|release| release.why == ReleaseReason::OtherIdentity)
}

fn needs_hosts(slots: &SlotPlan) -> bool {
    !slots.create.is_empty() || slots.update.iter().any(|update| update.enlarge_on.is_some())
}
