//! Keeps hosts of the wanted zone; a host without a zone is in none.

use crate::FilterName;
use crate::candidates::CandidateHosts;
use crate::run::Run;
use crate::steps::{Effect, Filter, StepError};

#[derive(Debug)]
pub(super) struct CorrectAz;

impl Filter for CorrectAz {
    fn name(&self) -> FilterName {
        FilterName::new("filter_correct_az", "zone")
    }

    fn narrow(&self, run: &Run<'_>, field: &mut CandidateHosts<'_>) -> Result<Effect, StepError> {
        let zone = &run.request.zone;
        if zone.is_empty() {
            return Ok(Effect::Skipped);
        }
        field.keep(run.fleet.columns().zones.get(zone.as_str()));
        Ok(Effect::Done)
    }
}
