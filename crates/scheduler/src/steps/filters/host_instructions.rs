//! Applies the lists of hosts to ignore and to force; an empty list forces nothing.

use crate::FilterName;
use crate::candidates::CandidateHosts;
use crate::run::Run;
use crate::steps::{Effect, Filter, StepError};

#[derive(Debug)]
pub(super) struct HostInstructions;

impl Filter for HostInstructions {
    fn name(&self) -> FilterName {
        FilterName::new("filter_host_instructions", "host instructions")
    }

    fn narrow(&self, run: &Run<'_>, field: &mut CandidateHosts<'_>) -> Result<Effect, StepError> {
        let (ignored, forced) = (&run.request.ignore_hosts, &run.request.force_hosts);
        if ignored.is_empty() && forced.is_empty() {
            return Ok(Effect::Skipped);
        }
        field.drop_named(run, &ignored.iter());
        if !forced.is_empty() {
            field.keep_named(run, &forced.iter());
        }
        Ok(Effect::Done)
    }
}
