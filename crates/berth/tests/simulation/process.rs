//! One operator process: the assembly of the binary against doubles of API servers, with its tasks, which end when it
//! crashes and stand still while it is paused, and the endpoint for Nova, which is gone or silent then.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use berth::assembly::{Controllers, Deciding, Environment, Memory, MemorySettings, OperatorMetrics};
use berth_cluster::testing::Pick;
use berth_cluster::{Candidate, Clusters, Election, Events, Fence, Leadership, Manager, Queue, Routes, Work};
use berth_committed_resource::CoresBook;
use berth_core::{ClusterName, HostName};
use berth_scheduler::BuiltIn;
use berth_scheduler_api::Chosen;
use berth_telemetry::clock::Clock;
use berth_telemetry::config::Configuration;
use berth_telemetry::ids::FreshIds;
use berth_telemetry::metrics::Metrics;
use berth_testkit::{Gate, Judge, Random};
use futures::future::join_all;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::endpoint::{Endpoint, Network, endpoint};
use crate::witness::Witness;

/// A cluster that does not answer a new leader within this time has to wait.
const TAKE_OVER: Duration = Duration::from_secs(10);

/// What a process starts with.
pub struct Start<'a> {
    pub who: &'a str,
    pub clusters: Clusters,
    pub routes: &'a Routes,
    pub configuration: &'a Configuration,
    pub clock: Arc<dyn Clock>,
    /// The order of its reconciliations; none for the queue of production.
    pub order: Option<Random>,
    /// It leads only when it has won the lease.
    pub elected: bool,
    /// Where it is reached, and reaches others.
    pub network: &'a Network,
    /// What its API draws.
    pub chance: Random,
    /// Who judges it.
    pub judge: &'a Judge,
    /// Whether what it claims for VMs is judged at every answer.
    pub claims: bool,
}

/// A running process.
pub struct Process {
    ended: watch::Receiver<bool>,
    gate: Gate,
    tasks: JoinSet<()>,
    brain: Arc<BuiltIn>,
    endpoint: Endpoint,
    cores: Arc<CoresBook>,
    judge: Judge,
    /// It has read the home cluster and decides.
    begun: Arc<AtomicBool>,
}

impl Process {
    pub fn start(start: Start<'_>) -> Self {
        let Start { who, clusters, routes, configuration, clock, order, elected, network, chance, judge, claims } =
            start;
        let address = format!("http://{who}");
        let memory = Memory::new(MemorySettings::default(), routes);
        let registry = Metrics::new(&[].into()).unwrap();
        let metrics = OperatorMetrics::register(&registry, &memory).unwrap();
        let (gate, stop, mut tasks) = (Gate::default(), CancellationToken::new(), JoinSet::new());
        let stale_after = configuration.scheduler.stale_after;
        let runs = gate.clone();
        let mut manager = Manager::new(metrics.cluster.controllers.clone(), ordered(order))
            .with_around(Arc::new(move |run| Box::pin(runs.through(run))));
        memory.add_to(&mut manager, &clusters, routes, &metrics, stale_after, &stop).unwrap();
        for (_, work) in manager.replica_work() {
            tasks.spawn(gate.through(work));
        }
        let leadership = elected.then(|| {
            let candidate = candidate(who, &address, &clock, &metrics);
            let (leadership, work) = Election::new(clusters.home(), candidate);
            tasks.spawn(gate.through(async move { drop(work.await) }));
            leadership
        });
        let fence = leadership.as_ref().map_or_else(Fence::open, Leadership::fence);
        judge.begins();
        Witness::new(judge.clone(), fence.clone(), claims).listens(&memory.scheduler);
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
            ids: FreshIds::counted(),
            metrics: &metrics,
        };
        let controllers = Controllers::new(&memory, &environment);
        controllers.add_to(&mut manager, &memory.queues);
        let cores = controllers.commitments().context().cores.clone();
        let deciding = Deciding::new(leadership.clone(), who);
        let router = endpoint(&memory, &environment, &deciding, network, chance, &mut manager, &stop);
        for (_, work) in manager.replica_work() {
            tasks.spawn(gate.through(work));
        }
        let work = manager.leader_work(&stop);
        let endpoint = network.open(&address, router, &gate);
        let brain = memory.scheduler.clone();
        let (known, (end, ended)) = (memory, watch::channel(false));
        let begun = Arc::new(AtomicBool::new(false));
        let noted = begun.clone();
        let decides = move || {
            deciding.begin();
            noted.store(true, Ordering::Release);
        };
        tasks.spawn(gate.through(lead(known, leadership, decides, work, end, judge.clone())));
        Self { ended, gate, tasks, brain, endpoint, cores, judge: judge.clone(), begun }
    }

    /// It is gone from one moment to the next; requests that it has sent may still take effect.
    pub fn crash(mut self) {
        self.endpoint.close();
        self.tasks.abort_all();
    }

    /// It has read the home cluster and decides.
    pub fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Acquire)
    }

    /// What it holds for decisions that nothing shows, and where its sums are wrong: both are empty at rest.
    pub fn holds(&self) -> (usize, usize, Vec<HostName>) {
        (self.brain.claimed(), self.brain.assumed(), self.brain.drift())
    }

    /// The ledger of cores is empty: everything that was decided is shown.
    pub fn has_given_out_what_it_decided(&self) -> bool {
        self.cores.is_empty()
    }

    /// One of its tasks has ended in a panic.
    pub fn has_panicked(&mut self) -> bool {
        let ended = std::iter::from_fn(|| self.tasks.try_join_next());
        ended.filter_map(Result::err).any(|error| error.is_panic())
    }

    /// It has lost the lease.
    pub fn has_ended(&self) -> bool {
        *self.ended.borrow()
    }

    pub fn pause(&self) {
        self.gate.pause();
    }

    pub fn resume(&self) {
        self.judge.interrupted();
        self.gate.resume();
    }
}

fn candidate(who: &str, address: &str, clock: &Arc<dyn Clock>, metrics: &OperatorMetrics) -> Candidate {
    let [namespace, name, identity] = ["berth-system", "berth", who].map(str::to_owned);
    let (clock, metrics) = (clock.clone(), metrics.cluster.lease.clone());
    Candidate { namespace, name, identity, address: Some(address.to_owned()), clock, metrics }
}

/// Waits until the process may decide, then does its work as long as it may.
async fn lead(
    memory: Memory,
    leadership: Option<Leadership>,
    begin: impl FnOnce(),
    work: Vec<Work>,
    end: watch::Sender<bool>,
    judge: Judge,
) {
    memory.synced(&ClusterName::home()).await;
    if let Some(leadership) = &leadership {
        leadership.acquired().await;
        judge.begins();
        memory.read_anew(TAKE_OVER).await;
    }
    memory.pipelines.loaded().await;
    begin();
    let controllers = join_all(work.into_iter().map(|(_, work)| work));
    match &leadership {
        None => drop(controllers.await),
        // The process ends: nothing of it decides any more.
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
