//! Keeps hosts whose aggregates admit the project. An empty project is never admitted by a host that names projects.

use crate::candidates::CandidateHosts;
use crate::run::Run;
use crate::steps::{Effect, Filter, StepError};
use crate::{FilterName, Intent};

#[derive(Debug)]
pub(super) struct AggregateMetadata;

impl Filter for AggregateMetadata {
    fn name(&self) -> FilterName {
        FilterName::new("filter_aggregate_metadata", "aggregate metadata")
    }

    fn narrow(&self, run: &Run<'_>, field: &mut CandidateHosts<'_>) -> Result<Effect, StepError> {
        if run.is_for(&Intent::NOT_A_VM) {
            return Ok(Effect::Skipped);
        }
        let (columns, project) = (run.fleet.columns(), &run.request.project);
        let admits = |id| columns.tenants(id).is_none_or(|tenants| tenants.contains(project));
        field.known.retain_among(&columns.tenanted, admits);
        Ok(Effect::Done)
    }
}
