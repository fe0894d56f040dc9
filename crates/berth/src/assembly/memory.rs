//! What one process knows: the stores, and the scheduler with its capacity view.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{Kind, Routes, Store, StoreSet as _, Stores};
use berth_core::ClusterName;
use berth_scheduler::{BuiltIn, Settings};
use berth_scheduler_api::pipelines::PipelineLoader;
use berth_telemetry::config;
use tokio::time::Instant;

use super::events::{Queues, feed_view};

/// What a memory is made with.
pub struct MemorySettings {
    /// Of the scheduler.
    pub scheduler: Settings,
    /// Which pipelines exist.
    pub pipelines: config::Pipelines,
}

impl Default for MemorySettings {
    /// A scheduler as it is shipped, which looks for Pipeline objects as well.
    fn default() -> Self {
        Self { scheduler: Settings::default(), pipelines: config::Pipelines::BuiltInAndCrd }
    }
}

/// The memory of one process. Clones share it.
#[derive(Clone)]
pub struct Memory {
    /// All objects, as far as this process knows.
    pub stores: Stores,
    /// What the hosts have free, what is promised, and who waits.
    pub scheduler: Arc<BuiltIn>,
    /// What others than watches enqueue.
    pub queues: Queues,
    /// What gives the scheduler its pipelines.
    pub pipelines: PipelineLoader,
    began: Instant,
}

impl Memory {
    /// An empty memory, with everything connected that is to hear of changes.
    pub fn new(MemorySettings { scheduler, pipelines }: MemorySettings, routes: &Routes) -> Self {
        let stores = Stores::default();
        let queues = Queues::closed();
        let scheduler = Arc::new(BuiltIn::new(scheduler, queues.enqueue_slots()));
        let pipelines = PipelineLoader::new(&stores.pipelines, pipelines, scheduler.clone());
        let memory = Self { stores, scheduler, queues, pipelines, began: Instant::now() };
        feed_view(&memory.stores, &memory.scheduler, routes);
        memory
    }

    /// Waits until the first list of every kind in `cluster` that it serves is complete; of home also until the
    /// pipelines are those of the objects.
    pub async fn synced(&self, cluster: &ClusterName) {
        self.stores.synced(cluster).await;
        if *cluster == ClusterName::home() {
            self.pipelines.loaded().await;
        }
    }

    /// Reads everything anew. After `patience` it goes on without the clusters that have not answered, which it gives:
    /// nothing is decided about their zones until they have.
    pub async fn read_anew(&self, patience: Duration) -> BTreeSet<ClusterName> {
        self.stores.relist(patience).await
    }

    /// The monotonic time since this memory began: what the scheduler is told as "now".
    pub fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// When it began.
    pub fn began(&self) -> Instant {
        self.began
    }

    /// The clusters whose hosts the scheduler offers.
    pub(super) fn placing_clusters(&self) -> Vec<ClusterName> {
        self.stores.hypervisors.clusters()
    }

    /// Whether the hosts of a cluster, and what is reserved on them, are followed at the moment.
    pub(super) fn follows_hosts_of(&self, cluster: &ClusterName) -> bool {
        follows(&self.stores.hypervisors, cluster) && follows(&self.stores.reservations, cluster)
    }
}

/// Whether a cluster that serves the kind is followed at the moment; one that does not serve it lacks nothing.
fn follows<K: Kind>(store: &Store<K>, cluster: &ClusterName) -> bool {
    !store.clusters().contains(cluster) || store.followed(cluster).is_ok()
}
