//! Commitments are created, grow, shrink and are deleted.

use futures::FutureExt as _;

use crate::case::Case;
use crate::stage::*;
use crate::support::*;

pub fn sell() -> Vec<Case> {
    vec![
        Case::accepted(|| stage(4, &[]).boxed(), |_| vec![(NEW, Some(spec(NEW, 4)))], &[(NEW, 4)])
            .and(|stage| assert_eq!(reason(stage.server(), NEW), "Accepted")),
    ]
}

pub fn sell_rejected() -> Vec<Case> {
    vec![
        Case::rejected(|| stage_with_waiting(2).boxed(), |_| vec![(NEW, Some(spec(NEW, 1)))]),
        // One of the two would fit.
        Case::rejected(|| stage(2, &[]).boxed(), |_| vec![(NEW, Some(spec(NEW, 2))), (REST, Some(spec(REST, 1)))]),
    ]
}

/// Commitments grow over VMs that run outside of slots, on a host without free capacity for them.
pub fn grow_over_vms() -> Vec<Case> {
    let grown = Case::accepted(|| stage_with_vms_outside(4).boxed(), |_| vec![(OLD, Some(spec(OLD, 3)))], &[(OLD, 3)]);
    vec![
        // After a roll-back the slot with a VM stays, and not the one that was there before.
        Case { may_move: true, ..grown.and(|stage| assert_eq!(vms_in(stage, &[OLD]), 3)) },
        Case {
            may_move: true,
            ..Case::accepted(
                || stage_with_vms_outside(4).boxed(),
                |_| vec![(OLD, Some(spec(OLD, 2))), (NEW, Some(spec(NEW, 2)))],
                &[(OLD, 2), (NEW, 2)],
            )
            .without_confirmation()
            .and(|stage| assert_eq!(vms_in(stage, &[OLD, NEW]), 3))
        },
        Case {
            may_move: true,
            ..Case::rejected(
                || stage_with_vms_outside(4).boxed(),
                |_| vec![(OLD, Some(spec(OLD, 2))), (NEW, Some(spec(NEW, 3)))],
            )
        },
    ]
}

fn vms_in(stage: &Stage, uuids: &[&str]) -> usize {
    let slots = uuids.iter().flat_map(|uuid| slots_of(stage.server(), uuid));
    slots.map(|slot| slot.spec.committed_resource_reservation.unwrap().allocations.len()).sum()
}

/// One of each in one change: what shrinks and what is deleted is needed for what grows.
pub fn grow_shrink_delete() -> Vec<Case> {
    vec![
        Case::accepted(|| three_parts().boxed(), |_| vec![(OLD, Some(spec(OLD, 3)))], &[(OLD, 3)]),
        Case::accepted(|| full_stage(4).boxed(), |_| vec![(OLD, Some(spec(OLD, 1)))], &[(OLD, 1)]),
        Case::accepted(|| full_stage(4).boxed(), |_| vec![(OLD, None)], &[(OLD, 0)]).without_confirmation(),
        Case::accepted(
            || full_stage(2).boxed(),
            |_| vec![(OLD, None), (NEW, Some(spec(NEW, 2)))],
            &[(OLD, 0), (NEW, 2)],
        ),
        Case::accepted(
            || three_parts().boxed(),
            |_| vec![(OLD, Some(spec(OLD, 5))), (REST, Some(spec(REST, 1))), (NEW, None)],
            &[(OLD, 5), (REST, 1), (NEW, 0)],
        ),
        Case::rejected(
            || three_parts().boxed(),
            |_| vec![(OLD, Some(spec(OLD, 6))), (REST, Some(spec(REST, 1))), (NEW, None)],
        ),
    ]
}

/// Three commitments of two slots, two and one, and a free slot.
async fn three_parts() -> Stage {
    use berth_testkit::seeds::rejectable;
    stage(6, &[rejectable(OLD, 2), rejectable(REST, 2), rejectable(NEW, 1)]).await
}
