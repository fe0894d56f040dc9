//! Keeps hosts whose aggregates admit the project (document 60 section 5.12). An empty project is never admitted by
//! a host that names projects.

use crate::{
    FilterName,
    run::Run,
    steps::{Check, Filter},
};

#[derive(Debug)]
pub(super) struct AggregateMetadata;

impl Filter for AggregateMetadata {
    fn name(&self) -> FilterName {
        super::name("filter_aggregate_metadata", "aggregate metadata")
    }

    fn prepare<'r>(&'r self, run: &'r Run<'r>) -> Result<Check<'r>, String> {
        if run.is_for(&super::NOT_A_VM) {
            return Ok(Check::Skip);
        }
        let project = &run.request.project;
        Ok(Check::keep(move |candidate| {
            candidate.seen.is_none_or(|seen| seen.row.tenants.is_empty() || seen.row.tenants.contains(project))
        }))
    }
}
