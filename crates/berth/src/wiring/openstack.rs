//! What Keystone and Limes know: the names of domains and the lists of commitments, with the credentials of a Secret.

use std::sync::Arc;

use berth_cluster::{Clusters, Right};
use berth_core::DomainId;
use berth_limes_syncer::LimesClient;
use berth_openstack::OpenStackError;
use berth_openstack::limes::{Limes, ListedCommitment, Project};
use berth_scheduler::{DomainName, DomainNames, NoDomainNames, SchedulerError};
use berth_telemetry::config::{AuthMode, Configuration, Task};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::sync::OnceCell;

use super::keystone::{self, CredentialsReader, LazySession, PlannedSession, SecretReader};

/// The names of domains, from Keystone if it is configured.
pub(crate) fn domain_names(configuration: &Configuration, clusters: &Clusters) -> Arc<dyn DomainNames> {
    match domain_session(configuration, clusters) {
        Some(session) => Arc::new(KeystoneDomainNames { session, names: OnceCell::new() }),
        None => Arc::new(NoDomainNames),
    }
}

fn domain_session(configuration: &Configuration, clusters: &Clusters) -> Option<LazySession> {
    let controller = &configuration.reservation_controller;
    let credentials = CredentialsReader::Secret(SecretReader::new(clusters, controller.keystone.as_ref()?));
    let certificate = controller.sso.as_ref().map(|sso| SecretReader::new(clusters, sso));
    Some(LazySession::new(credentials, certificate, configuration))
}

/// The logins of an operator, one for each purpose. `serves_liquid`: callers of LIQUID are to be known.
pub(crate) fn planned_sessions(
    configuration: &Configuration,
    clusters: &Clusters,
    serves_liquid: bool,
) -> Vec<PlannedSession> {
    let controller = &configuration.reservation_controller;
    let of_process = |purpose| PlannedSession::of_process(purpose, configuration, Some(clusters));
    let callers =
        validates_tokens(configuration, serves_liquid).then(|| of_process("the tokens of callers of the LIQUID API"));
    let limes = wants_limes(configuration).then(|| of_process("the commitments of Limes"));
    let domains = domain_session(configuration, clusters).map(|session| PlannedSession {
        purpose: "the names of domains",
        secrets: keystone::described(controller.keystone.iter().chain(&controller.sso)),
        session: Some(session),
    });
    callers.into_iter().chain(limes).chain(domains).collect()
}

fn validates_tokens(configuration: &Configuration, serves_liquid: bool) -> bool {
    serves_liquid && configuration.auth.mode == AuthMode::Keystone
}

fn wants_limes(configuration: &Configuration) -> bool {
    configuration.enabled_tasks.contains(&Task::CommitmentsSync)
}

/// Whether the lists of Limes are read.
pub(super) fn asks_limes(configuration: &Configuration) -> bool {
    wants_limes(configuration) && configuration.keystone_keys.has_credentials
}

/// Whether the process logs in with its credentials. `serves_liquid`: callers of LIQUID are to be known.
pub(super) fn asks_keystone(configuration: &Configuration, serves_liquid: bool) -> bool {
    let validates = validates_tokens(configuration, serves_liquid);
    configuration.keystone_keys.has_credentials && (validates || wants_limes(configuration))
}

/// Whether Keystone is asked for the names of domains.
pub(super) fn resolves_domains(configuration: &Configuration) -> bool {
    configuration.reservation_controller.keystone.is_some()
}

/// The lists of Limes, if the syncer is to run.
pub(crate) fn limes_client(configuration: &Configuration, clusters: &Clusters) -> Option<Arc<dyn LimesClient>> {
    if !wants_limes(configuration) {
        return None;
    }
    let Some(session) = LazySession::of_process(configuration, Some(clusters)) else {
        tracing::warn!(
            "commitments-sync-task does not run, because there are no credentials; set keystoneSecretRef, or keystoneURL and the keys beside it"
        );
        return None;
    };
    Some(Arc::new(KeystoneLimes { session, limes: OnceCell::new() }))
}

/// The rights that this needs.
pub(super) fn rights(configuration: &Configuration) -> Vec<Right> {
    let controller = &configuration.reservation_controller;
    let Some(keystone) = &controller.keystone else { return Vec::new() };
    let secrets = [Some(keystone), controller.sso.as_ref()].into_iter().flatten();
    keystone::secret_rights(secrets, "Credentials of Keystone, which knows the names of domains.")
}

/// The rights that the lists of Limes need.
pub(super) fn limes_rights(configuration: &Configuration) -> Vec<Right> {
    let common = &configuration.common;
    let secrets = common.keystone.iter().chain(&common.sso);
    keystone::secret_rights(secrets, "Credentials of Keystone and Limes, whose commitments the syncer lists.")
}

struct KeystoneDomainNames {
    session: LazySession,
    names: OnceCell<berth_openstack::DomainNames>,
}

impl KeystoneDomainNames {
    async fn names(&self) -> Result<&berth_openstack::DomainNames, OpenStackError> {
        let connect = async || self.session.get().await.cloned().map(berth_openstack::DomainNames::new);
        self.names.get_or_try_init(connect).await
    }
}

struct KeystoneLimes {
    session: LazySession,
    limes: OnceCell<Limes>,
}

impl KeystoneLimes {
    async fn limes(&self) -> Result<&Limes, OpenStackError> {
        self.limes.get_or_try_init(async || self.session.get().await.cloned().map(Limes::new)).await
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
