//! Keeps hosts whose conditions let VMs be placed. The conditions themselves are judged when the host changes, in
//! [`crate::row`].

use crate::FilterName;
use crate::field::Field;
use crate::run::Run;
use crate::steps::{Effect, Filter, StepFault};

#[derive(Debug)]
pub(super) struct StatusConditions;

impl Filter for StatusConditions {
    fn name(&self) -> FilterName {
        FilterName::new("filter_status_conditions", "status")
    }

    fn narrow(&self, run: &Run<'_>, field: &mut Field<'_>) -> Result<Effect, StepFault> {
        field.keep(&run.fleet.columns().in_service);
        Ok(Effect::Done)
    }
}
