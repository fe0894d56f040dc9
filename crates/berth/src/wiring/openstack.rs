//! Keystone for the operator: the names of domains and the lists of Limes, with the credentials of a Secret.

use std::sync::Arc;

use berth_cluster::{Clusters, Right, Single, Verb};
use berth_core::DomainId;
use berth_limes_syncer::LimesClient;
use berth_openstack::limes::{Limes, ListedCommitment, Project};
use berth_openstack::{
    ClientCertificate, Credentials, CredentialsSource, OpenStackError, Secret as SecretName, Session, SessionSettings,
};
use berth_scheduler::{DomainName, DomainNames, NoDomainNames, SchedulerError};
use berth_telemetry::config::{Configuration, SecretRef, Task};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::Secret;
use tokio::sync::OnceCell;

const USER_AGENT: &str = concat!("berth/", env!("CARGO_PKG_VERSION"));

/// The names of domains, from Keystone if it is configured.
pub(crate) fn domain_names(configuration: &Configuration, clusters: &Clusters) -> Arc<dyn DomainNames> {
    let controller = &configuration.reservation_controller;
    let Some(keystone) = &controller.keystone else { return Arc::new(NoDomainNames) };
    let connection = Connection::new(configuration, clusters, keystone, controller.sso.as_ref());
    Arc::new(KeystoneDomainNames { connection, names: OnceCell::new() })
}

/// The lists of Limes, if the syncer is to run.
pub(crate) fn limes_client(configuration: &Configuration, clusters: &Clusters) -> Option<Arc<dyn LimesClient>> {
    if !configuration.enabled_tasks.contains(&Task::CommitmentsSync) {
        return None;
    }
    let common = &configuration.common;
    let Some(keystone) = &common.keystone else {
        tracing::warn!("commitments-sync-task does not run, because keystoneSecretRef is not set");
        return None;
    };
    let connection = Connection::new(configuration, clusters, keystone, common.sso.as_ref());
    Some(Arc::new(KeystoneLimes { connection, limes: OnceCell::new() }))
}

/// The rights that this needs.
pub(super) fn rights(configuration: &Configuration) -> Vec<Right> {
    let controller = &configuration.reservation_controller;
    let Some(keystone) = &controller.keystone else { return Vec::new() };
    let why = "Credentials of Keystone, which knows the names of domains.";
    [Some(keystone), controller.sso.as_ref()].into_iter().flatten().map(|secret| secret_right(secret, why)).collect()
}

/// The rights that the lists of Limes need.
pub(super) fn limes_rights(configuration: &Configuration) -> Vec<Right> {
    let common = &configuration.common;
    let why = "Credentials of Keystone and Limes, whose commitments the syncer lists.";
    [&common.keystone, &common.sso].into_iter().flatten().map(|secret| secret_right(secret, why)).collect()
}

fn secret_right(SecretRef { name, namespace }: &SecretRef, why: &'static str) -> Right {
    let right = Right::resource("", "v1", "secrets", &[Verb::Get]).at_home().in_namespace(namespace).named([name]);
    right.because(why)
}

/// How a session with Keystone is made.
struct Connection {
    credentials: SecretReader,
    certificate: Option<SecretReader>,
    user_agent: String,
}

impl Connection {
    fn new(configuration: &Configuration, clusters: &Clusters, keystone: &SecretRef, sso: Option<&SecretRef>) -> Self {
        Self {
            credentials: SecretReader::new(clusters, keystone),
            certificate: sso.map(|sso| SecretReader::new(clusters, sso)),
            user_agent: configuration.common.user_agent().unwrap_or_else(|| USER_AGENT.to_owned()),
        }
    }

    async fn connect(&self) -> Result<Session, OpenStackError> {
        let certificate = match &self.certificate {
            Some(secret) => ClientCertificate::of_secret(&secret.values().await?)?,
            None => None,
        };
        if certificate.as_ref().is_some_and(ClientCertificate::skips_verification) {
            tracing::warn!("certificates of keystone are not verified: selfSigned is true in the SSO secret");
        }
        let settings = SessionSettings { user_agent: self.user_agent.clone(), certificate };
        Session::new(&settings, self.credentials.clone())
    }
}

struct KeystoneDomainNames {
    connection: Connection,
    /// Made when the first name is needed, so that the start does not depend on Secrets.
    names: OnceCell<berth_openstack::DomainNames>,
}

impl KeystoneDomainNames {
    async fn names(&self) -> Result<&berth_openstack::DomainNames, OpenStackError> {
        let connect = async || self.connection.connect().await.map(berth_openstack::DomainNames::new);
        self.names.get_or_try_init(connect).await
    }
}

struct KeystoneLimes {
    connection: Connection,
    /// Made when the first list is needed, for the same reason.
    limes: OnceCell<Limes>,
}

impl KeystoneLimes {
    async fn limes(&self) -> Result<&Limes, OpenStackError> {
        self.limes.get_or_try_init(async || self.connection.connect().await.map(Limes::new)).await
    }
}

impl LimesClient for KeystoneLimes {
    fn projects(&self) -> BoxFuture<'_, Result<Vec<Project>, OpenStackError>> {
        async move { self.limes().await?.list_projects().await }.boxed()
    }

    fn commitments<'a>(&'a self, project: &'a Project) -> BoxFuture<'a, Result<Vec<ListedCommitment>, OpenStackError>> {
        async move { self.limes().await?.list_commitments(project).await }.boxed()
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

/// Reads one Secret of the home cluster whenever its values are needed.
#[derive(Clone)]
struct SecretReader {
    secret: Single<Secret>,
    name: SecretName,
}

impl SecretReader {
    fn new(clusters: &Clusters, SecretRef { name, namespace }: &SecretRef) -> Self {
        let secret = Single::new(clusters.clone(), namespace, name);
        Self { secret, name: SecretName { namespace: namespace.clone(), name: name.clone() } }
    }

    async fn values(&self) -> Result<berth_openstack::SecretValues, OpenStackError> {
        let found = self
            .secret
            .read()
            .await
            .map_err(|error| OpenStackError::Unreadable { secret: self.name.clone(), cause: error.to_string() })?;
        let found = found.ok_or_else(|| OpenStackError::NoSecret(self.name.clone()))?;
        let values = found.data.iter().flatten();
        Ok(values.map(|(key, value)| (key.clone(), value.0.clone())).collect())
    }
}

impl CredentialsSource for SecretReader {
    fn read(&self) -> BoxFuture<'_, Result<Credentials, OpenStackError>> {
        async move { Credentials::of_secret(&self.values().await?) }.boxed()
    }
}
