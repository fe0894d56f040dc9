//! Keeps hosts with free capacity for all instances of the request. [`crate::steps::question`] selects the reservations
//! that count, and the capacity view has their blocks. A host that is over-booked or whose capacity is not known has no
//! free capacity.

use serde::Deserialize;

use crate::candidates::CandidateHosts;
use crate::params::{self, Param};
use crate::run::Run;
use crate::steps::question::{self, Extra};
use crate::steps::{Effect, Filter, Made, StepError};
use crate::{FilterName, ReservationType};

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct Params {
    lock_reserved: bool,
    ignore_allocations: bool,
    ignored_reservation_types: Vec<String>,
}

#[derive(Debug)]
struct HasEnoughCapacity {
    extra: Extra,
}

pub(super) fn load(params: &[Param]) -> Made<dyn Filter> {
    let Params { lock_reserved, ignore_allocations, ignored_reservation_types } = params::decode(params)?;
    let ignored = ignored_reservation_types.iter().filter_map(|name| ReservationType::parse(name)).collect();
    Ok(Box::new(HasEnoughCapacity { extra: Extra { lock: lock_reserved, empty: ignore_allocations, ignored } }))
}

impl Filter for HasEnoughCapacity {
    fn name(&self) -> FilterName {
        FilterName::new("filter_has_enough_capacity", "capacity")
    }

    fn narrow(&self, run: &Run<'_>, field: &mut CandidateHosts<'_>) -> Result<Effect, StepError> {
        let size = run.request.size;
        if size.cpu.get() <= 0 {
            return Err(StepError::NoVcpus);
        }
        if size.memory.get() <= 0 {
            return Err(StepError::NoMemory);
        }
        let owner = question::owner(run, &self.extra);
        let question = question::question(run, &self.extra, owner.as_ref());
        let free_capacities = run.overlay.free_capacities(&question);
        let with_vms: &[_] = if question.assume_empty { &[] } else { &run.request.needs };
        let with_vms = with_vms.iter().filter_map(|(host, need)| Some((run.fleet.view.id(host)?, *need)));
        let with_vms: Vec<_> = with_vms.filter(|(id, _)| field.known.has(*id)).collect();
        // The engine counts hosts with unreadable capacity apart from full ones.
        let mut unreadable = run.fleet.columns().unreadable.clone();
        unreadable.keep(&field.known);
        free_capacities.keep_fitting(run.request.need(), &mut field.known);
        for (id, need) in with_vms {
            field.known.set(id, free_capacities.at(id).is_some_and(|free| need.fits(free)));
        }
        field.known.add(&unreadable);
        field.unknown_hosts.clear();
        Ok(Effect::Done)
    }
}
