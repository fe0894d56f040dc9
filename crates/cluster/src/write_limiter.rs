//! Limits how many writes to a cluster are under way at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_core::ClusterName;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// More at once do not make an API server faster, but each of them needs a connection.
pub(crate) const WRITES_AT_ONCE: usize = 32;

/// The turns at all clusters. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct WriteLimiter(Arc<BTreeMap<ClusterName, Arc<Semaphore>>>);

/// The permission to write to one cluster, until it is dropped.
pub(crate) type WritePermit = OwnedSemaphorePermit;

impl WriteLimiter {
    pub(crate) fn at(clusters: impl IntoIterator<Item = ClusterName>) -> Self {
        Self(Arc::new(clusters.into_iter().map(|name| (name, Arc::new(Semaphore::new(WRITES_AT_ONCE)))).collect()))
    }

    /// Waits for a permit at `cluster`, in the order of requests. It comes, because each holder ends within the deadline of
    /// a write. `None` for a cluster that cannot be written to.
    pub(crate) async fn wait(&self, cluster: &ClusterName) -> Option<WritePermit> {
        self.0.get(cluster)?.clone().acquire_owned().await.ok()
    }
}
