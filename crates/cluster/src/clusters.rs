//! The clusters that this process works with, by name.

use std::{collections::BTreeMap, sync::Arc};

use berth_core::ClusterName;

use crate::Cluster;

/// All clusters. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Clusters {
    all: Arc<BTreeMap<ClusterName, Cluster>>,
}

impl Clusters {
    /// These clusters; of two with the same name the last one counts.
    pub fn new(clusters: impl IntoIterator<Item = Cluster>) -> Self {
        let all = clusters.into_iter().map(|cluster| (cluster.name.clone(), cluster)).collect();
        Self { all: Arc::new(all) }
    }

    /// The cluster of that name.
    pub fn get(&self, name: &ClusterName) -> Option<&Cluster> {
        self.all.get(name)
    }

    /// All clusters, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Cluster> {
        self.all.values()
    }
}

impl From<Cluster> for Clusters {
    fn from(cluster: Cluster) -> Self {
        Self::new([cluster])
    }
}
