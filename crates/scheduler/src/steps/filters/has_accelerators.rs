//! Keeps hosts with accelerators when the flavor has a device profile (document 60 section 5.8).

use crate::{
    FilterName,
    run::Run,
    steps::{Check, Filter},
};

#[derive(Debug)]
pub(super) struct HasAccelerators;

impl Filter for HasAccelerators {
    fn name(&self) -> FilterName {
        super::name("filter_has_accelerators", "accelerators")
    }

    fn prepare<'r>(&'r self, run: &'r Run<'r>) -> Result<Check<'r>, String> {
        if run.extra_spec("accel:device_profile").is_none() {
            return Ok(Check::Skip);
        }
        let accelerators = run.fleet.symbol("COMPUTE_ACCELERATORS");
        Ok(Check::keep(move |candidate| {
            accelerators.is_some_and(|wanted| candidate.seen.is_some_and(|seen| seen.row.traits.has(wanted)))
        }))
    }
}
