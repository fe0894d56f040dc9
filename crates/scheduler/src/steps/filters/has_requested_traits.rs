//! Keeps hosts that have the required traits and none of the forbidden ones.

use crate::FilterName;
use crate::candidates::CandidateHosts;
use crate::run::Run;
use crate::steps::{Effect, Filter, StepError};

#[derive(Debug)]
pub(super) struct HasRequestedTraits;

impl Filter for HasRequestedTraits {
    fn name(&self) -> FilterName {
        FilterName::new("filter_has_requested_traits", "traits")
    }

    fn narrow(&self, run: &Run<'_>, field: &mut CandidateHosts<'_>) -> Result<Effect, StepError> {
        let specs = run.request.flavor.extra_specs.iter();
        let traits = specs.filter_map(|(key, value)| Some((key.strip_prefix("trait:")?, value.as_str())));
        let mut effect = Effect::Skipped;
        for (name, desired) in traits.filter(|(_, desired)| ["required", "forbidden"].contains(desired)) {
            let hosts = run.fleet.columns().traits.get(name);
            if desired == "required" {
                field.keep(hosts);
            } else {
                field.drop(hosts);
            }
            effect = Effect::Done;
        }
        Ok(effect)
    }
}
