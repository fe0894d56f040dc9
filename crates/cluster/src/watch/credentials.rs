//! The clusters that reject our credentials. That concerns a cluster and not a kind, and the watches of all its kinds
//! notice it at the same time.

use std::collections::BTreeSet;

use berth_core::ClusterName;
use parking_lot::Mutex;
use prometheus::IntGaugeVec;
use tracing::{debug, error, info};

/// Tells once when credentials cease to be accepted, and once when they are accepted again.
#[derive(Debug)]
pub(crate) struct Credentials {
    accepted: IntGaugeVec,
    refused_by: Mutex<BTreeSet<ClusterName>>,
}

impl Credentials {
    pub(crate) fn new(accepted: IntGaugeVec) -> Self {
        Self { accepted, refused_by: Mutex::default() }
    }

    /// The cluster has answered that it does not know us, in these words.
    pub(super) fn refused(&self, cluster: &ClusterName, why: &str) {
        let mut refused_by = self.refused_by.lock();
        self.accepted.with_label_values(&[cluster.as_str()]).set(0);
        if refused_by.insert(cluster.clone()) {
            error!(%cluster, "{why}; until then this cluster is not reconciled");
        } else {
            debug!(%cluster, "{why}");
        }
    }

    /// The cluster has answered as one does who knows us.
    pub(super) fn accepted(&self, cluster: &ClusterName) {
        let mut refused_by = self.refused_by.lock();
        self.accepted.with_label_values(&[cluster.as_str()]).set(1);
        if refused_by.remove(cluster) {
            info!(%cluster, "credentials accepted again");
        }
    }
}
