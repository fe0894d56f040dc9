//! Consolidates fail-over slots on few hosts, but not those of one group on one host.

use serde::Deserialize;

use crate::Intent;
use crate::feasible_hosts::FeasibleHosts;
use crate::params::{self, Param};
use crate::run::Run;
use crate::steps::question::RESOURCE_GROUP;
use crate::steps::{Made, Scores, StepError, Weigher};

#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct FailoverReservationConsolidation {
    total_count_weight: f64,
    same_spec_penalty: f64,
}

impl Default for FailoverReservationConsolidation {
    fn default() -> Self {
        Self { total_count_weight: 1.0, same_spec_penalty: 0.1 }
    }
}

pub(super) fn load(params: &[Param]) -> Made<dyn Weigher> {
    let weigher: FailoverReservationConsolidation = params::decode(params)?;
    let (total, penalty) = (weigher.total_count_weight, weigher.same_spec_penalty);
    let problem = if total < 0.0 {
        StepError::Negative("totalCountWeight")
    } else if penalty < 0.0 {
        StepError::Negative("sameSpecPenalty")
    } else if total == 0.0 && penalty > 0.0 {
        StepError::PenaltyWithoutWeight
    } else if total > 0.0 && penalty >= total {
        StepError::PenaltyTooLarge
    } else {
        return Ok(Box::new(weigher));
    };
    Err(problem)
}

impl Weigher for FailoverReservationConsolidation {
    fn name(&self) -> &'static str {
        "kvm_failover_reservation_consolidation"
    }

    fn weigh(&self, run: &Run<'_>, hosts: &FeasibleHosts<'_>) -> Scores {
        if !run.is_for(&[Intent::ReserveForFailover]) {
            return Scores::NoEffect;
        }
        let group = run.request.hints.get(RESOURCE_GROUP).ok();
        let (mut total, mut here) = (0.0, vec![(0.0, 0.0); hosts.len()]);
        for slot in run.fleet.view.failovers() {
            let Some(host) = &slot.status_host else { continue };
            total += 1.0;
            if let Some(place) = hosts.place(host) {
                here[place].0 += 1.0;
                here[place].1 += if group == Some(slot.group.as_str()) { 1.0 } else { 0.0 };
            }
        }
        if total == 0.0 {
            return Scores::NoEffect;
        }
        let (weight, penalty) = (self.total_count_weight / total, self.same_spec_penalty / total);
        Scores::Each(here.into_iter().map(|(all, same)| weight * all - penalty * same).collect())
    }
}
