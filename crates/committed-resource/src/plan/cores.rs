//! The plan of a commitment of cores: it has no slots, and is accepted if the ledger has enough cores left for its
//! group and zone.

use berth_core::commitment::{ResourceType, Spec};
use berth_core::{Cores, planner};
use berth_crds::conditions::commitment::Message;

use super::memory::rolled_back;
use super::verdict::{CommitmentPlan, Verdict, leave_own};
use crate::facts::{Capacity, CommitmentFacts};
use crate::ledger::{CoresClaim, GroupAndZone};

/// A final decision about this generation is not made again.
pub(super) fn cores(facts: &CommitmentFacts) -> CommitmentPlan {
    if facts.is_rejected() {
        return rolled_back(facts);
    }
    let settled = facts.is_accepted() && facts.accepted.as_ref() == Some(&facts.spec);
    let verdict = if settled { Verdict::Settled } else { decide_cores(facts) };
    let slots_count = facts.accepted.as_ref().is_some_and(|accepted| accepted.resource == ResourceType::Memory);
    let leave = if slots_count { Vec::new() } else { leave_own(facts) };
    CommitmentPlan { leave, ..CommitmentPlan::idle(verdict) }
}

fn decide_cores(facts: &CommitmentFacts) -> Verdict {
    if let Err(error) = facts.spec.validate() {
        return Verdict::Refused { text: error.to_string(), retry: false, limit: None };
    }
    if facts.spec.cores() == Cores::ZERO || holds(facts, &facts.spec) {
        return Verdict::Covered;
    }
    let place = GroupAndZone::of(&facts.spec);
    if let Some(why) = &facts.outdated {
        return Verdict::Blocked(why.clone().into());
    }
    match &facts.capacity {
        Capacity::Unknown(why) => Verdict::Blocked(why.clone()),
        Capacity::NoObject => plan_without_object(facts, &place),
        Capacity::NoCores(object) => Verdict::NoCapacity {
            message: Message::WaitingForCpuCapacityData,
            detail: format!("FlavorGroupCapacity {object} has no status.totalCapacity.cores"),
        },
        Capacity::Total(total) => Verdict::Count(CoresClaim { place, cores: facts.spec.cores(), total: *total }),
    }
}

/// Cores that were accepted in this place without interruption cover the desired amount: to hold less takes nothing
/// from other commitments, even if the total has shrunk below the accepted amount.
fn holds(facts: &CommitmentFacts, wanted: &Spec) -> bool {
    let covers = |accepted: &Spec| {
        accepted.resource == ResourceType::Cores
            && GroupAndZone::of(accepted) == GroupAndZone::of(wanted)
            && accepted.cores() >= wanted.cores()
    };
    facts.was_accepted() && facts.accepted.as_ref().is_some_and(covers)
}

/// It waits, unless the number of cores will never be known, because there is no such group.
fn plan_without_object(facts: &CommitmentFacts, place: &GroupAndZone) -> Verdict {
    if let Ok(groups) = &facts.groups
        && groups.get(&place.group).is_none()
    {
        let text = planner::group_not_found(&place.group, groups).to_string();
        return Verdict::Refused { text, retry: !facts.may_reject(), limit: None };
    }
    let detail = format!(
        "no FlavorGroupCapacity object has spec.flavorGroup {} and spec.availabilityZone {}",
        place.group, place.zone
    );
    Verdict::NoCapacity { message: Message::WaitingForCapacityData, detail }
}

#[cfg(test)]
mod tests;
