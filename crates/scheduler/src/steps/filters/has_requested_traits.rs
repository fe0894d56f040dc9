//! Keeps hosts that have the required traits and none of the forbidden ones.

use crate::FilterName;
use crate::field::Field;
use crate::run::Run;
use crate::steps::{Effect, Filter, StepFault};

#[derive(Debug)]
pub(super) struct HasRequestedTraits;

impl Filter for HasRequestedTraits {
    fn name(&self) -> FilterName {
        FilterName::new("filter_has_requested_traits", "traits")
    }

    fn narrow(&self, run: &Run<'_>, field: &mut Field<'_>) -> Result<Effect, StepFault> {
        let specs = run.request.flavor.extra_specs.iter();
        let traits = specs.filter_map(|(key, value)| Some((key.strip_prefix("trait:")?, value.as_str())));
        let mut effect = Effect::Skipped;
        for (name, wish) in traits.filter(|(_, wish)| ["required", "forbidden"].contains(wish)) {
            let hosts = run.fleet.columns().traits.get(name);
            if wish == "required" {
                field.keep(hosts);
            } else {
                field.drop(hosts);
            }
            effect = Effect::Done;
        }
        Ok(effect)
    }
}
