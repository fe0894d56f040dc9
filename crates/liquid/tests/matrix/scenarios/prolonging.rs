//! Commitments are prolonged whose host or whose time is over.

use std::time::Duration;

use berth_crds::Time;
use berth_telemetry::clock::Clock as _;
use futures::FutureExt as _;

use crate::case::{Case, Items};
use crate::stage::*;
use crate::support::*;

fn prolonged(stage: &Stage) -> Items {
    let end = stage.clock.now().saturating_add(Duration::from_secs(36_000)).unwrap();
    let later = berth_crds::CommittedResourceSpec { end_time: Some(Time(end)), ..spec(OLD, 2) };
    vec![(OLD, Some(later))]
}

/// There is no capacity for it, and none is asked for.
pub fn prolong_after_host_loss() -> Vec<Case> {
    vec![
        Case::accepted(|| stage_without_host().boxed(), prolonged, &[(OLD, 0)]),
        Case::accepted(|| stage_without_host().boxed(), prolonged, &[(OLD, 0)]).without_confirmation(),
    ]
}

pub fn prolong_expired() -> Vec<Case> {
    vec![
        Case::accepted(|| expired_stage().boxed(), prolonged, &[(OLD, 2)])
            .and(|stage| assert_eq!(reason(stage.server(), OLD), "Accepted")),
        Case::rejected(|| stage_with_successor().boxed(), prolonged),
    ]
}
