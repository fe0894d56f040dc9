//! What the brake has to be asked for: slots with a host that a plan deletes although the commitment wished nothing of
//! the kind, because the flavor groups or the slots are not what they were. A plan that it stops is not applied at all.

use std::collections::BTreeSet;

use berth_cluster::{Asker, Brake, Disruption, ObjectKey};
use berth_core::planner::Why;
use berth_crds::CommittedResource;
use berth_crds::conditions::safety::SLOTS_OF_WRONG_SHAPE;

use crate::facts::Facts;
use crate::plan::{Course, Decided, Plan};

/// Asks for the plan; gives it back, or nothing to do. The assume entries are those of the plan in either case, for the
/// caller to end.
pub(crate) fn unless_stopped(key: &ObjectKey, facts: &Facts, decided: Decided, brake: &Brake) -> Decided {
    let asker = Asker::of::<CommittedResource>(key);
    let Some(disruption) = disruption(facts, &decided.plan) else {
        brake.over(&asker);
        return decided;
    };
    match brake.ask(&asker, &disruption, []) {
        Ok(()) => decided,
        Err(stopped) => Decided { assumed: decided.assumed, ..Decided::idle(Course::Braked(stopped)) },
    }
}

/// What the commitment does not want: its amount, its group, its zone and its project are its own wish.
fn is_unwished(why: Why) -> bool {
    match why {
        Why::NoMemory | Why::TooFewCores | Why::LostFlavor => true,
        Why::OtherIdentity | Why::Surplus => false,
    }
}

fn disruption(facts: &Facts, plan: &Plan) -> Option<Disruption> {
    let target = plan.target.as_ref()?;
    let lost = plan.slots.release.iter().filter(|release| is_unwished(release.why));
    let lost: BTreeSet<_> = lost.map(|release| &release.name).collect();
    if lost.is_empty() {
        return None;
    }
    let cluster = plan.cluster();
    let held = facts.holdings.get(&cluster).into_iter().flat_map(|holding| &holding.slots);
    let with_host = held.filter(|slot| slot.target_host.is_some() && lost.contains(&slot.name));
    let slots: Vec<_> = with_host.map(|slot| ObjectKey::new(cluster.clone(), slot.name.as_str())).collect();
    let (zone, cause) = (target.zone.to_string(), SLOTS_OF_WRONG_SHAPE);
    (!slots.is_empty()).then_some(Disruption { zone, cause, slots })
}

#[cfg(test)]
mod tests {
    use berth_core::testing::at;

    use super::*;
    use crate::plan::tests::{facts, slot};
    use crate::plan::{Limits, plan};

    fn disturbed(facts: &Facts) -> Vec<String> {
        let disruption = disruption(facts, &plan(facts, Limits::default(), at(0)));
        disruption.into_iter().flat_map(|plan| plan.slots).map(|slot| slot.name.to_string()).collect()
    }

    #[test]
    fn d14_slots_with_a_host_that_hold_nothing_count_and_those_without_do_not() {
        let broken = || vec![slot(0, 0, 0, Some("h")), slot(1, 0, 0, None), slot(2, 60, 15, Some("h"))];
        assert_eq!(disturbed(&facts("60Gi", broken())), ["commitment-uuid-1-0"]);
    }

    #[test]
    fn d14_the_wish_of_a_commitment_does_not_count() {
        let slots = || vec![slot(0, 60, 15, Some("h")), slot(1, 60, 15, Some("h"))];
        assert_eq!(disturbed(&facts("60Gi", slots())), [""; 0], "it shrinks");
        let mut moved = facts("120Gi", slots());
        moved.spec.group = "other".into();
        assert_eq!(disturbed(&moved), [""; 0], "another group");
        let deleting = Facts { deleting: true, ..facts("120Gi", slots()) };
        assert_eq!(disturbed(&deleting), [""; 0]);
    }
}
