//! Prefers the host of the fail-over slot for an evacuated VM, before all other hosts.

use serde::Deserialize;

use crate::Intent;
use crate::feasible_hosts::FeasibleHosts;
use crate::params::{self, Param};
use crate::run::Run;
use crate::steps::{Made, Scores, Weigher};

#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct FailoverEvacuation {
    failover_host_weight: f64,
    default_host_weight: f64,
}

impl Default for FailoverEvacuation {
    fn default() -> Self {
        Self { failover_host_weight: 1.0, default_host_weight: 0.1 }
    }
}

pub(super) fn load(params: &[Param]) -> Made<dyn Weigher> {
    Ok(Box::new(params::decode::<FailoverEvacuation>(params)?))
}

impl Weigher for FailoverEvacuation {
    fn name(&self) -> &'static str {
        "kvm_failover_evacuation"
    }

    fn weigh(&self, run: &Run<'_>, hosts: &FeasibleHosts<'_>) -> Scores {
        if !run.is_for(&[Intent::Evacuate]) {
            return Scores::NoEffect;
        }
        let slots = run.fleet.view.failovers_for(&run.request.instance);
        let places = hosts.places(slots.filter_map(|slot| slot.status_host.as_ref()));
        let Self { failover_host_weight: here, default_host_weight: elsewhere } = *self;
        Scores::Few { places, here, elsewhere, first: true }
    }
}
