//! Keeps the host or the aggregates that the request names.

use std::iter;

use berth_capacity_view::HostSet;

use crate::candidates::CandidateHosts;
use crate::run::Run;
use crate::steps::{Effect, Filter, StepError};
use crate::{FilterName, Intent};

#[derive(Debug)]
pub(super) struct RequestedDestination;

impl Filter for RequestedDestination {
    fn name(&self) -> FilterName {
        FilterName::new("filter_requested_destination", "destination")
    }

    fn narrow(&self, run: &Run<'_>, field: &mut CandidateHosts<'_>) -> Result<Effect, StepError> {
        let Some(wanted) = run.request.destination.as_ref().filter(|_| !run.is_for(&Intent::NOT_A_VM_OR_SLOT)) else {
            return Ok(Effect::Skipped);
        };
        if wanted.host.is_empty() && wanted.aggregates.is_empty() {
            return Ok(Effect::Skipped);
        }
        for any in &wanted.aggregates {
            field.keep(&find_hosts_in_any(run, any));
        }
        if !wanted.host.is_empty() {
            field.keep_named(run, &iter::once(&wanted.host));
        }
        Ok(Effect::Done)
    }
}

/// The hosts in any of the aggregates that an element lists.
fn find_hosts_in_any(run: &Run<'_>, uuids: &str) -> HostSet {
    let mut hosts = HostSet::default();
    for uuid in uuids.split(',') {
        hosts.add(run.fleet.columns().aggregates.get(uuid));
    }
    hosts
}
