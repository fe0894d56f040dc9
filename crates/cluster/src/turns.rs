//! How many writes are on their way to a cluster at once, whoever sends them. It decides who has to wait; that a write may
//! still be sent when its turn comes is asked by the writer, afterwards.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_core::ClusterName;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// More at once do not make an API server faster, but each of them needs a connection.
pub(crate) const WRITES_AT_ONCE: usize = 32;

/// The turns at all clusters. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turns(Arc<BTreeMap<ClusterName, Arc<Semaphore>>>);

/// The permission to write to one cluster, until it is dropped.
pub(crate) type Turn = OwnedSemaphorePermit;

impl Turns {
    pub(crate) fn at(clusters: impl IntoIterator<Item = ClusterName>) -> Self {
        Self(Arc::new(clusters.into_iter().map(|name| (name, Arc::new(Semaphore::new(WRITES_AT_ONCE)))).collect()))
    }

    /// Waits for a turn at `cluster`, in the order of asking. It comes, because whoever has one ends within the deadline of
    /// a write. `None` for a cluster that nobody can write to.
    pub(crate) async fn wait(&self, cluster: &ClusterName) -> Option<Turn> {
        self.0.get(cluster)?.clone().acquire_owned().await.ok()
    }
}
