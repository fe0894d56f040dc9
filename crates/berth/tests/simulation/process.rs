//! One operator process: the wiring of the binary against doubles of API servers. Its tasks end when it crashes and are
//! suspended while it is paused, and so is its endpoint for Nova.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use berth::wiring::{ClaimRestorer, Controllers, DecidingState, Environment, Memory, MemorySettings, OperatorMetrics};
use berth_cluster::testing::Pick;
use berth_cluster::{Candidate, Clusters, Election, Events, Fence, Leadership, Manager, Queue, Routes, Work};
use berth_committed_resource::CoresBook;
use berth_core::{ClusterName, HostName};
use berth_scheduler::{BuiltIn, NoDomainNames};
use berth_scheduler_api::Chosen;
use berth_telemetry::clock::Clock;
use berth_telemetry::config::Configuration;
use berth_telemetry::ids::FreshIds;
use berth_telemetry::metrics::Metrics;
use berth_testkit::{InvariantChecker, ProcessPause, Random};
use futures::future::join_all;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::crash_witness::Witness;
use crate::endpoint::{Endpoint, Network, endpoint};

/// A new leader waits this long for a cluster that does not answer.
const TAKE_OVER: Duration = Duration::from_secs(10);

/// The settings of a process.
pub struct Start<'a> {
    pub who: &'a str,
    pub clusters: Clusters,
    pub routes: &'a Routes,
    pub configuration: &'a Configuration,
    pub clock: Arc<dyn Clock>,
    /// The random order of its reconciliations; `None` for the queue of production.
    pub order: Option<Random>,
    /// Whether it leads only after it has won the lease.
    pub elected: bool,
    pub network: &'a Network,
    pub chance: Random,
    pub checker: &'a InvariantChecker,
    /// Whether its claims for VMs are checked at every answer.
    pub claims: bool,
}

pub struct Process {
    ended: watch::Receiver<bool>,
    pause: ProcessPause,
    tasks: JoinSet<()>,
    scheduler: Arc<BuiltIn>,
    endpoint: Endpoint,
    cores: Arc<CoresBook>,
    checker: InvariantChecker,
    /// Whether it has read the home cluster and decides.
    started: Arc<AtomicBool>,
}

impl Process {
    pub fn start(start: Start<'_>) -> Self {
        let Start { who, clusters, routes, configuration, clock, order, elected, network, chance, checker, claims } =
            start;
        let address = format!("http://{who}");
        let memory = Memory::new(MemorySettings::default(), routes);
        let registry = Metrics::new(&[].into()).unwrap();
        let metrics = OperatorMetrics::register(&registry, &memory).unwrap();
        let (process_pause, stop, mut tasks) = (ProcessPause::default(), CancellationToken::new(), JoinSet::new());
        let stale_after = configuration.scheduler.stale_after;
        let runs = process_pause.clone();
        let mut manager = Manager::new(metrics.cluster.controllers.clone(), ordered(order))
            .with_around(Arc::new(move |run| Box::pin(runs.run(run))));
        memory.add_to(&mut manager, &clusters, routes, &metrics, stale_after, &stop).unwrap();
        for (_, work) in manager.replica_work() {
            tasks.spawn(process_pause.run(work));
        }
        let leadership = elected.then(|| {
            let candidate = candidate(who, &address, &clock, &metrics);
            let (leadership, work) = Election::new(clusters.home(), candidate);
            tasks.spawn(process_pause.run(async move { drop(work.await) }));
            leadership
        });
        let fence = leadership.as_ref().map_or_else(Fence::open, Leadership::fence);
        checker.begins();
        Witness::new(checker.clone(), fence.clone(), claims).listens(&memory.scheduler);
        // The publisher of events does not run: kube's recorder takes its names from the clock of the machine.
        let (events, _) = Events::new(&clusters, None, metrics.cluster.events.clone(), stop.clone());
        let environment = Environment {
            configuration,
            clusters,
            routes: routes.clone(),
            fence,
            events,
            clock,
            scheduler: Arc::new(Chosen::BuiltIn(memory.scheduler.clone())),
            capacity_scheduler: Arc::new(Chosen::BuiltIn(memory.scheduler.clone())),
            domain_names: Arc::new(NoDomainNames),
            limes: None,
            ids: FreshIds::counted(),
            metrics: &metrics,
        };
        memory.await_plans();
        let controllers = Controllers::new(&memory, &environment);
        controllers.add_to(&mut manager, &memory.queues);
        let cores = controllers.commitments().context().cores.clone();
        let deciding = DecidingState::new(leadership.clone(), who);
        let (router, restorer) = endpoint(&memory, &environment, &deciding, network, chance, &mut manager, &stop);
        for (_, work) in manager.replica_work() {
            tasks.spawn(process_pause.run(work));
        }
        let work = manager.leader_work(&stop);
        let endpoint = network.open(&address, router, &process_pause);
        let scheduler = memory.scheduler.clone();
        let (known, (end, ended)) = (memory, watch::channel(false));
        let started = Arc::new(AtomicBool::new(false));
        let noted = started.clone();
        let decides = move || {
            deciding.start(controllers);
            noted.store(true, Ordering::Release);
        };
        tasks.spawn(process_pause.run(lead(known, leadership, restorer, decides, work, end, checker.clone())));
        Self { ended, pause: process_pause, tasks, scheduler, endpoint, cores, checker: checker.clone(), started }
    }

    /// The process ends at once; requests that it has sent may still take effect.
    pub fn crash(mut self) {
        self.endpoint.close();
        self.tasks.abort_all();
    }

    /// Whether it has read the home cluster and decides.
    pub fn has_begun(&self) -> bool {
        self.started.load(Ordering::Acquire)
    }

    /// The claims that no object shows, and the hosts whose sums are wrong: both are empty at rest.
    pub fn holds(&self) -> (usize, usize, Vec<HostName>) {
        (self.scheduler.claimed(), self.scheduler.assumed(), self.scheduler.drift())
    }

    /// Whether the ledger of cores is empty, which means that objects show everything that was decided.
    pub fn has_given_out_what_it_decided(&self) -> bool {
        self.cores.is_empty()
    }

    /// Whether one of its tasks has panicked.
    pub fn has_panicked(&mut self) -> bool {
        let ended = std::iter::from_fn(|| self.tasks.try_join_next());
        ended.filter_map(Result::err).any(|error| error.is_panic())
    }

    pub fn has_ended(&self) -> bool {
        *self.ended.borrow()
    }

    pub fn pause(&self) {
        self.pause.pause();
    }

    pub fn resume(&self) {
        self.checker.interrupted();
        self.pause.resume();
    }
}

fn candidate(who: &str, address: &str, clock: &Arc<dyn Clock>, metrics: &OperatorMetrics) -> Candidate {
    let [namespace, name, identity] = ["berth-system", "berth", who].map(str::to_owned);
    let (clock, metrics) = (clock.clone(), metrics.cluster.lease.clone());
    Candidate { namespace, name, identity, address: Some(address.to_owned()), clock, metrics }
}

/// Waits until the process may decide, then works as long as it leads.
async fn lead(
    memory: Memory,
    leadership: Option<Leadership>,
    claims: ClaimRestorer,
    begin: impl FnOnce(),
    work: Vec<Work>,
    end: watch::Sender<bool>,
    checker: InvariantChecker,
) {
    memory.synced(&ClusterName::home()).await;
    if let Some(leadership) = &leadership {
        leadership.acquired().await;
        checker.begins();
        memory.reread_stores(TAKE_OVER).await;
    }
    memory.pipelines.loaded().await;
    claims.restore().await;
    begin();
    let controllers = join_all(work.into_iter().map(|(_, work)| work));
    match &leadership {
        None => drop(controllers.await),
        // The process ends and decides nothing more.
        Some(leadership) => tokio::select! {
            biased;
            _ = leadership.lost() => drop(end.send(true)),
            _ = controllers => {}
        },
    }
}

fn ordered(random: Option<Random>) -> Queue {
    let Some(mut random) = random else { return Queue::Kube };
    Queue::Seeded(Box::new(move || {
        let mut random = Random::new(random.draw());
        let pick: Pick = Box::new(move |waiting| random.below(waiting));
        pick
    }))
}
