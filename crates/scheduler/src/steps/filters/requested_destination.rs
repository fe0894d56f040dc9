//! Keeps the host or the aggregates that the caller asks for (document 60 section 5.14).

use crate::{
    FilterName,
    fleet::Seen,
    run::Run,
    steps::{Check, Filter},
};

#[derive(Debug)]
pub(super) struct RequestedDestination;

impl Filter for RequestedDestination {
    fn name(&self) -> FilterName {
        super::name("filter_requested_destination", "destination")
    }

    fn prepare<'r>(&'r self, run: &'r Run<'r>) -> Result<Check<'r>, String> {
        let Some(wanted) = run.request.destination.as_ref().filter(|_| !run.is_for(&super::NOT_A_VM_OR_SLOT)) else {
            return Ok(Check::Skip);
        };
        if wanted.host.is_empty() && wanted.aggregates.is_empty() {
            return Ok(Check::Skip);
        }
        Ok(Check::keep(|candidate| {
            let in_aggregates = || candidate.seen.is_some_and(|seen| in_all(&seen, &wanted.aggregates));
            (wanted.aggregates.is_empty() || in_aggregates())
                && (wanted.host.is_empty() || wanted.host == *candidate.name)
        }))
    }
}

/// Every element must be met, by any of the UUIDs that it lists.
fn in_all(seen: &Seen<'_>, wanted: &[String]) -> bool {
    let aggregates = &seen.host().aggregates;
    wanted.iter().all(|any| any.split(',').any(|uuid| aggregates.iter().any(|aggregate| aggregate.uuid == uuid)))
}
