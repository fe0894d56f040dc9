//! `berth operator`: from flags to running controllers, and to a bounded end.
//!
//! The order is: logs, configuration, probes (alive, not ready), the cluster and whether it is fit, stores, controllers.
//! What cannot work is said in one line each and ends the process before anything is written.

mod checks;
mod controllers;
mod metrics;

use std::{future::Future, sync::Arc, time::Duration};

use berth_cluster::{Cluster, Clusters, Events, feed, indexes, preflight};
use berth_http::{Address, Readiness, Server, health, metrics::router as metrics_router};
use berth_scheduler::{BuiltIn, Settings, TieBreak};
use berth_telemetry::{
    config::{self, Configuration, Controller, Files},
    logs::{self, Wanted},
    metrics::Metrics,
    shutdown,
};
use tokio::{task::JoinSet, time::interval};
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

pub use metrics::OperatorMetrics;

use crate::{
    args::{LogArguments, OperatorArguments},
    error::Error,
    feed::{Queues, Stores, connect, end_settled_doubts},
    watchdog,
};

/// What is under way after `stop` is given this long; less than the 5 s after which somebody may kill us.
const SHUTDOWN: Duration = Duration::from_millis(4500);
const HOUSEKEEPING: Duration = Duration::from_secs(5);

/// Runs until a signal or a failure ends it.
pub fn run(arguments: &OperatorArguments) -> Result<(), Error> {
    logs::init(&wanted_logs(&arguments.logs))?;
    let files = Files { config: arguments.config.clone(), secrets: arguments.secrets.clone() };
    let loaded = config::load(&files, arguments.strict_config)?;
    loaded.findings.log();
    checks::provided(arguments, &loaded.configuration)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|source| Error::Runtime { source })?;
    let outcome = runtime.block_on(operate(arguments, &loaded.configuration));
    // A listener or a write that hangs must not hold up the end of the process.
    runtime.shutdown_background();
    outcome
}

fn wanted_logs(arguments: &LogArguments) -> Wanted {
    Wanted {
        format: arguments.log_format,
        level: arguments.zap_log_level,
        encoder: arguments.zap_encoder,
        devel: arguments.zap_devel,
        variable: std::env::var("LOG_LEVEL").ok(),
        directives: std::env::var("RUST_LOG").ok(),
    }
}

async fn operate(arguments: &OperatorArguments, configuration: &Configuration) -> Result<(), Error> {
    let stop = shutdown::on_signals()?;
    let stores = stores();
    let scheduler = Arc::new(BuiltIn::new(scheduler_settings(configuration)));
    let registry = Metrics::new(&configuration.common.metric_labels)?;
    let metrics = OperatorMetrics::register(&registry, &stores, &scheduler)?;
    let mut parts = Parts { running: JoinSet::new(), stop: stop.clone() };
    let ready = serve(arguments, &registry, &metrics, &mut parts).await?;

    let started = start(arguments, configuration, &stores, &scheduler, &metrics, &ready, &mut parts);
    let started = tokio::select! {
        started = started => started,
        () = stop.cancelled() => Ok(()),
    };
    let outcome = match started {
        Ok(()) => parts.supervise().await,
        Err(error) => Err(error),
    };
    stop.cancel();
    parts.wind_down().await;
    outcome
}

fn stores() -> Stores {
    Stores {
        commitments: berth_cluster::Store::new(indexes::COMMITMENT_INDEXES),
        reservations: berth_cluster::Store::new(indexes::RESERVATION_INDEXES),
        hypervisors: berth_cluster::Store::new(indexes::HYPERVISOR_INDEXES),
        knowledges: berth_cluster::Store::new(&[]),
    }
}

fn scheduler_settings(configuration: &Configuration) -> Settings {
    let tie_break = match configuration.scheduler.tie_break {
        config::TieBreak::Hash => TieBreak::Hash,
        config::TieBreak::Name => TieBreak::Name,
    };
    Settings { tie_break, ..Settings::default() }
}

/// Opens the probes and the metrics before anything else, so that a start that takes long can be watched.
async fn serve(
    arguments: &OperatorArguments,
    registry: &Metrics,
    metrics: &OperatorMetrics,
    parts: &mut Parts,
) -> Result<Readiness, Error> {
    let ready = Readiness::new();
    if let Some(address) = Address::from_flag(&arguments.health_probe_bind_address)? {
        let (listener, router) = (address.listen().await?, health::router(Readiness::new(), ready.clone()));
        let server = Server::new("probes").with_metrics(&metrics.http);
        parts.spawn("the listener of the probes", server.serve(listener, router, parts.stop.clone()));
    }
    if let Some(address) = Address::from_flag(&arguments.metrics_bind_address)? {
        let (listener, router) = (address.listen().await?, metrics_router(registry.clone()));
        let server = Server::new("metrics").with_metrics(&metrics.http);
        parts.spawn("the listener of the metrics", server.serve(listener, router, parts.stop.clone()));
    }
    Ok(ready)
}

/// Everything between "the process runs" and "the controllers run".
async fn start(
    arguments: &OperatorArguments,
    configuration: &Configuration,
    stores: &Stores,
    scheduler: &Arc<BuiltIn>,
    metrics: &OperatorMetrics,
    ready: &Readiness,
    parts: &mut Parts,
) -> Result<(), Error> {
    let synced = ready.component("stores of cluster home");
    let cluster = reach(arguments, configuration).await?;
    let clusters = Clusters::from(cluster.clone());
    let queues = Queues::default();
    connect(stores, scheduler, &queues);
    synced.not_ready("waiting for the first list of every kind");
    feed_stores(stores, &cluster, metrics, parts);
    let all = async {
        tokio::join!(
            stores.commitments.synced(),
            stores.reservations.synced(),
            stores.hypervisors.synced(),
            stores.knowledges.synced()
        )
    };
    all.await;
    synced.ready();
    info!(
        commitments = stores.commitments.len(),
        slots = stores.reservations.len(),
        hosts = stores.hypervisors.len(),
        "stores synced"
    );
    let (events, publishing) =
        Events::new(&clusters, std::env::var("HOSTNAME").ok(), metrics.cluster.events.clone(), parts.stop.clone());
    parts.spawn_endless("the publisher of events", publishing);
    keep_house(stores, scheduler, &queues, parts);
    let watch = watchdog::watch_laws(stores.clone(), watchdog::INTERVAL, metrics.laws.clone(), parts.stop.clone());
    parts.spawn_endless("the watch over the laws", watch);
    if configuration.enabled_controllers.contains(&Controller::CommittedResources) {
        let world = controllers::World { configuration, stores, clusters, scheduler, queues, events, metrics };
        world.start(parts);
    }
    Ok(())
}

/// Connects, and makes sure that the cluster has and allows what we need.
async fn reach(arguments: &OperatorArguments, configuration: &Configuration) -> Result<Cluster, Error> {
    let version = format!("berth/{}", env!("CARGO_PKG_VERSION"));
    let user_agent = configuration.common.user_agent().unwrap_or(version);
    let cluster = Cluster::connect(arguments.kubeconfig.as_deref(), &user_agent).await?;
    preflight(&cluster, &checks::needs(configuration)).await.map_err(Error::Preflight)?;
    Ok(cluster)
}

fn feed_stores(stores: &Stores, cluster: &Cluster, metrics: &OperatorMetrics, parts: &mut Parts) {
    let (stop, counted) = (parts.stop.clone(), metrics.cluster.stores.clone());
    let feeding = feed(stores.commitments.clone(), cluster.clone(), stop.clone(), counted.clone());
    parts.spawn_endless("the watch of commitments", feeding);
    let feeding = feed(stores.reservations.clone(), cluster.clone(), stop.clone(), counted.clone());
    parts.spawn_endless("the watch of reservations", feeding);
    let feeding = feed(stores.hypervisors.clone(), cluster.clone(), stop.clone(), counted.clone());
    parts.spawn_endless("the watch of hosts", feeding);
    let feeding = feed(stores.knowledges.clone(), cluster.clone(), stop, counted);
    parts.spawn_endless("the watch of flavor groups", feeding);
}

fn keep_house(stores: &Stores, scheduler: &Arc<BuiltIn>, queues: &Queues, parts: &mut Parts) {
    let (stores, scheduler, queues, stop) = (stores.clone(), scheduler.clone(), queues.clone(), parts.stop.clone());
    parts.spawn_endless("housekeeping", async move {
        let mut tick = interval(HOUSEKEEPING);
        while stop.run_until_cancelled(tick.tick()).await.is_some() {
            end_settled_doubts(&stores, &scheduler, &queues);
        }
    });
}

/// The tasks of the process. None may end before `stop`.
pub(crate) struct Parts {
    running: JoinSet<(&'static str, Result<(), Error>)>,
    pub(crate) stop: CancellationToken,
}

impl Parts {
    fn spawn<E: Into<Error>>(
        &mut self,
        name: &'static str,
        work: impl Future<Output = Result<(), E>> + Send + 'static,
    ) {
        self.running.spawn(async move { (name, work.await.map_err(Into::into)) });
    }

    /// Work that has no error, only an end.
    pub(crate) fn spawn_endless(&mut self, name: &'static str, work: impl Future<Output = ()> + Send + 'static) {
        self.running.spawn(async move {
            work.await;
            (name, Ok(()))
        });
    }

    /// Waits until `stop`, or until a part has ended that must not.
    async fn supervise(&mut self) -> Result<(), Error> {
        tokio::select! {
            () = self.stop.cancelled() => Ok(()),
            ended = self.running.join_next() => match ended {
                _ if self.stop.is_cancelled() => Ok(()),
                Some(Ok((_, Err(error)))) => Err(error),
                Some(Ok((part, Ok(())))) => Err(Error::Ended { part }),
                Some(Err(_)) => Err(Error::Ended { part: "a part that panicked" }),
                None => Err(Error::Ended { part: "everything" }),
            },
        }
    }

    async fn wind_down(&mut self) {
        let all = async { while self.running.join_next().await.is_some() {} };
        if tokio::time::timeout(SHUTDOWN, all).await.is_ok() {
            info!("stopped");
        } else {
            let parts = self.running.len();
            error!(parts, "stopped with work under way; what it wrote is looked at again at the next start");
        }
    }
}
