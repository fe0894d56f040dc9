//! The slots for which the disruption limit is checked: slots with a host that a plan deletes although the user changed
//! nothing, because the flavor groups or the slots have changed. A plan that is stopped is not applied at all.

use std::collections::BTreeSet;

use berth_cluster::{Disruption, DisruptionLimit, ObjectKey, Requester, Writer, write_disruption_limited};
use berth_core::planner::ReleaseReason;
use berth_crds::conditions::safety::SLOTS_OF_WRONG_SHAPE;
use berth_crds::{CommittedResource, Reservation};
use futures::FutureExt as _;
use jiff::Timestamp;

use crate::apply::run_all;
use crate::error::Error;
use crate::facts::CommitmentFacts;
use crate::plan::{CommitmentDecision, CommitmentPlan, Verdict};

/// Asks for the plan; gives it back, or nothing to do and the slots that it would have disturbed. The assume entries are
/// those of the plan in either case, for the caller to end.
pub(crate) fn unless_stopped(
    key: &ObjectKey,
    facts: &CommitmentFacts,
    decided: CommitmentDecision,
    disruption_limit: &DisruptionLimit,
) -> (CommitmentDecision, BTreeSet<ObjectKey>) {
    let requester = Requester::of::<CommittedResource>(key);
    let Some(disruption) = disruption(facts, &decided.plan) else {
        disruption_limit.release(&requester);
        return (decided, BTreeSet::new());
    };
    match disruption_limit.ask(&requester, &disruption, []) {
        Ok(()) => (decided, BTreeSet::new()),
        Err(stopped) => {
            let idle = CommitmentDecision::idle(Verdict::DisruptionLimited(stopped));
            (CommitmentDecision { assumed: decided.assumed, ..idle }, disruption.slots.into_iter().collect())
        }
    }
}

/// Reports on the slots of a commitment whether its plan was stopped because of them, if there is a plan for them.
/// Returns whether there was anything to compare.
pub(crate) async fn mark_slots(
    reservations: &Writer<Reservation>,
    facts: &CommitmentFacts,
    verdict: &Verdict,
    stopped_slots: &BTreeSet<ObjectKey>,
    now: Timestamp,
) -> Result<bool, Error> {
    let stopped = match verdict {
        Verdict::DisruptionLimited(stopped) => Some(stopped),
        Verdict::Reserve | Verdict::RolledBack => None,
        _ => return Ok(false),
    };
    if stopped.is_none() && facts.disruption_limited.is_none() {
        return Ok(false);
    }
    let write = |key: ObjectKey| {
        let stopped = stopped.filter(|_| stopped_slots.contains(&key));
        async move {
            let Some(object) = reservations.store().get(&key) else { return Ok(()) };
            write_disruption_limited(reservations, &key, object, &[SLOTS_OF_WRONG_SHAPE], stopped, now).await?;
            Ok(())
        }
        .boxed()
    };
    run_all(own_slots(facts).into_iter().map(write).collect()).await.map(|()| true)
}

fn own_slots(facts: &CommitmentFacts) -> Vec<ObjectKey> {
    let own = facts.holdings.iter().filter(|(cluster, holding)| **cluster == facts.cluster || !holding.shared);
    let keys = own.flat_map(|(cluster, holding)| {
        holding.slots.iter().map(|slot| ObjectKey::new(cluster.clone(), slot.name.as_str()))
    });
    keys.collect()
}

/// Whether the release follows from something else than the spec of the commitment: its amount, group, zone and
/// project.
fn is_unwished(why: ReleaseReason) -> bool {
    match why {
        ReleaseReason::NoMemory | ReleaseReason::TooFewCores | ReleaseReason::LostFlavor => true,
        ReleaseReason::OtherIdentity | ReleaseReason::Surplus => false,
    }
}

fn disruption(facts: &CommitmentFacts, plan: &CommitmentPlan) -> Option<Disruption> {
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

    fn disturbed(facts: &CommitmentFacts) -> Vec<String> {
        let disruption = disruption(facts, &plan(facts, Limits::default(), Ok(at(0))));
        disruption.into_iter().flat_map(|plan| plan.slots).map(|slot| slot.name.to_string()).collect()
    }

    #[test]
    fn slots_with_a_host_that_hold_nothing_count_and_those_without_do_not() {
        let broken = || vec![slot(0, 0, 0, Some("h")), slot(1, 0, 0, None), slot(2, 60, 15, Some("h"))];
        assert_eq!(disturbed(&facts("60Gi", broken())), ["commitment-uuid-1-0"]);
    }

    #[test]
    fn what_the_commitment_asks_for_does_not_count() {
        let slots = || vec![slot(0, 60, 15, Some("h")), slot(1, 60, 15, Some("h"))];
        assert_eq!(disturbed(&facts("60Gi", slots())), [""; 0], "the commitment shrinks");
        let mut moved = facts("120Gi", slots());
        moved.spec.group = "other".into();
        assert_eq!(disturbed(&moved), [""; 0], "another group");
        let deleting = CommitmentFacts { deleting: true, ..facts("120Gi", slots()) };
        assert_eq!(disturbed(&deleting), [""; 0]);
    }
}
