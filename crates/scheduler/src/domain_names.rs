//! Names of OpenStack domains, which the filter for external customers looks at. How they are looked up and cached
//! is for the implementation that the binary wires in.

use std::future::Future;

use berth_core::DomainId;

use crate::SchedulerError;

/// Resolves domain ids to names (document 21 section 6.2).
pub trait DomainNames: Send + Sync + 'static {
    /// The name of a domain; `Ok(None)` when no resolver is configured. With a resolver, a look-up that fails is an
    /// error and means "try again", never "no name" (U42): without the name a slot could land on a host that its
    /// customer may not use.
    fn resolve(&self, domain: &DomainId) -> impl Future<Output = Result<Option<String>, SchedulerError>> + Send;
}

/// No resolver is configured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoDomainNames;

impl DomainNames for NoDomainNames {
    async fn resolve(&self, _: &DomainId) -> Result<Option<String>, SchedulerError> {
        Ok(None)
    }
}
