//! Keeps the VMs of external customers on hosts reserved for them. One-directional: other projects may use those hosts
//! too.

use serde::Deserialize;

use crate::candidates::CandidateHosts;
use crate::intent::DOMAIN_NAME;
use crate::params::{self, Param};
use crate::run::Run;
use crate::steps::{Effect, Filter, Made, StepError};
use crate::{FilterName, Intent};

const EXCLUSIVE: &str = "CUSTOM_EXTERNAL_CUSTOMER_EXCLUSIVE";

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct ExternalCustomer {
    domain_name_prefixes: Vec<String>,
    ignored_domain_names: Vec<String>,
}

pub(super) fn load(params: &[Param]) -> Made<dyn Filter> {
    let filter: ExternalCustomer = params::decode(params)?;
    if filter.domain_name_prefixes.is_empty() {
        return Err(StepError::NoDomainNamePrefixes);
    }
    Ok(Box::new(filter))
}

impl ExternalCustomer {
    fn is_external(&self, domain: &str) -> bool {
        !self.ignored_domain_names.iter().any(|ignored| ignored == domain)
            && self.domain_name_prefixes.iter().any(|prefix| domain.starts_with(prefix))
    }
}

impl Filter for ExternalCustomer {
    fn name(&self) -> FilterName {
        FilterName::new("filter_external_customer", "external customer")
    }

    fn narrow(&self, run: &Run<'_>, field: &mut CandidateHosts<'_>) -> Result<Effect, StepError> {
        let external = run.request.hints.get(DOMAIN_NAME).is_ok_and(|domain| self.is_external(domain));
        if run.is_for(&Intent::NOT_A_VM) || !external {
            return Ok(Effect::Skipped);
        }
        field.keep(run.fleet.columns().traits.get(EXCLUSIVE));
        Ok(Effect::Done)
    }
}
