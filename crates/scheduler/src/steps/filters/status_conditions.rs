//! Keeps hosts whose conditions allow VMs to be placed. [`crate::row`] evaluates the conditions when a host changes.

use crate::FilterName;
use crate::candidates::CandidateHosts;
use crate::run::Run;
use crate::steps::{Effect, Filter, StepError};

#[derive(Debug)]
pub(super) struct StatusConditions;

impl Filter for StatusConditions {
    fn name(&self) -> FilterName {
        FilterName::new("filter_status_conditions", "status")
    }

    fn narrow(&self, run: &Run<'_>, field: &mut CandidateHosts<'_>) -> Result<Effect, StepError> {
        field.keep(&run.fleet.columns().in_service);
        Ok(Effect::Done)
    }
}
