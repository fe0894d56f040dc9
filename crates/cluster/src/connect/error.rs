//! Why a cluster cannot be reached.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// There is no way to the API server.
#[derive(Debug, Error)]
pub enum ConnectError {
    #[error("the kubeconfig {} does not exist; give the path of an existing one", path.display())]
    Missing { path: PathBuf },
    #[error("the kubeconfig {} cannot be read; check its permissions", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The file can be read and makes no sense.
    #[error("the kubeconfig {origin} cannot be used: {reason}")]
    Invalid {
        /// The path, or where the configuration was searched.
        origin: String,
        reason: String,
    },
    #[error(
        "no Kubernetes configuration found: give a kubeconfig, set KUBECONFIG, or run in a pod with a service account \
         ({reason})"
    )]
    Nowhere { reason: String },
    #[error("the API server {server} does not answer: {reason}; check the address and the network")]
    Unreachable { server: String, reason: String },
    /// It may hang, and answer later.
    #[error("the API server {server} does not answer in time; check the address and the network")]
    Silent { server: String },
    #[error("the API server {server} does not accept our credentials (401): renew the token or the client certificate")]
    Unauthorized { server: String },
    /// It answered with something else than its version.
    #[error("{server} does not answer like a Kubernetes API server: {reason}; check the address")]
    NotKubernetes { server: String, reason: String },
    /// The configuration of a remote cluster leads nowhere.
    #[error("apiservers.remotes[{index}].{key} ({host}): {reason}")]
    Remote { index: usize, key: &'static str, host: String, reason: String },
}
