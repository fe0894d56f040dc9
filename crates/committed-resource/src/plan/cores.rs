//! The plan of a commitment of cores: it holds no slots, and is accepted if what it asks for is left of the total of
//! its group in its zone. Whether it is, says the ledger.

use berth_core::commitment::{ResourceType, Spec};
use berth_core::{Cores, planner};
use berth_crds::conditions::commitment::Message;

use super::course::{Course, Plan, leave_own};
use super::memory::rolled_back;
use crate::facts::{Capacity, Facts};
use crate::ledger::{Claim, Place};

/// What was said for good about this generation is not asked again.
pub(super) fn cores(facts: &Facts) -> Plan {
    if facts.is_rejected() {
        return rolled_back(facts);
    }
    let settled = facts.is_accepted() && facts.accepted.as_ref() == Some(&facts.spec);
    let course = if settled { Course::Settled } else { course(facts) };
    let slots_count = facts.accepted.as_ref().is_some_and(|accepted| accepted.resource == ResourceType::Memory);
    let leave = if slots_count { Vec::new() } else { leave_own(facts) };
    Plan { leave, ..Plan::idle(course) }
}

fn course(facts: &Facts) -> Course {
    if let Err(error) = facts.spec.validate() {
        return Course::Refused { text: error.to_string(), retry: false, limit: None };
    }
    if facts.spec.cores() == Cores::ZERO || holds(facts, &facts.spec) {
        return Course::Covered;
    }
    let place = Place::of(&facts.spec);
    match &facts.capacity {
        Capacity::Unknown(why) => Course::Hindered(why.clone()),
        Capacity::NoObject => without_object(facts, &place),
        Capacity::NoCores(object) => Course::NoCapacity {
            message: Message::WaitingForCpuCapacityData,
            detail: format!("FlavorGroupCapacity {object} has no status.totalCapacity.cores"),
        },
        Capacity::Total(total) => Course::Count(Claim { place, cores: facts.spec.cores(), total: *total }),
    }
}

/// What was accepted in this place without a break covers what is wanted there: to hold less takes nothing from anybody,
/// also where the total has shrunk below what was accepted.
fn holds(facts: &Facts, wanted: &Spec) -> bool {
    let covers = |accepted: &Spec| {
        accepted.resource == ResourceType::Cores
            && Place::of(accepted) == Place::of(wanted)
            && accepted.cores() >= wanted.cores()
    };
    facts.was_accepted() && facts.accepted.as_ref().is_some_and(covers)
}

/// U56: it waits, unless nobody will ever say what there is, because there is no such group.
fn without_object(facts: &Facts, place: &Place) -> Course {
    if let (Ok(groups), None) = (&facts.groups, &facts.outdated)
        && groups.get(&place.group).is_none()
    {
        let text = planner::group_not_found(&place.group, groups).to_string();
        return Course::Refused { text, retry: !facts.may_reject(), limit: None };
    }
    let detail = format!(
        "no FlavorGroupCapacity object has spec.flavorGroup {} and spec.availabilityZone {}",
        place.group, place.zone
    );
    Course::NoCapacity { message: Message::WaitingForCapacityData, detail }
}

#[cfg(test)]
mod tests;
