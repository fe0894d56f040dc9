//! Why there is no way to a cluster.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// There is no way to the API server.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// The file does not exist.
    #[error("the kubeconfig {} does not exist; give the path of an existing one", path.display())]
    Missing {
        /// The path as given.
        path: PathBuf,
    },
    /// The file cannot be read.
    #[error("the kubeconfig {} cannot be read; check its permissions", path.display())]
    Unreadable {
        /// The path as given.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The file can be read and makes no sense.
    #[error("the kubeconfig {origin} cannot be used: {reason}")]
    Invalid {
        /// The path, or where the configuration was looked for.
        origin: String,
        /// What is wrong.
        reason: String,
    },
    /// Nothing was given and nothing was found.
    #[error(
        "no Kubernetes configuration found: give a kubeconfig, set KUBECONFIG, or run in a pod with a service account \
         ({reason})"
    )]
    Nowhere {
        /// Where was looked, and what was missing.
        reason: String,
    },
    /// No answer.
    #[error("the API server {server} does not answer: {reason}; check the address and the network")]
    Unreachable {
        /// Its URL.
        server: String,
        /// What happened.
        reason: String,
    },
    /// It does not know us.
    #[error("the API server {server} does not accept our credentials (401): renew the token or the client certificate")]
    Unauthorized {
        /// Its URL.
        server: String,
    },
    /// It answered with something else than its version.
    #[error("{server} does not answer like a Kubernetes API server: {reason}; check the address")]
    NotKubernetes {
        /// Its URL.
        server: String,
        /// What it said.
        reason: String,
    },
    /// The configuration of a remote cluster leads nowhere.
    #[error("apiservers.remotes[{index}].{key} ({host}): {reason}")]
    Remote {
        /// Its place in the list.
        index: usize,
        /// The key that is wrong.
        key: &'static str,
        /// Its URL, as it was given.
        host: String,
        /// What is wrong.
        reason: String,
    },
}
