//! Prefers hosts that are fuller with the VM on them; with a negative multiplier it spreads. Reservations count as used
//! only when `considerReservations` is set.

use std::collections::BTreeMap;

use berth_capacity_view::{FreeCapacities, HostId};
use berth_core::Resources;
use berth_core::host::Amounts;
use serde::Deserialize;

use crate::feasible_hosts::FeasibleHosts;
use crate::params::{self, Param};
use crate::row::HostFigures;
use crate::run::Run;
use crate::steps::question::{self, Extra};
use crate::steps::{Made, ResourceWeights, Scores, StepError, Weigher};

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct Params {
    resource_weights: BTreeMap<String, f64>,
    consider_reservations: bool,
}

#[derive(Debug)]
struct Binpack {
    weights: ResourceWeights,
    consider_reservations: bool,
}

pub(super) fn load(params: &[Param]) -> Made<dyn Weigher> {
    let Params { resource_weights, consider_reservations } = params::decode(params)?;
    let weights = ResourceWeights::new(&resource_weights)?;
    for (resource, weight) in &resource_weights {
        if *weight == 0.0 {
            return Err(StepError::ZeroWeightOf(resource.clone()));
        }
        if *weight < 0.0 {
            return Err(StepError::NegativeWeightOf(resource.clone()));
        }
    }
    Ok(Box::new(Binpack { weights, consider_reservations }))
}

impl Weigher for Binpack {
    fn name(&self) -> &'static str {
        "kvm_binpack"
    }

    fn statistic(&self) -> Option<&'static str> {
        Some("binpack score")
    }

    fn weigh(&self, run: &Run<'_>, hosts: &FeasibleHosts<'_>) -> Scores {
        let vm = run.request.need();
        let extra = Extra::default();
        let owner = question::owner(run, &extra);
        let free_capacities = || run.overlay.free_capacities(&question::question(run, &extra, owner.as_ref()));
        let free_capacities = self.consider_reservations.then(free_capacities);
        let alone = HostFigures::from(Amounts::from(vm));
        let added = |id| {
            free_capacities
                .as_ref()
                .map_or(alone, |free_capacities| Amounts::from(vm + blocked(free_capacities, run, id)).into())
        };
        let columns = run.fleet.columns();
        let memory = |id| share(columns.allocation(id).memory, added(id).memory, columns.capacity(id).memory);
        let cpu = |id| share(columns.allocation(id).cpu, added(id).cpu, columns.capacity(id).cpu);
        Scores::Each(self.weights.mean(hosts, memory, cpu))
    }
}

/// The capacity that the counted reservations block on the host.
fn blocked(free_capacities: &FreeCapacities<'_>, run: &Run<'_>, id: HostId) -> Resources {
    let before = run.fleet.host(id).and_then(|host| host.unreserved().known());
    let after = free_capacities.at(id);
    before.zip(after).map_or(Resources::ZERO, |(before, after)| (before - after).at_least_zero())
}

/// NaN if the capacity or the usage of the host is unknown.
fn share(used: f64, added: f64, capacity: f64) -> f64 {
    if capacity == 0.0 { f64::NAN } else { (used + added) / capacity }
}
