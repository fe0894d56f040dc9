//! Commitments move to other projects.

use berth_crds::CommittedResourceSpec;
use futures::FutureExt as _;

use crate::case::{Case, Items};
use crate::stage::*;
use crate::support::*;

const OTHER_PROJECT: &str = "another";

fn of_other_project(spec: CommittedResourceSpec) -> CommittedResourceSpec {
    CommittedResourceSpec { project_id: OTHER_PROJECT.to_owned(), ..spec }
}

fn transfer_of(slots: u64) -> Items {
    vec![(OLD, Some(of_other_project(spec(OLD, slots))))]
}

fn assert_project(stage: &Stage) {
    for slot in slots_of(stage.server(), OLD) {
        let project = slot.spec.committed_resource_reservation.unwrap().project_id;
        assert_eq!(project.as_deref(), Some(OTHER_PROJECT));
    }
}

pub fn transfer() -> Vec<Case> {
    vec![
        Case::accepted(|| stage_with_waiting(4).boxed(), |_| transfer_of(4), &[(OLD, 4)]).and(assert_project),
        Case::accepted(|| stage_with_waiting(4).boxed(), |_| transfer_of(4), &[(OLD, 4)])
            .without_confirmation()
            .and(assert_project),
        Case::rejected(|| stage_with_waiting(4).boxed(), |_| transfer_of(5)),
    ]
}

/// The VMs stay where they are and belong to the former project, so that the other one needs other capacity. Once the slots
/// of the VMs are gone, the VMs count as those of others, and a roll-back finds no room beside them.
pub fn transfer_with_vms() -> Vec<Case> {
    let accepted = Case::accepted(|| stage_with_vms_and_room(4).boxed(), |_| transfer_of(4), &[(OLD, 4)]);
    vec![
        Case { may_move: true, ..accepted.and(assert_away_from_vms) },
        Case::rejected(|| stage_with_vms_and_room(4).boxed(), |_| transfer_of(5)),
        Case::rejected(|| stage_with_vms(4).boxed(), |_| transfer_of(4)),
    ]
}

fn assert_away_from_vms(stage: &Stage) {
    assert_project(stage);
    for slot in slots_of(stage.server(), OLD) {
        assert_eq!(slot.spec.target_host.as_deref(), Some("node2"));
    }
}

/// Another project consumes a part of a commitment: what is left stays with its project.
pub fn consume_with_left_over() -> Vec<Case> {
    vec![
        Case::accepted(
            || stage_with_waiting(4).boxed(),
            |_| consumed(3),
            &[(REST, 1), (NEW, 3), (OLD, 0), (WAITING, 0)],
        ),
        Case::rejected(|| stage_with_waiting(4).boxed(), |_| consumed(4)),
    ]
}

fn consumed(slots: u64) -> Items {
    let new = of_other_project(spec(NEW, slots));
    vec![(OLD, Some(superseded(OLD))), (REST, Some(spec(REST, 1))), (NEW, Some(new))]
}
