//! Keeps hosts with accelerators when the flavor has a device profile.

use crate::FilterName;
use crate::candidates::CandidateHosts;
use crate::run::Run;
use crate::steps::{Effect, Filter, StepError};

#[derive(Debug)]
pub(super) struct HasAccelerators;

impl Filter for HasAccelerators {
    fn name(&self) -> FilterName {
        FilterName::new("filter_has_accelerators", "accelerators")
    }

    fn narrow(&self, run: &Run<'_>, field: &mut CandidateHosts<'_>) -> Result<Effect, StepError> {
        if run.extra_spec("accel:device_profile").is_none() {
            return Ok(Effect::Skipped);
        }
        field.keep(run.fleet.columns().traits.get("COMPUTE_ACCELERATORS"));
        Ok(Effect::Done)
    }
}
