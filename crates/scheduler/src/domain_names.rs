//! Names of OpenStack domains, for the filter for external customers. The implementation that the binary wires in
//! decides how they are read and cached.

use std::future::Future;
use std::pin::Pin;

use berth_core::DomainId;

use crate::SchedulerError;

/// The name of a domain; nothing when no resolver is configured.
pub type DomainName<'a> = Pin<Box<dyn Future<Output = Result<Option<String>, SchedulerError>> + Send + 'a>>;

/// Resolves domain ids to names.
pub trait DomainNames: Send + Sync + 'static {
    /// The name of a domain. A lookup that fails is an error and means "try again", never "no name": without
    /// the name a slot could land on a host that its customer may not use.
    fn resolve<'a>(&'a self, domain: &'a DomainId) -> DomainName<'a>;
}

/// No resolver is configured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoDomainNames;

impl DomainNames for NoDomainNames {
    fn resolve<'a>(&'a self, _: &'a DomainId) -> DomainName<'a> {
        Box::pin(std::future::ready(Ok(None)))
    }
}
