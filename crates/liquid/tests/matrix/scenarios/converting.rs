//! Commitments are converted to another flavor group, or their cores are given to others.

use berth_crds::{CommitmentState, CommittedResourceSpec};
use berth_testkit::seeds;
use futures::FutureExt as _;

use crate::case::{Case, Items};
use crate::stage::*;
use crate::support::*;

/// All of the commitment becomes so many slots of the other group.
pub fn conversion(slots: u64) -> Items {
    vec![(NEW, Some(in_other_group(spec(NEW, slots)))), (OLD, Some(superseded(OLD)))]
}

/// There is capacity for both.
pub fn convert() -> Vec<Case> {
    vec![
        Case::accepted(|| half_full().boxed(), |_| conversion(2), &[(NEW, 2), (OLD, 0)]),
        Case::accepted(|| half_full().boxed(), |_| conversion(2), &[(NEW, 2), (OLD, 0)]).without_confirmation(),
        Case::rejected(|| half_full().boxed(), |_| conversion(5)),
    ]
}

async fn half_full() -> Stage {
    stage(4, &[seeds::rejectable(OLD, 2)]).await
}

/// There is no capacity but that of the commitment itself. A deletion releases it as well.
pub fn convert_full() -> Vec<Case> {
    vec![
        Case::accepted(|| full_stage(4).boxed(), |_| conversion(4), &[(NEW, 4), (OLD, 0)]),
        Case::accepted(|| full_stage(4).boxed(), |_| deletion(4), &[(NEW, 4), (OLD, 0)]),
        Case::rejected(|| full_stage(4).boxed(), |_| conversion(5))
            .because("insufficient capacity: 4/5 reservation slots could be placed"),
        Case::rejected(|| full_stage(4).boxed(), |_| deletion(5)),
    ]
}

fn deletion(slots: u64) -> Items {
    vec![(NEW, Some(in_other_group(spec(NEW, slots)))), (OLD, None)]
}

/// The one that waits gets what is left when the change has ended, and nothing before.
pub fn convert_while_others_wait() -> Vec<Case> {
    vec![
        Case::accepted(|| stage_with_waiting(4).boxed(), |_| conversion(3), &[(NEW, 3), (OLD, 0), (WAITING, 1)]),
        Case::rejected(|| stage_with_waiting(4).boxed(), |_| conversion(5)),
        // Slots were handed over before the change is undone.
        Case::rejected(|| stage_with_waiting(4).boxed(), |_| half_converted()),
    ]
}

fn half_converted() -> Items {
    let mut items = conversion(2);
    items.insert(1, (REST, Some(spec(REST, 3))));
    items
}

pub fn convert_cores() -> Vec<Case> {
    vec![
        Case::accepted(|| stage_with_cores(8).boxed(), |_| given_cores(8), &[]).and(|stage| {
            assert_eq!([NEW, WAITING].map(|uuid| reason(stage.server(), uuid)), ["Accepted", "Reserving"]);
        }),
        Case::rejected(|| stage_with_cores(8).boxed(), |_| given_cores(9))
            .because("insufficient CPU cores: 8 available, 9 requested"),
        Case::accepted(|| stage_with_cores(8).boxed(), |_| cores_to_memory(), &[(NEW, 4)])
            .and(|stage| assert_eq!([NEW, WAITING].map(|uuid| reason(stage.server(), uuid)), ["Accepted", "Accepted"])),
    ]
}

fn given_cores(count: u64) -> Items {
    let new = CommittedResourceSpec { allow_rejection: true, ..seeds::cores(NEW, count).spec };
    vec![(NEW, Some(new)), (OLD, Some(superseded_cores()))]
}

fn cores_to_memory() -> Items {
    vec![(NEW, Some(spec(NEW, 4))), (OLD, Some(superseded_cores()))]
}

fn superseded_cores() -> CommittedResourceSpec {
    let state = CommitmentState::Superseded;
    CommittedResourceSpec { state, amount: "0".into(), allow_rejection: true, ..seeds::cores(OLD, 0).spec }
}
