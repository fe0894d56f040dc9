//! Connects to the home cluster and to the remotes, from a kubeconfig or from inside a pod, with time limits for
//! connections. `preflight` and `cluster_health` check whether a cluster is usable.

use std::io;
use std::path::Path;
use std::time::Duration;

use berth_core::ClusterName;
use berth_telemetry::chain::is_caused_by;
use berth_telemetry::clock::ClockSkew;
use berth_telemetry::config::{ApiServers, Remote};
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use tokio::time::timeout;

use crate::deadlines::{READ_DEADLINE, WATCH_TIMEOUT};
use crate::names::names;
use crate::{Cluster, Clusters, chain};

mod error;
mod stack;
mod token;

pub use error::ConnectError;
pub use token::bearer_token;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

impl Cluster {
    /// Connects to the cluster of `kubeconfig`, or, without one, to the one that the environment names: `KUBECONFIG`,
    /// `~/.kube/config`, the service account of the pod. It is called `home`.
    pub async fn connect(kubeconfig: Option<&Path>, user_agent: &str) -> Result<Self, ConnectError> {
        home(configured(kubeconfig, user_agent).await?, kubeconfig, None).await
    }

    /// The same cluster without speaking to it: it may be away for now.
    pub async fn unreached(kubeconfig: Option<&Path>, user_agent: &str) -> Result<Self, ConnectError> {
        client_of_home(configured(kubeconfig, user_agent).await?, kubeconfig, None)
    }

    /// Connects to the home cluster as [`Cluster::connect`] does, and prepares clients of the remotes, with the credentials
    /// of the home cluster. Remotes are not spoken to, so one that is away stops nothing. `skew` gets the times of the home
    /// cluster's answers.
    pub async fn connect_all(
        kubeconfig: Option<&Path>,
        user_agent: &str,
        servers: &ApiServers,
        skew: Option<ClockSkew>,
    ) -> Result<Clusters, ConnectError> {
        let config = configured(kubeconfig, user_agent).await?;
        let remotes = servers.remotes.iter().zip(names(servers)).enumerate();
        let remotes: Result<Vec<_>, _> =
            remotes.map(|(index, (remote, name))| cluster(&config, index, remote, name)).collect();
        let remotes = remotes?;
        Ok(Clusters::new(home(config, kubeconfig, skew).await?, remotes))
    }
}

/// Host and port of the API server that [`Cluster::connect`] would talk to; `None` when there is no usable configuration.
pub async fn home_server(kubeconfig: Option<&Path>) -> Option<(String, u16)> {
    let url = configured(kubeconfig, "").await.ok()?.cluster_url;
    let port = url.port_u16().unwrap_or(if url.scheme_str() == Some("http") { 80 } else { 443 });
    Some((url.host()?.to_owned(), port))
}

async fn configured(kubeconfig: Option<&Path>, user_agent: &str) -> Result<Config, ConnectError> {
    let mut config = match kubeconfig {
        Some(path) => from_file(path).await?,
        None => Config::infer().await.map_err(|error| ConnectError::Nowhere { reason: chain(&error) })?,
    };
    tune(&mut config, user_agent);
    Ok(config)
}

async fn home(config: Config, kubeconfig: Option<&Path>, skew: Option<ClockSkew>) -> Result<Cluster, ConnectError> {
    let server = config.cluster_url.to_string();
    let home = client_of_home(config, kubeconfig, skew)?;
    greet(&home.client, server).await?;
    Ok(home)
}

fn client_of_home(config: Config, kubeconfig: Option<&Path>, skew: Option<ClockSkew>) -> Result<Cluster, ConnectError> {
    let client = stack::client(config, skew).map_err(|error| invalid(kubeconfig, chain(&error)))?;
    Ok(Cluster { name: ClusterName::home(), client })
}

/// Where a configuration was found is part of the error.
fn invalid(kubeconfig: Option<&Path>, reason: String) -> ConnectError {
    let origin = kubeconfig.map_or("found in the environment".to_owned(), |path| path.display().to_string());
    ConnectError::Invalid { origin, reason }
}

async fn from_file(path: &Path) -> Result<Config, ConnectError> {
    let invalid = |error: KubeconfigError| match error {
        KubeconfigError::ReadConfig(source, _) if source.kind() == io::ErrorKind::NotFound => {
            ConnectError::Missing { path: path.to_owned() }
        }
        KubeconfigError::ReadConfig(source, _) => ConnectError::Unreadable { path: path.to_owned(), source },
        error => ConnectError::Invalid { origin: path.display().to_string(), reason: chain(&error) },
    };
    let kubeconfig = Kubeconfig::read_from(path).map_err(invalid)?;
    Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.map_err(invalid)
}

fn tune(config: &mut Config, user_agent: &str) {
    // A repeated write would outlive its deadline, and a repeated create meets itself.
    config.default_retry = false;
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    config.write_timeout = Some(READ_DEADLINE);
    // The longest silence of a healthy connection is that of a watch.
    config.read_timeout = Some(WATCH_TIMEOUT + READ_DEADLINE);
    config.reset_reader_on_write = true;
    if let (Ok(name), Ok(value)) = ("user-agent".parse(), user_agent.parse()) {
        config.headers.push((name, value));
    }
}

async fn greet(client: &Client, server: String) -> Result<(), ConnectError> {
    let reason = match timeout(READ_DEADLINE, client.apiserver_version()).await {
        Ok(Ok(_)) => return Ok(()),
        Ok(Err(kube::Error::Api(status))) if status.code == 401 => return Err(ConnectError::Unauthorized { server }),
        // Whether we may do what we need is the question of the preflight.
        Ok(Err(kube::Error::Api(status))) if status.code == 403 => return Ok(()),
        Ok(Err(kube::Error::Api(status))) if status.code < 500 => {
            return Err(ConnectError::NotKubernetes { server, reason: status.message });
        }
        Ok(Err(error @ kube::Error::SerdeError(_))) => {
            return Err(ConnectError::NotKubernetes { server, reason: chain(&error) });
        }
        Ok(Err(error)) if is_caused_by(&error, io::ErrorKind::TimedOut) => return Err(ConnectError::Silent { server }),
        Ok(Err(error)) => chain(&error),
        Err(_) => return Err(ConnectError::Silent { server }),
    };
    Err(ConnectError::Unreachable { server, reason })
}

// The configuration of a remote cluster: that of the home cluster with another URL and another root certificate. It
// does not connect to the cluster.

/// A client for the remote at `index` of the configuration, with the credentials of `home`.
fn cluster(home: &Config, index: usize, remote: &Remote, name: ClusterName) -> Result<Cluster, ConnectError> {
    let wrong = |key, reason| ConnectError::Remote { index, key, host: remote.host.clone(), reason };
    let mut config = home.clone();
    config.cluster_url = remote.host.parse().map_err(|error| wrong("host", format!("is not a URL: {error}")))?;
    config.accept_invalid_certs = remote.insecure_skip_tls_verify;
    // The name in the certificate of the home cluster does not apply to this one.
    config.tls_server_name = None;
    let own_root = remote.ca_cert.as_deref().filter(|_| !remote.insecure_skip_tls_verify);
    if let Some(pem) = own_root {
        config.root_cert = Some(certificates(pem).map_err(|reason| wrong("caCert", reason))?);
        config.root_cert_file = None;
    }
    let key = if own_root.is_some() { "caCert" } else { "host" };
    let client = stack::client(config, None).map_err(|error| wrong(key, chain(&error)))?;
    Ok(Cluster { name, client })
}

fn certificates(text: &str) -> Result<Vec<Vec<u8>>, String> {
    let blocks = pem::parse_many(text).map_err(|error| format!("is not PEM: {error}"))?;
    let certificates = blocks.into_iter().filter(|block| block.tag() == "CERTIFICATE").map(pem::Pem::into_contents);
    let all: Vec<_> = certificates.collect();
    if all.is_empty() { Err("holds no certificate; write it in PEM".to_owned()) } else { Ok(all) }
}

#[cfg(test)]
mod tests;
