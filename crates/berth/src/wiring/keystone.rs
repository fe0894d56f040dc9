//! Keystone for a process: the session with its credentials, and the check of callers' tokens.

use std::sync::Arc;

use berth_cluster::{Clusters, Right, Single, Verb};
use berth_openstack::authentication::{Authentication, NoAuth2, Off};
use berth_openstack::{
    ClientCertificate, Credentials, CredentialsSource, KeystoneTokens, OpenStackError, Secret as SecretName,
    SecretValues, Session, SessionSettings, TokenMetrics, TokenValidator, Verdict,
};
use berth_telemetry::clock::Clock;
use berth_telemetry::config::{AuthMode, Configuration, KeystoneKeys, SecretRef};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::Secret;
use secrecy::SecretString;
use tokio::sync::OnceCell;

use crate::error::Error;

const USER_AGENT: &str = concat!("berth/", env!("CARGO_PKG_VERSION"));

/// How the callers of an API are known in this mode.
pub(crate) fn authentication(
    mode: AuthMode,
    configuration: &Configuration,
    clusters: Option<&Clusters>,
    (clock, metrics): (Arc<dyn Clock>, TokenMetrics),
) -> Result<Arc<dyn Authentication>, Error> {
    Ok(match mode {
        AuthMode::Off => Arc::new(Off),
        AuthMode::NoAuth2 => Arc::new(NoAuth2),
        AuthMode::Keystone => {
            let session = LazySession::of_process(configuration, clusters).ok_or(Error::NoKeystone)?;
            Arc::new(KeystoneTokens::new(session, configuration.auth.token_cache_ttl, clock, metrics))
        }
    })
}

/// A login that a process makes when it is needed first.
pub(crate) struct PlannedSession {
    pub(crate) purpose: &'static str,
    /// The Secrets with the credentials, as `namespace/name`; none if they are in the configuration.
    pub(crate) secrets: Vec<String>,
    /// `None`: there are no credentials.
    pub(crate) session: Option<LazySession>,
}

impl PlannedSession {
    /// With the credentials at the top of the configuration.
    pub(crate) fn of_process(
        purpose: &'static str,
        configuration: &Configuration,
        clusters: Option<&Clusters>,
    ) -> Self {
        let common = &configuration.common;
        let secrets = described(common.keystone.iter().chain(&common.sso));
        Self { purpose, secrets, session: LazySession::of_process(configuration, clusters) }
    }
}

pub(super) fn described<'s>(secrets: impl IntoIterator<Item = &'s SecretRef>) -> Vec<String> {
    secrets.into_iter().map(|SecretRef { name, namespace }| format!("{namespace}/{name}")).collect()
}

/// The right to read these Secrets.
pub(super) fn secret_rights<'s>(secrets: impl IntoIterator<Item = &'s SecretRef>, why: &'static str) -> Vec<Right> {
    let right = |SecretRef { name, namespace }: &SecretRef| {
        let right = Right::resource("", "v1", "secrets", &[Verb::Get]).at_home().in_namespace(namespace);
        right.named([name]).because(why)
    };
    secrets.into_iter().map(right).collect()
}

/// The rights to authenticate callers.
pub(super) fn rights(configuration: &Configuration) -> Vec<Right> {
    if configuration.auth.mode != AuthMode::Keystone {
        return Vec::new();
    }
    process_secret_rights(configuration)
}

/// The rights to read the Secrets at the top of the configuration, for the tokens of callers.
pub(crate) fn process_secret_rights(configuration: &Configuration) -> Vec<Right> {
    let common = &configuration.common;
    secret_rights(
        common.keystone.iter().chain(&common.sso),
        "Credentials of Keystone, which validates the tokens of callers.",
    )
}

/// A session that is made when it is needed first, so that the start does not depend on Secrets. Clones share it.
#[derive(Clone)]
pub(crate) struct LazySession {
    shared: Arc<Unopened>,
}

struct Unopened {
    credentials: CredentialsReader,
    certificate: Option<SecretReader>,
    user_agent: String,
    session: OnceCell<Session>,
}

impl LazySession {
    /// The session with the credentials at the top of the configuration; `None` if there are none, or if they are in a Secret
    /// and there is no cluster.
    pub(crate) fn of_process(configuration: &Configuration, clusters: Option<&Clusters>) -> Option<Self> {
        let common = &configuration.common;
        let secret = |secret: &SecretRef| clusters.map(|clusters| SecretReader::new(clusters, secret));
        let credentials = match &common.keystone {
            Some(keystone) => CredentialsReader::Secret(secret(keystone)?),
            None => CredentialsReader::Keys(values(&configuration.keystone_keys)?),
        };
        let certificate = common.sso.as_ref().and_then(secret);
        Some(Self::new(credentials, certificate, configuration))
    }

    pub(super) fn new(
        credentials: CredentialsReader,
        certificate: Option<SecretReader>,
        configuration: &Configuration,
    ) -> Self {
        let user_agent = configuration.common.user_agent().unwrap_or_else(|| USER_AGENT.to_owned());
        Self { shared: Arc::new(Unopened { credentials, certificate, user_agent, session: OnceCell::new() }) }
    }

    pub(crate) async fn get(&self) -> Result<&Session, OpenStackError> {
        self.shared.session.get_or_try_init(|| self.shared.open()).await
    }
}

impl Unopened {
    async fn open(&self) -> Result<Session, OpenStackError> {
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

impl TokenValidator for LazySession {
    fn validate<'a>(&'a self, token: &'a SecretString) -> BoxFuture<'a, Result<Verdict, OpenStackError>> {
        async move { self.get().await?.validate(token).await }.boxed()
    }
}

impl LazySession {
    /// Reads the Secrets, and gets a token.
    pub(crate) async fn log_in(&self) -> Result<(), OpenStackError> {
        self.get().await?.token().await.map(drop)
    }
}

/// Where credentials are.
#[derive(Clone)]
pub(super) enum CredentialsReader {
    Secret(SecretReader),
    /// In the configuration.
    Keys(SecretValues),
}

impl CredentialsSource for CredentialsReader {
    fn read(&self) -> BoxFuture<'_, Result<Credentials, OpenStackError>> {
        async move {
            match self {
                Self::Secret(secret) => Credentials::of_secret(&secret.values().await?),
                Self::Keys(values) => Credentials::of_secret(values),
            }
        }
        .boxed()
    }
}

/// The keys of the configuration in the form of a Secret; `None` if some are missing.
fn values(keys: &KeystoneKeys) -> Option<SecretValues> {
    let (url, user, password) = (keys.url.as_ref()?, keys.user.as_ref()?, keys.password.as_ref()?);
    let values = [
        ("url", url.as_str()),
        ("availability", "public"),
        ("username", user),
        ("password", password.reveal()),
        ("projectName", &keys.project),
        ("userDomainName", &keys.user_domain),
        ("projectDomainName", &keys.project_domain),
    ];
    Some(values.into_iter().map(|(key, value)| (key.to_owned(), value.as_bytes().to_vec())).collect())
}

/// Reads one Secret of the home cluster whenever its values are needed.
#[derive(Clone)]
pub(super) struct SecretReader {
    secret: Single<Secret>,
    name: SecretName,
}

impl SecretReader {
    pub(super) fn new(clusters: &Clusters, SecretRef { name, namespace }: &SecretRef) -> Self {
        let secret = Single::new(clusters.clone(), namespace, name);
        Self { secret, name: SecretName { namespace: namespace.clone(), name: name.clone() } }
    }

    async fn values(&self) -> Result<SecretValues, OpenStackError> {
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

#[cfg(test)]
mod tests {
    use berth_telemetry::config::decode;
    use serde_json::json;

    use super::*;

    fn configuration(keys: &serde_json::Value) -> Configuration {
        decode(keys.as_object().unwrap(), false).unwrap().configuration
    }

    #[test]
    fn keys_are_read_as_a_secret_would_be() {
        let keys = json!({
            "keystoneURL": "https://id.example/v3", "osUsername": "berth", "osPassword": "s3cret", "osProjectName": "service",
            "osUserDomainName": "Default", "osProjectDomainName": "ccadmin",
        });
        let values = values(&configuration(&keys).keystone_keys).unwrap();
        let shown = |key: &str| String::from_utf8(values[key].clone()).unwrap();
        assert_eq!([shown("username"), shown("password"), shown("projectName")], ["berth", "s3cret", "service"]);
        assert_eq!([shown("userDomainName"), shown("projectDomainName")], ["Default", "ccadmin"]);
        Credentials::of_secret(&values).unwrap();
    }

    #[test]
    fn without_credentials_or_a_cluster_for_the_secret_there_is_no_session() {
        let secret = json!({ "keystoneSecretRef": { "name": "keystone", "namespace": "berth" } });
        let incomplete = json!({ "keystoneURL": "https://id.example", "osUsername": "berth" });
        for keys in [json!({}), secret, incomplete] {
            assert!(LazySession::of_process(&configuration(&keys), None).is_none(), "{keys}");
        }
    }

    #[test]
    fn the_secrets_are_readable_if_callers_authenticate() {
        let mut keys = json!({
            "keystoneSecretRef": { "name": "keystone", "namespace": "berth" },
            "ssoSecretRef": { "name": "sso", "namespace": "berth" },
        });
        assert_eq!(rights(&configuration(&keys)).len(), 2);
        keys["auth"] = json!({ "mode": "off" });
        assert_eq!(rights(&configuration(&keys)).len(), 0);
    }
}
