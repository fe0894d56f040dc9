//! The clusters of this process: home, and the remotes in the order of the configuration.

use std::sync::Arc;

use berth_core::ClusterName;

use crate::lease::fenced;
use crate::write_limiter::WriteLimiter;
use crate::{Cluster, Fence};

/// All clusters. Clones share them.
#[derive(Clone, Debug)]
pub struct Clusters {
    home: Cluster,
    remotes: Arc<[Cluster]>,
    write_limiter: WriteLimiter,
}

impl Clusters {
    /// These clusters. Their names differ: [`crate::Routes::names`] sees to it.
    pub fn new(home: Cluster, remotes: impl IntoIterator<Item = Cluster>) -> Self {
        let remotes: Arc<[Cluster]> = remotes.into_iter().collect();
        let write_limiter = WriteLimiter::at(remotes.iter().chain([&home]).map(|cluster| cluster.name.clone()));
        Self { home, remotes, write_limiter }
    }

    /// The cluster that the process belongs to: its lease and everything that has no zone are there.
    pub fn home(&self) -> &Cluster {
        &self.home
    }

    /// The other clusters, in the order of the configuration.
    pub fn remotes(&self) -> impl Iterator<Item = &Cluster> {
        self.remotes.iter()
    }

    pub fn get(&self, name: &ClusterName) -> Option<&Cluster> {
        self.iter().find(|cluster| cluster.name == *name)
    }

    /// The same clusters, whose clients write only while the fence is open.
    pub(crate) fn fenced(&self, fence: &Fence) -> Self {
        if fence.is_always_open() {
            return self.clone();
        }
        let fenced = |Cluster { name, client }: &Cluster| Cluster { name: name.clone(), client: fenced(client, fence) };
        Self {
            home: fenced(&self.home),
            remotes: self.remotes().map(fenced).collect(),
            write_limiter: self.write_limiter.clone(),
        }
    }

    pub(crate) fn write_limiter(&self) -> &WriteLimiter {
        &self.write_limiter
    }

    /// All clusters: the remotes in the order of the configuration, then home.
    pub fn iter(&self) -> impl Iterator<Item = &Cluster> {
        self.remotes().chain([&self.home])
    }
}

impl From<Cluster> for Clusters {
    fn from(home: Cluster) -> Self {
        Self::new(home, [])
    }
}
