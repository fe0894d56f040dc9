//! Prefers hosts that are fuller with the VM on them (document 60 section 7.2); with a negative multiplier it
//! spreads. Reservations count as used only when `considerReservations` is set (B14).

use std::collections::BTreeMap;

use berth_capacity_view::Rooms;
use berth_core::{Resources, host::Amounts};
use serde::Deserialize;

use super::ResourceWeights;
use crate::{
    fleet::Seen,
    order::Weighed,
    params::{self, Param},
    row::Figures,
    run::Run,
    steps::{
        Scores, Weigher,
        question::{self, Extra},
    },
};

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

pub(super) fn load(params: &[Param]) -> Result<Box<dyn Weigher>, String> {
    let Params { resource_weights, consider_reservations } = params::decode(params)?;
    let weights = ResourceWeights::new(&resource_weights)?;
    for (resource, weight) in &resource_weights {
        if *weight == 0.0 {
            return Err(format!(
                "resource weight for {resource} can't be zero, if you want to disable this resource in the weigher, \
                 remove it or the weigher"
            ));
        }
        if *weight < 0.0 {
            return Err(format!(
                "resource weight for {resource} can't be negative. use weigher.multiplier to invert this weighers \
                 behavior"
            ));
        }
    }
    Ok(Box::new(Binpack { weights, consider_reservations }))
}

impl Weigher for Binpack {
    fn name(&self) -> &'static str {
        "kvm_binpack"
    }

    fn prepare<'r>(&'r self, run: &'r Run<'r>, _: &[Weighed<'r>]) -> Scores<'r> {
        let vm = run.request.need();
        let extra = Extra::default();
        let owner = question::owner(run, &extra);
        let rooms = || run.fleet.view.rooms(&question::question(run, &extra, owner.as_ref()));
        let rooms = self.consider_reservations.then(rooms);
        Scores::each(move |host| {
            let Some(seen) = host.seen else { return 0.0 };
            let blocked = rooms.as_ref().map_or(Resources::ZERO, |rooms| blocked(rooms, &seen));
            self.weights.mean(utilisation(&seen, vm + blocked))
        })
    }
}

/// What the reservations that count for the request block on the host.
fn blocked(rooms: &Rooms<'_>, seen: &Seen<'_>) -> Resources {
    let before = seen.host().unreserved().known();
    let after = rooms.at(seen.id, seen.state);
    before.zip(after).map_or(Resources::ZERO, |(before, after)| (before - after).at_least_zero())
}

fn utilisation(seen: &Seen<'_>, added: Resources) -> Figures {
    let (used, added, capacity) = (seen.row.allocation, Figures::from(Amounts::from(added)), seen.row.capacity);
    Figures { memory: share(used.memory, added.memory, capacity.memory), cpu: share(used.cpu, added.cpu, capacity.cpu) }
}

/// `None` when the host does not say what it has or what is used.
fn share(used: Option<f64>, added: Option<f64>, capacity: Option<f64>) -> Option<f64> {
    let capacity = capacity.filter(|capacity| *capacity != 0.0)?;
    Some((used? + added?) / capacity)
}
