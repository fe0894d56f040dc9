//! Commitments are split and merged.

use berth_testkit::seeds;
use futures::FutureExt as _;

use crate::case::{Case, Items};
use crate::stage::*;
use crate::support::*;

fn parts(new: u64, rest: u64) -> Items {
    vec![(NEW, Some(spec(NEW, new))), (REST, Some(spec(REST, rest))), (OLD, Some(superseded(OLD)))]
}

pub fn split() -> Vec<Case> {
    let slots = &[(NEW, 3), (REST, 1), (OLD, 0), (WAITING, 0)];
    vec![
        Case::accepted(|| stage_with_waiting(4).boxed(), |_| parts(3, 1), slots).without_confirmation(),
        Case::accepted(|| stage_with_waiting(4).boxed(), |_| parts(3, 1), slots),
        Case::rejected(|| stage_with_waiting(4).boxed(), |_| parts(3, 2)),
    ]
}

/// The slots keep their names, and the VMs their slots.
pub fn split_with_vms() -> Vec<Case> {
    let slots = &[(NEW, 3), (REST, 1), (OLD, 0)];
    vec![
        Case::accepted(|| stage_with_vms(4).boxed(), |_| parts(3, 1), slots)
            .without_confirmation()
            .and(|stage| assert_vms_kept(stage, &[NEW, REST], OLD)),
        Case::rejected(|| stage_with_vms(4).boxed(), |_| parts(3, 2)),
    ]
}

/// The slots of these commitments are the former ones of another, each with its VM.
fn assert_vms_kept(stage: &Stage, uuids: &[&str], former: &str) {
    let slots: Vec<_> = uuids.iter().flat_map(|uuid| slots_of(stage.server(), uuid)).collect();
    assert_eq!(slots.len(), 4);
    for slot in slots {
        let name = slot.metadata.name.unwrap();
        assert!(name.starts_with(&berth_crds::names::commitment(former)), "{name}");
        let vms = slot.spec.committed_resource_reservation.unwrap().allocations;
        assert_eq!(vms.keys().collect::<Vec<_>>(), [&format!("vm-{name}")]);
    }
}

pub fn merge() -> Vec<Case> {
    let slots = &[(NEW, 4), (OLD, 0), (REST, 0)];
    vec![
        Case::accepted(|| two_parts().boxed(), |_| merged(4), slots).without_confirmation(),
        Case::accepted(|| two_parts().boxed(), |_| merged(4), slots),
        Case::rejected(|| two_parts().boxed(), |_| merged(5)),
    ]
}

fn merged(slots: u64) -> Items {
    vec![(NEW, Some(spec(NEW, slots))), (OLD, Some(superseded(OLD))), (REST, Some(superseded(REST)))]
}

/// The whole host, in two commitments.
async fn two_parts() -> Stage {
    stage(4, &[seeds::rejectable(OLD, 3), seeds::rejectable(REST, 1)]).await
}
