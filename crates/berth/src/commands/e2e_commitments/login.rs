//! The token of the requests: from a file, or of a login to Keystone.

use std::fs;
use std::path::Path;

use berth_cluster::{Cluster, Clusters};
use berth_telemetry::config::Configuration;
use secrecy::SecretString;
use tracing::info;

use crate::args::E2eCommitmentsArguments;
use crate::error::Error;
use crate::operator::user_agent;
use crate::wiring::LazySession;

/// Where the token comes from.
pub(super) enum Login {
    Nothing,
    File(SecretString),
    Keystone(LazySession),
}

impl Login {
    /// The file of the flag, or else the credentials of the configuration, or else nothing, which is logged.
    pub(super) async fn of(arguments: &E2eCommitmentsArguments, configuration: &Configuration) -> Result<Self, Error> {
        if let Some(path) = &arguments.token_file {
            return read_token(path).map(Self::File);
        }
        let clusters = match &configuration.common.keystone {
            Some(_) => Some(clusters(arguments.kubeconfig.as_deref(), configuration).await?),
            None => None,
        };
        if let Some(session) = LazySession::of_process(configuration, clusters.as_ref()) {
            return Ok(Self::Keystone(session));
        }
        info!("requests have no token: there is neither --token-file nor keystoneSecretRef");
        Ok(Self::Nothing)
    }

    pub(super) async fn token(&self) -> Result<Option<SecretString>, String> {
        match self {
            Self::Nothing => Ok(None),
            Self::File(token) => Ok(Some(token.clone())),
            Self::Keystone(session) => {
                let token = async { session.get().await?.token().await };
                token.await.map(Some).map_err(|error| format!("no login to keystone: {error}"))
            }
        }
    }
}

fn read_token(path: &Path) -> Result<SecretString, Error> {
    let wrong = |why: &str| Error::Wrong(format!("--token-file {}: {why}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| wrong(&error.to_string()))?;
    let token = text.trim();
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(wrong(
            "has no token, or more than one line; write the output of `openstack token issue -f value -c id` into it",
        ));
    }
    Ok(token.to_owned().into())
}

async fn clusters(kubeconfig: Option<&Path>, configuration: &Configuration) -> Result<Clusters, Error> {
    let home = Cluster::unreached(kubeconfig, &user_agent(configuration)).await;
    Ok(home.map_err(|source| Error::NoSecrets { source })?.into())
}
