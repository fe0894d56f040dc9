//! The memory of a process: the stores, and the scheduler with its capacity view.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{FlavorGroupsCache, Kind, Routes, Store, StoreSet as _, Stores};
use berth_core::ClusterName;
use berth_core::liquid::resources::ResourceConfig;
use berth_liquid::changes::ChangesUnderWay;
use berth_liquid::info::{InfoSource, PublishedInfo};
use berth_scheduler::{BuiltIn, Settings};
use berth_scheduler_api::pipelines::PipelineLoader;
use berth_telemetry::clock::ClockSkew;
use berth_telemetry::config;
use berth_vm_source::{Failure, VmSource};
use tokio::sync::watch;
use tokio::time::Instant;

use super::budgets::feed_budgets;
use super::events::{Queues, feed_commitments, feed_view};

pub struct MemorySettings {
    pub scheduler: Settings,
    pub pipelines: config::Pipelines,
    /// What Limes is told about the resources of flavor groups.
    pub resources: ResourceConfig,
    /// The VMs of the cloud; something that reads them fills it.
    pub vms: VmSource,
    /// How old the object with the capacity of a group and zone may be.
    pub capacity_max_age: Duration,
}

impl Default for MemorySettings {
    /// A scheduler as it is shipped, which uses Pipeline objects as well.
    fn default() -> Self {
        let (resources, vms) = (ResourceConfig::default(), VmSource::none());
        let capacity_max_age = config::Configuration::default().capacity.max_age();
        Self {
            scheduler: Settings::default(),
            pipelines: config::Pipelines::BuiltInAndCrd,
            resources,
            vms,
            capacity_max_age,
        }
    }
}

/// The memory of one process. Clones share it.
#[derive(Clone)]
pub struct Memory {
    /// All objects, as far as this process knows.
    pub stores: Stores,
    /// The free capacity of hosts, assume entries and claims, and the waiting list.
    pub scheduler: Arc<BuiltIn>,
    pub queues: Queues,
    pub pipelines: PipelineLoader,
    pub flavor_groups: FlavorGroupsCache,
    /// What the service info for Limes is made of, and the published one.
    pub service_info: InfoSource,
    pub published_info: PublishedInfo,
    /// The changes of commitments that this process executes.
    pub changes_under_way: ChangesUnderWay,
    /// The times in the answers of the home cluster.
    pub skew: ClockSkew,
    /// The VMs of the cloud.
    pub vms: VmSource,
    /// Why they cannot be read; `None` after a good read.
    pub vm_failures: watch::Sender<Option<Failure>>,
    /// How old the object with the capacity of a group and zone may be.
    pub capacity_max_age: Duration,
    started_at: Instant,
}

impl Memory {
    /// An empty memory, with all listeners connected to its stores.
    pub fn new(settings: MemorySettings, routes: &Routes) -> Self {
        let MemorySettings { scheduler, pipelines, resources, vms, capacity_max_age } = settings;
        let stores = Stores::default();
        let queues = Queues::closed();
        let scheduler = Arc::new(BuiltIn::new(scheduler, queues.enqueue_slots()));
        let pipelines = PipelineLoader::new(&stores.pipelines, pipelines, scheduler.clone());
        let flavor_groups = FlavorGroupsCache::new(stores.knowledges.clone());
        let service_info = InfoSource { groups: flavor_groups.clone(), config: resources };
        let memory = Self {
            scheduler,
            queues,
            pipelines,
            flavor_groups,
            service_info,
            published_info: PublishedInfo::default(),
            changes_under_way: ChangesUnderWay::default(),
            skew: ClockSkew::default(),
            vms,
            vm_failures: watch::Sender::new(None),
            capacity_max_age,
            started_at: Instant::now(),
            stores,
        };
        feed_view(&memory.stores, &memory.scheduler, routes);
        feed_budgets(&memory.stores, &memory.vms, &memory.scheduler, routes);
        memory
    }

    /// From now on slots get hosts only once their commitment has been planned as it is. To be called once, by the
    /// process that plans commitments.
    pub fn await_plans(&self) {
        feed_commitments(&self.stores.commitments, &self.scheduler);
    }

    /// Waits until the first list of every kind in `cluster` that it serves is complete; of home also until the
    /// pipelines are those of the objects.
    pub async fn synced(&self, cluster: &ClusterName) {
        self.stores.synced(cluster).await;
        if *cluster == ClusterName::home() {
            self.pipelines.loaded().await;
        }
    }

    /// Lists everything again. After `timeout` it continues without the clusters that have not responded, and returns
    /// them: nothing is decided about their zones until they have.
    pub async fn reread_stores(&self, timeout: Duration) -> BTreeSet<ClusterName> {
        self.stores.relist(timeout).await
    }

    /// The monotonic time since this memory was created, which the scheduler gets as "now".
    pub fn now(&self) -> Duration {
        self.started_at.elapsed()
    }

    pub fn started_at(&self) -> Instant {
        self.started_at
    }

    pub(super) fn placing_clusters(&self) -> Vec<ClusterName> {
        self.stores.hypervisors.clusters()
    }

    /// Whether the hosts of a cluster, and the reservations on them, are synced at the moment.
    pub(super) fn follows_hosts_of(&self, cluster: &ClusterName) -> bool {
        follows(&self.stores.hypervisors, cluster) && follows(&self.stores.reservations, cluster)
    }
}

/// Whether a cluster that serves the kind is followed at the moment; one that does not serve it lacks nothing.
fn follows<K: Kind>(store: &Store<K>, cluster: &ClusterName) -> bool {
    !store.clusters().contains(cluster) || store.require_synced(cluster).is_ok()
}
