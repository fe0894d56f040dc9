//! One operator process: the assembly of the binary against doubles of API servers, with its tasks, which end when it
//! crashes and stand still while it is paused.

use std::{sync::Arc, time::Duration};

use berth::assembly::{Controllers, Environment, Memory, MemorySettings, OperatorMetrics, Order};
use berth_cluster::{Candidate, Clusters, Election, Events, Fence, Pick, Routes};
use berth_core::ClusterName;
use berth_scheduler_api::Chosen;
use berth_telemetry::{clock::Clock, config::Configuration, ids::FreshIds, metrics::Metrics};
use berth_testkit::{Gate, Random};
use futures::future::join_all;
use tokio::{sync::watch, task::JoinSet};
use tokio_util::sync::CancellationToken;

/// A cluster that does not answer a new leader within this time has to wait.
const TAKE_OVER: Duration = Duration::from_secs(10);

/// What a process starts with.
pub struct Start<'a> {
    pub who: &'a str,
    pub clusters: Clusters,
    pub routes: &'a Routes,
    pub configuration: &'a Configuration,
    pub clock: Arc<dyn Clock>,
    /// The order of its looks; none for that of kube-runtime's `Controller`.
    pub order: Option<Random>,
    /// It leads only when it has won the lease.
    pub elected: bool,
}

/// A running process.
pub struct Process {
    ended: watch::Receiver<bool>,
    gate: Gate,
    tasks: JoinSet<()>,
}

impl Process {
    pub fn start(start: Start<'_>) -> Self {
        let Start { who, clusters, routes, configuration, clock, order, elected } = start;
        let memory = Memory::new(MemorySettings::default(), routes);
        let registry = Metrics::new(&[].into()).unwrap();
        let metrics = OperatorMetrics::register(&registry, &memory).unwrap();
        let (gate, stop, mut tasks) = (Gate::default(), CancellationToken::new(), JoinSet::new());
        let stale_after = configuration.scheduler.stale_after;
        for (_, work) in memory.work(&clusters, routes, &metrics, stale_after, &stop).unwrap() {
            tasks.spawn(gate.through(work));
        }
        let (fence, leadership) = if elected {
            let lease = metrics.cluster.lease.clone();
            let [namespace, name, identity] = ["berth-system", "berth", who].map(str::to_owned);
            let candidate =
                Candidate { namespace, name, identity, address: None, clock: clock.clone(), metrics: lease };
            let (leadership, work) = Election::new(clusters.home(), candidate);
            tasks.spawn(gate.through(async move { drop(work.await) }));
            (leadership.fence(), Some(leadership))
        } else {
            (Fence::open(), None)
        };
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
        let work = controllers.work(&memory, &metrics, &stop, ordered(order));
        let (known, (end, ended)) = (memory, watch::channel(false));
        let deciding = async move {
            known.synced(&ClusterName::home()).await;
            if let Some(leadership) = &leadership {
                leadership.acquired().await;
                known.read_anew(TAKE_OVER).await;
            }
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
        };
        tasks.spawn(gate.through(deciding));
        Self { ended, gate, tasks }
    }

    /// It is gone from one moment to the next; requests that it has sent may still take effect.
    pub fn crash(mut self) {
        self.tasks.abort_all();
    }

    /// It has lost the lease.
    pub fn has_ended(&self) -> bool {
        *self.ended.borrow()
    }

    pub fn pause(&self) {
        self.gate.pause();
    }

    pub fn resume(&self) {
        self.gate.resume();
    }
}

fn ordered(random: Option<Random>) -> Order {
    let Some(mut random) = random else { return Order::Any };
    Order::Picked(Box::new(move || {
        let mut random = Random::new(random.draw());
        let pick: Pick = Box::new(move |waiting| random.below(waiting));
        pick
    }))
}
