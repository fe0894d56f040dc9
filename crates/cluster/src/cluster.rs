//! One cluster.

use std::fmt;

use berth_core::ClusterName;
use kube::Client;

/// A Kubernetes API server and the way to it.
#[derive(Clone)]
pub struct Cluster {
    pub name: ClusterName,
    /// The client; it does not repeat anything on its own.
    pub client: Client,
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster").field("name", &self.name).finish_non_exhaustive()
    }
}
