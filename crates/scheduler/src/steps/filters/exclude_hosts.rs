//! Removes hosts by name, as configured.

use std::collections::BTreeSet;

use berth_core::HostName;
use serde::Deserialize;

use crate::FilterName;
use crate::candidates::CandidateHosts;
use crate::params::{self, Param};
use crate::run::Run;
use crate::steps::{Effect, Filter, Made, StepError};

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct ExcludeHosts {
    excluded_hosts: BTreeSet<HostName>,
}

pub(super) fn load(params: &[Param]) -> Made<dyn Filter> {
    Ok(Box::new(params::decode::<ExcludeHosts>(params)?))
}

impl Filter for ExcludeHosts {
    fn name(&self) -> FilterName {
        FilterName::new("filter_exclude_hosts", "excluded hosts")
    }

    fn narrow(&self, run: &Run<'_>, field: &mut CandidateHosts<'_>) -> Result<Effect, StepError> {
        if self.excluded_hosts.is_empty() {
            return Ok(Effect::Skipped);
        }
        field.drop_named(run, &self.excluded_hosts.iter());
        Ok(Effect::Done)
    }
}
