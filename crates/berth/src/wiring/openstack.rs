//! The names of domains, which Keystone knows.

use std::sync::Arc;

use berth_cluster::{Clusters, Right};
use berth_core::DomainId;
use berth_openstack::OpenStackError;
use berth_scheduler::{DomainName, DomainNames, NoDomainNames, SchedulerError};
use berth_telemetry::config::Configuration;
use futures::FutureExt as _;
use tokio::sync::OnceCell;

use super::keystone::{self, CredentialsReader, LazySession, SecretReader};

/// The names of domains, from Keystone if it is configured.
pub(crate) fn domain_names(configuration: &Configuration, clusters: &Clusters) -> Arc<dyn DomainNames> {
    let controller = &configuration.reservation_controller;
    let Some(keystone) = &controller.keystone else { return Arc::new(NoDomainNames) };
    let credentials = CredentialsReader::Secret(SecretReader::new(clusters, keystone));
    let certificate = controller.sso.as_ref().map(|sso| SecretReader::new(clusters, sso));
    let session = LazySession::new(credentials, certificate, configuration);
    Arc::new(KeystoneDomainNames { session, names: OnceCell::new() })
}

/// The rights that this needs.
pub(super) fn rights(configuration: &Configuration) -> Vec<Right> {
    let controller = &configuration.reservation_controller;
    let Some(keystone) = &controller.keystone else { return Vec::new() };
    let secrets = [Some(keystone), controller.sso.as_ref()].into_iter().flatten();
    keystone::secret_rights(secrets, "Credentials of Keystone, which knows the names of domains.")
}

struct KeystoneDomainNames {
    session: LazySession,
    names: OnceCell<berth_openstack::DomainNames>,
}

impl KeystoneDomainNames {
    async fn names(&self) -> Result<&berth_openstack::DomainNames, OpenStackError> {
        self.names
            .get_or_try_init(|| async { self.session.get().await.cloned().map(berth_openstack::DomainNames::new) })
            .await
    }
}

impl DomainNames for KeystoneDomainNames {
    fn resolve<'a>(&'a self, domain: &'a DomainId) -> DomainName<'a> {
        let resolved = async move {
            if domain.as_str().is_empty() {
                return Ok(None);
            }
            let name = match self.names().await {
                Ok(names) => names.resolve(domain.as_str()).await,
                Err(error) => Err(error),
            };
            let failed =
                |error: OpenStackError| SchedulerError::DomainName { domain: domain.clone(), cause: error.to_string() };
            name.map(|name| Some(name.to_string())).map_err(failed)
        };
        resolved.boxed()
    }
}
