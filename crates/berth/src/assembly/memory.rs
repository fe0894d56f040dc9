//! What one process knows: the stores, the scheduler with its capacity view, and the keys that wait for a look.

use std::{collections::BTreeSet, future::Future, pin::Pin, sync::Arc, time::Duration};

use berth_cluster::{
    Cluster, Clusters, Kind, Right, RouteError, Routes, Store, StoreMetrics, Verb, feed, feed_optional, indexes,
    watch_conflicts,
};
use berth_core::ClusterName;
use berth_crds::{CommittedResource, FlavorGroupCapacity, Hypervisor, Knowledge, Pipeline, Reservation};
use berth_scheduler::{BuiltIn, Settings};
use berth_scheduler_api::pipelines::PipelineLoader;
use berth_telemetry::config;
use futures::future::join5;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::{
    controllers::Work,
    events::{Queues, Stores, connect},
    metrics::OperatorMetrics,
    upkeep::{Upkeep, follows},
};

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

/// What the stores need to follow their kinds. Pipelines are followed at home, where they count and are installed.
pub(super) fn store_rights(pipelines: config::Pipelines) -> Vec<Right> {
    let mut rights = vec![
        Right::kind::<CommittedResource>(Verb::READ).because("Commitments are read."),
        Right::kind::<Reservation>(Verb::READ).because("Reservations are read, also those of others."),
        Right::kind::<Hypervisor>(Verb::READ).because("Hosts and the VMs on them are read."),
        Right::kind::<Knowledge>(Verb::READ).because("The flavor groups are read."),
        Right::kind::<FlavorGroupCapacity>(Verb::READ).because("What others have counted of cores is read."),
    ];
    if pipelines != config::Pipelines::BuiltIn {
        let followed = Right::kind::<Pipeline>(Verb::READ).at_home().optional();
        rights.push(followed.because("Pipelines that replace those compiled in are read."));
    }
    rights
}

/// The memory of one process. Clones share it.
#[derive(Clone)]
pub struct Memory {
    /// All objects, as far as this process knows.
    pub stores: Stores,
    /// What the hosts have free, what is promised, and who waits.
    pub scheduler: Arc<BuiltIn>,
    /// The keys that wait for a look.
    pub queues: Queues,
    /// What gives the scheduler its pipelines.
    pub pipelines: PipelineLoader,
    began: Instant,
}

impl Memory {
    /// An empty memory, with everything connected that is to hear of changes.
    pub fn new(MemorySettings { scheduler, pipelines }: MemorySettings, routes: &Routes) -> Self {
        let stores = Stores {
            commitments: Store::new(indexes::COMMITMENT_INDEXES),
            reservations: Store::new(indexes::RESERVATION_INDEXES),
            hypervisors: Store::new(indexes::HYPERVISOR_INDEXES),
            knowledges: Store::new(&[]),
            capacities: Store::new(indexes::CAPACITY_INDEXES),
            pipelines: Store::new(&[]),
        };
        let scheduler = Arc::new(BuiltIn::new(scheduler));
        let pipelines = PipelineLoader::new(&stores.pipelines, pipelines, scheduler.clone());
        let memory = Self { stores, scheduler, queues: Queues::closed(), pipelines, began: Instant::now() };
        connect(&memory.stores, &memory.scheduler, &memory.queues, routes);
        memory
    }

    /// The watches that fill the stores, one per kind and cluster, and the upkeep of the scheduler, which does not offer
    /// hosts of a cluster that could not be followed for `stale_after`. A kind that no cluster serves is an error.
    pub fn work(
        &self,
        clusters: &Clusters,
        routes: &Routes,
        metrics: &OperatorMetrics,
        stale_after: Duration,
        stop: &CancellationToken,
    ) -> Result<Vec<Work>, RouteError> {
        let Stores { commitments, reservations, hypervisors, knowledges, capacities, .. } = &self.stores;
        let conflicts = &metrics.cluster.conflicts;
        watch_conflicts(commitments, conflicts.clone());
        watch_conflicts(reservations, conflicts.clone());
        watch_conflicts(hypervisors, conflicts.clone());
        let feeding = Feeding { clusters, routes, metrics: &metrics.cluster.stores, stop };
        let mut work = feeding.all::<Knowledge>("the watch of flavor groups", knowledges)?;
        work.extend(feeding.all::<Hypervisor>("the watch of hosts", hypervisors)?);
        work.extend(feeding.all::<Reservation>("the watch of reservations", reservations)?);
        work.extend(feeding.all::<CommittedResource>("the watch of commitments", commitments)?);
        // Where no cluster is named for it, commitments of cores wait and say so; nobody else needs it.
        work.extend(feeding.all::<FlavorGroupCapacity>("the watch of capacities", capacities).unwrap_or_default());
        work.extend(feeding.pipelines(&self.stores.pipelines, self.pipelines.follows_objects()));
        let upkeep = Upkeep { memory: self.clone(), stale_after, metrics: metrics.upkeep.clone() };
        work.push(("the upkeep of the scheduler", Box::pin(upkeep.work(stop.clone()))));
        Ok(work)
    }

    /// Waits until the first list of every kind in `cluster` that it serves is complete; of home also until the pipelines
    /// are those of the objects (ruling U23).
    pub async fn synced(&self, cluster: &ClusterName) {
        let Stores { commitments, reservations, hypervisors, knowledges, capacities, .. } = &self.stores;
        let all = join5(
            synced(commitments, cluster),
            synced(reservations, cluster),
            synced(hypervisors, cluster),
            synced(knowledges, cluster),
            synced(capacities, cluster),
        );
        all.await;
        if *cluster == ClusterName::home() {
            self.pipelines.loaded().await;
        }
    }

    /// Reads everything anew (decision D10, take-over). After `patience` it goes on without the clusters that have not
    /// answered, which it gives: nothing is decided about their zones until they have.
    pub async fn read_anew(&self, patience: Duration) -> BTreeSet<ClusterName> {
        let Stores { commitments, reservations, hypervisors, knowledges, capacities, .. } = &self.stores;
        commitments.relist();
        reservations.relist();
        hypervisors.relist();
        capacities.relist();
        let all = join5(
            commitments.all_followed(),
            reservations.all_followed(),
            hypervisors.all_followed(),
            knowledges.all_followed(),
            capacities.all_followed(),
        );
        // Elapsed is no failure: the stores say themselves what they do not follow.
        let _ = timeout(patience, all).await;
        let late = [
            unfollowed(commitments),
            unfollowed(reservations),
            unfollowed(hypervisors),
            unfollowed(knowledges),
            unfollowed(capacities),
        ];
        late.into_iter().flatten().collect()
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

fn unfollowed<K: Kind>(store: &Store<K>) -> Vec<ClusterName> {
    let mut clusters = store.clusters();
    clusters.retain(|cluster| store.followed(cluster).is_err());
    clusters
}

async fn synced<K: Kind>(store: &Store<K>, cluster: &ClusterName) {
    if store.clusters().contains(cluster) {
        store.synced(cluster).await;
    }
}

struct Feeding<'a> {
    clusters: &'a Clusters,
    routes: &'a Routes,
    metrics: &'a Arc<StoreMetrics>,
    stop: &'a CancellationToken,
}

impl Feeding<'_> {
    fn all<K: Kind>(&self, name: &'static str, store: &Store<K>) -> Result<Vec<Work>, RouteError> {
        let serving = self.routes.clusters::<K>()?;
        let clusters = serving.iter().filter_map(|cluster| self.clusters.get(cluster));
        Ok(clusters.map(|cluster| (name, self.one(store, cluster))).collect())
    }

    /// Pipelines live in the home cluster, if they are to be followed and the kind is served there.
    fn pipelines(&self, store: &Store<Pipeline>, wanted: bool) -> Option<Work> {
        let serving = self.routes.clusters::<Pipeline>().ok().filter(|_| wanted)?;
        let home = serving.contains(&ClusterName::home()).then(|| self.clusters.home().clone())?;
        let work = feed_optional(store.clone(), home, self.stop.clone(), self.metrics.clone());
        Some(("the watch of pipelines", Box::pin(work)))
    }

    fn one<K: Kind>(&self, store: &Store<K>, cluster: &Cluster) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(feed(store.clone(), cluster.clone(), self.stop.clone(), self.metrics.clone()))
    }
}
