//! `berth operator`: starts logs, configuration, probes, clusters, stores, leader election and controllers in this
//! order, and ends within a bounded time. Whatever cannot work is reported in one line each before anything is written.

mod apis;
mod certificates;
mod clock;
mod flavor_groups;
mod home;
mod leading;
mod parts;
mod tokens;

use std::cell::OnceCell;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{
    Cluster, ClusterHealth, Clusters, ConnectError, Events, Manager, Need, Queue, Routes, Scope, StoreSet as _, Stores,
    Work, needs, watch_cluster_health,
};
use berth_core::ClusterName;
use berth_http::metrics::router as metrics_router;
use berth_http::{Address, Component, HttpError, Limits, Readiness, Server, TlsInForce, health, open_files};
use berth_liquid::configured::resource_config;
use berth_scheduler::{AnswerSettings, ClaimLimits, Settings, TieBreak};
use berth_scheduler_api::Chosen;
use berth_telemetry::clock::{Clock, ComparedClock, SystemClock};
use berth_telemetry::config::{self, Configuration, Files, SchedulerUrl};
use berth_telemetry::ids::FreshIds;
use berth_telemetry::logs::{self, LogOptions};
use berth_telemetry::metrics::Metrics;
use berth_telemetry::shutdown;
use berth_telemetry::verbosity::Verbosity;
use berth_vm_source::VmSource;
use futures::FutureExt as _;
use tokio::time::{Instant, interval, sleep};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::args::{LogArguments, OperatorArguments};
use crate::callers::Callers;
use crate::error::Error;
use crate::wiring::{
    Controllers, Duties, Environment, Memory, MemorySettings, OperatorMetrics, VmReader, counted_pipelines,
    domain_names, limes_client, publish_failures, rights,
};
use crate::{log_level, watchdog};
use apis::Announced;
use leading::{Leading, TAKE_OVER, hostname};
use parts::Parts;

pub(crate) use apis::{AccessRemark, PlannedApis, external_url, scheduler};
pub(crate) use certificates::Certificates;

/// From the signal until the process has ended, at the latest: less than the 5 s after which Kubernetes may kill it.
const ENDS_WITHIN: Duration = Duration::from_millis(4900);

/// Runs until a signal or a failure ends it.
pub fn run(arguments: &OperatorArguments) -> Result<(), Error> {
    let verbosity = logs::init(&wanted_logs(&arguments.logs))?;
    open_files::raise_limit();
    let files = Files { config: arguments.clusters.config.clone(), secrets: arguments.clusters.secrets.clone() };
    let loaded = config::load(&files, arguments.clusters.strict_config)?;
    loaded.findings.log();
    provided(arguments, &loaded.configuration)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|source| Error::Runtime { source })?;
    let outcome = runtime.block_on(operate(arguments, &loaded.configuration, verbosity));
    // A listener or a write that hangs must not delay the end of the process.
    runtime.shutdown_background();
    outcome
}

pub(crate) fn wanted_logs(arguments: &LogArguments) -> LogOptions {
    LogOptions {
        format: arguments.log_format,
        level: arguments.zap_log_level,
        encoder: arguments.zap_encoder,
        devel: arguments.zap_devel,
        variable: std::env::var("LOG_LEVEL").ok(),
        directives: std::env::var("RUST_LOG").ok(),
    }
}

async fn operate(
    arguments: &OperatorArguments,
    configuration: &Configuration,
    verbosity: Verbosity,
) -> Result<(), Error> {
    let stop = shutdown::on_signals()?;
    let routes = Routes::new(&configuration.api_servers);
    let memory = Memory::new(memory_settings(configuration), &routes);
    let registry = Metrics::new(&configuration.common.metric_labels)?;
    let metrics = OperatorMetrics::register(&registry, &memory)?;
    let (parts, mut ends) = Parts::new(stop.clone());
    parts.spawn_endless("the listener for the log level", log_level::serve(verbosity, stop.clone()));
    let (ready, callers) = (Readiness::new(), Callers::unreached());
    let planned = PlannedApis::new(arguments, configuration)?;
    let certificates = Certificates::open(arguments, &configuration.tls).map_err(HttpError::from)?;
    if !certificates.all().is_empty() {
        let following = TlsInForce::follow(certificates.all(), metrics.http.clone());
        let following = stop.clone().run_until_cancelled_owned(following);
        parts.spawn_endless("the reader of the files of TLS", following.map(drop));
    }
    let duties = duties(arguments, planned.are_open_to_others())?;
    let awaited = Awaited {
        stores: ready.component("stores of cluster home"),
        apis: Announced::new((planned, certificates.apis.clone()), configuration, &ready, &metrics.http)?,
    };
    serve(arguments, (&registry, &metrics), certificates.of_metrics(), &parts, (&ready, &callers)).await?;
    let leading = OnceCell::new();
    let process = Process {
        arguments,
        configuration,
        routes,
        memory,
        metrics,
        callers,
        duties,
        parts: parts.clone(),
        leading: &leading,
    };
    let outcome = tokio::select! {
        biased;
        () = stop.cancelled() => Ok(()),
        error = ends.first() => Err(error),
        outcome = process.run(&ready, awaited) => outcome.map(|never| match never {}),
    };
    stop.cancel();
    let latest = Instant::now() + ENDS_WITHIN;
    if parts.wind_down().await
        && let Some(leading) = leading.into_inner()
    {
        leading.give_back(latest).await;
    }
    outcome
}

pub(crate) fn user_agent(configuration: &Configuration) -> String {
    configuration.common.user_agent().unwrap_or_else(|| format!("berth/{}", env!("CARGO_PKG_VERSION")))
}

fn scheduler_settings(configuration: &Configuration) -> Settings {
    let tie_break = match configuration.scheduler.tie_break {
        config::TieBreak::Hash => TieBreak::Hash,
        config::TieBreak::Name => TieBreak::Name,
    };
    let keys = &configuration.scheduler;
    let answers = AnswerSettings {
        limit_to_request: keys.nova_limit_hosts_to_request,
        shuffle_first: keys.evacuation_shuffle_k,
        slot_ttl: keys.assume_ttl_reservation,
        instance_ttl: keys.assume_ttl_instance,
        claim_limits: Some(ClaimLimits { per_project: keys.claims_per_project }),
    };
    Settings { tie_break, answers, ..Settings::default() }
}

/// Without its controller no Pipeline objects are followed.
pub(crate) fn memory_settings(configuration: &Configuration) -> MemorySettings {
    MemorySettings {
        scheduler: scheduler_settings(configuration),
        pipelines: counted_pipelines(configuration),
        resources: resource_config(&configuration.committed_resource_api.flavor_groups),
        vms: VmSource::new(Arc::new(SystemClock), configuration.common.vm_source_max_age),
        capacity_max_age: configuration.capacity.max_age(),
    }
}

/// Opens the probes and the metrics before anything else, so that a start that takes long can be watched.
async fn serve(
    arguments: &OperatorArguments,
    (registry, metrics): (&Metrics, &OperatorMetrics),
    tls: Option<&TlsInForce>,
    parts: &Parts,
    (ready, callers): (&Readiness, &Callers),
) -> Result<(), Error> {
    if let Some(address) = Address::from_flag(&arguments.health_probe_bind_address)? {
        let (listener, router) = (address.listen().await?, health::router(Readiness::new(), ready.clone()));
        let server = Server::new("probes").with_metrics(&metrics.http).with_limits(Limits::of_probes());
        parts.spawn("the listener of the probes", server.serve_apart(listener, router, parts.stop.clone()));
    }
    if let Some(address) = Address::from_flag(&arguments.metrics_bind_address)? {
        let (listener, router) = (address.listen().await?, metrics_router(registry.clone()));
        let server = Server::new("metrics").with_metrics(&metrics.http).with_limits(Limits::of_probes());
        let (server, router) = if arguments.metrics_secure {
            server.for_authorized(router, None, Arc::new(callers.clone()), tls)?
        } else {
            (server, router)
        };
        parts.spawn("the listener of the metrics", server.serve_apart(listener, router, parts.stop.clone()));
    }
    Ok(())
}

/// What an operator does besides what its configuration says. `has_open_apis`: callers on other machines reach its APIs.
pub(crate) fn duties(arguments: &OperatorArguments, has_open_apis: bool) -> Result<Duties, Error> {
    let checks_callers = has_open_apis || has_secure_metrics(arguments)?;
    Ok(Duties { competes: arguments.leader_elect, checks_callers })
}

fn has_secure_metrics(arguments: &OperatorArguments) -> Result<bool, Error> {
    Ok(arguments.metrics_secure && Address::from_flag(&arguments.metrics_bind_address)?.is_some())
}

/// The conditions that every process waits for before it is ready. They are registered before the probes are served, so
/// that `/readyz` never succeeds only because a condition is not registered yet.
struct Awaited {
    stores: Component,
    apis: Announced,
}

/// The parts of a process.
struct Process<'a> {
    arguments: &'a OperatorArguments,
    configuration: &'a Configuration,
    routes: Routes,
    memory: Memory,
    metrics: OperatorMetrics,
    callers: Callers,
    duties: Duties,
    parts: Parts,
    /// Set when it is known how this process becomes leader.
    leading: &'a OnceCell<Leading>,
}

impl Process<'_> {
    /// Everything from "the process runs" to "controllers started", and then until the lease is lost.
    async fn run(&self, ready: &Readiness, awaited: Awaited) -> Result<Infallible, Error> {
        let Awaited { stores: synced, apis } = awaited;
        let clusters = self.reach(ready, &synced).await?;
        synced.not_ready("waiting for the first list of every kind");
        let mut manager = Manager::new(self.metrics.cluster.controllers.clone(), Queue::Kube);
        self.fill(&clusters, &mut manager).await?;
        synced.ready();
        let showing = home::watch(self.memory.stores.clone(), synced, self.parts.stop.clone());
        self.parts.spawn_endless("the state of the home cluster", showing);
        let (groups, component) = (self.memory.flavor_groups.clone(), ready.component("flavor groups"));
        component.ready();
        let showing = flavor_groups::show(groups, component, self.parts.stop.clone());
        self.parts.spawn_endless("the state of the flavor groups", showing);
        self.show_clock(ready);
        let apis = apis.listen().await?;
        let address = apis.base_url(self.arguments.clusters.kubeconfig.as_deref()).await;
        let leading = self.leading.get_or_init(|| self.leading(clusters.home(), address));
        let environment = self.environment(&clusters, leading)?;
        let deciding = leading.deciding();
        let claims = apis.serve(&self.memory, &environment, (&deciding, &self.callers), &mut manager, &self.parts)?;
        self.spawn_all(manager.replica_work());
        if leading.acquired().await {
            self.prepare_take_over().await;
        }
        if let Some(claims) = claims {
            claims.restore().await;
        }
        deciding.start(self.start(&environment, manager));
        Err(leading.lost().await)
    }

    /// Connects to home, and waits for an API server that hangs: it cannot be told from one that is overloaded.
    async fn connect(&self, home: &Component) -> Result<Clusters, Error> {
        home.not_ready("waiting for an answer of the API server");
        let user_agent = user_agent(self.configuration);
        let kubeconfig = self.arguments.clusters.kubeconfig.as_deref();
        loop {
            let (servers, skew) = (&self.configuration.api_servers, self.memory.skew.clone());
            match Cluster::connect_all(kubeconfig, &user_agent, servers, Some(skew)).await {
                Err(silent @ ConnectError::Silent { .. }) => home.not_ready(silent.to_string()),
                connected => return Ok(connected?),
            }
            sleep(EVERY).await;
        }
    }

    /// Connects, and makes sure that home has and allows what we need. Remotes may be away.
    async fn reach(&self, ready: &Readiness, synced: &Component) -> Result<Clusters, Error> {
        let clusters = self.connect(synced).await?;
        let home = clusters.home();
        self.callers.ask(home);
        let cluster_health = ClusterHealth::new(self.metrics.cluster.cluster_health.clone());
        cluster_health.check(home, &self.needs(home)).await.map_err(Error::Preflight)?;
        for remote in clusters.remotes() {
            let needs = self.needs(remote);
            let watching = watch_cluster_health(cluster_health.clone(), remote.clone(), needs, self.parts.stop.clone());
            self.parts.spawn_endless("the health of a remote cluster", watching);
            let (stores, component) = (self.memory.stores.clone(), ready.component(format!("cluster {}", remote.name)));
            component.impaired("not checked yet");
            let showing =
                watch(remote.name.clone(), stores, cluster_health.clone(), component, self.parts.stop.clone());
            self.parts.spawn_endless("the state of a remote cluster", showing);
        }
        Ok(clusters)
    }

    fn needs(&self, cluster: &Cluster) -> Vec<Need> {
        needs_of(cluster, self.configuration, self.duties, &self.routes)
    }

    /// Begins to follow all clusters, and waits for home.
    async fn fill(&self, clusters: &Clusters, manager: &mut Manager) -> Result<(), Error> {
        let (stale_after, stop) = (self.configuration.scheduler.stale_after, &self.parts.stop);
        self.memory.add_to(manager, clusters, &self.routes, &self.metrics, stale_after, stop)?;
        let vms = self.vm_reader(clusters).refresher(&self.memory, &self.metrics.vms);
        manager.add_source("the reader of VMs", Scope::EveryReplica, vms.work(stop.clone()));
        self.spawn_all(manager.replica_work());
        self.memory.synced(&ClusterName::home()).await;
        let stores = &self.memory.stores;
        info!(
            commitments = stores.commitments.len(),
            slots = stores.reservations.len(),
            hosts = stores.hypervisors.len(),
            "stores synced"
        );
        Ok(())
    }

    fn vm_reader(&self, clusters: &Clusters) -> VmReader {
        VmReader::new(&self.configuration.common, &self.memory.stores, clusters, &hostname())
    }

    fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(ComparedClock(self.memory.skew.clone()))
    }

    fn show_clock(&self, ready: &Readiness) {
        let component = ready.component("clock");
        component.ready();
        let showing = clock::show(self.clock(), component, self.parts.stop.clone());
        self.parts.spawn_endless("the state of the clock", showing);
    }

    fn leading(&self, home: &Cluster, address: Option<String>) -> Leading {
        if self.arguments.leader_elect {
            let name = &self.configuration.common.leader_election_id;
            Leading::elected(home, name, address, self.metrics.cluster.lease.clone())
        } else {
            self.metrics.cluster.lease.leads(true);
            Leading::alone()
        }
    }

    /// Reads from before the take-over prove nothing to a new leader.
    async fn prepare_take_over(&self) {
        let started_at = Instant::now();
        let silent = self.memory.reread_stores(TAKE_OVER).await;
        let milliseconds = u64::try_from(started_at.elapsed().as_millis()).unwrap_or(u64::MAX);
        if silent.is_empty() {
            info!(milliseconds, "stores read again");
        } else {
            let clusters: Vec<_> = silent.iter().map(ClusterName::as_str).collect();
            let clusters = clusters.join(", ");
            warn!(milliseconds, clusters, "stores read again; clusters that did not answer are skipped");
        }
    }

    /// The dependencies of controllers and APIs besides the memory. The publisher of events runs from now on.
    fn environment(&self, clusters: &Clusters, leading: &Leading) -> Result<Environment<'_>, Error> {
        let (fence, counted) = (leading.fence(), self.metrics.cluster.events.clone());
        let (events, publishing) = Events::new(clusters, Some(hostname()), counted, self.parts.stop.clone());
        let events = events.fenced(fence.clone());
        self.parts.spawn_endless("the publisher of events", publishing);
        Ok(Environment {
            configuration: self.configuration,
            clusters: clusters.clone(),
            routes: self.routes.clone(),
            fence,
            events,
            clock: self.clock(),
            scheduler: self.scheduler(&self.configuration.reservation_controller.scheduler, "slots")?,
            capacity_scheduler: self.scheduler(&self.configuration.common.scheduler, "capacity probes")?,
            ids: FreshIds::random(),
            domain_names: domain_names(self.configuration, clusters),
            limes: limes_client(self.configuration, clusters),
            metrics: &self.metrics,
        })
    }

    fn scheduler(&self, url: &SchedulerUrl, purpose: &str) -> Result<Arc<Chosen>, Error> {
        let address = self.arguments.api_bind_address.as_deref();
        apis::scheduler(address, (url, purpose), self.configuration, &self.memory).map(Arc::new)
    }

    fn start(&self, environment: &Environment<'_>, mut manager: Manager) -> Controllers {
        let (stores, invariants) = (self.memory.stores.clone(), self.metrics.invariants.clone());
        let watched = watchdog::Watched::new(stores, self.configuration);
        let watch = watchdog::watch_invariants(watched, invariants, self.parts.stop.clone());
        manager.add_source("the invariant watchdog", Scope::Leader, watch);
        let (groups, events) = (self.memory.flavor_groups.clone(), environment.events.clone());
        let publishing = flavor_groups::publish(groups, events, self.parts.stop.clone());
        manager.add_source("the events about flavor groups", Scope::Leader, publishing);
        let publishing = publish_failures(&self.memory, &self.configuration.common, environment.events.clone());
        let publishing = self.parts.stop.clone().run_until_cancelled_owned(publishing).map(drop);
        manager.add_source("the events about the database of VMs", Scope::Leader, publishing);
        let commitments = (self.memory.stores.commitments.clone(), self.memory.queues.commitments.clone());
        let resuming = clock::resume(environment.clock.clone(), commitments, self.parts.stop.clone());
        manager.add_source("the commitments that a clock has put off", Scope::Leader, resuming);
        self.memory.await_plans();
        let controllers = Controllers::new(&self.memory, environment);
        controllers.add_to(&mut manager, &self.memory.queues);
        if let Some(fetcher) = controllers.limes_fetcher(&self.memory, environment) {
            manager.add_source("the list of Limes", Scope::Leader, fetcher.work(self.parts.stop.clone()));
        }
        self.spawn_all(manager.leader_work(&self.parts.stop));
        info!("controllers started");
        controllers
    }

    fn spawn_all(&self, work: Vec<Work>) {
        for (name, work) in work {
            self.parts.spawn_endless(name, work);
        }
    }
}

// Checks at the start: the configuration must only use features of this version. The preflight checks whether the
// clusters allow what the configuration needs.

/// What an operator needs of a cluster.
pub(crate) fn needs_of(cluster: &Cluster, configuration: &Configuration, duties: Duties, routes: &Routes) -> Vec<Need> {
    needs(&rights(configuration, duties), routes, &cluster.name, cluster.client.default_namespace())
}

/// Refuses requested features that this version does not have.
pub(crate) fn provided(arguments: &OperatorArguments, configuration: &Configuration) -> Result<(), Error> {
    if arguments.leader_elect && configuration.common.leader_election_id.is_empty() {
        return Err(Error::NoLease);
    }
    // Before anything is contacted: a missing file would otherwise be noticed when the listener opens.
    configuration.scheduler.read_tokens()?;
    Ok(())
}

// `/readyz` reports unreachable and unhealthy remote clusters without failing: they are no reason to take the process out of
// service, but users must see them.

const EVERY: Duration = Duration::from_secs(2);

/// Says how a remote is until `stop`.
async fn watch(
    cluster: ClusterName,
    stores: Stores,
    cluster_health: ClusterHealth,
    component: Component,
    stop: CancellationToken,
) {
    let mut tick = interval(EVERY);
    while stop.run_until_cancelled(tick.tick()).await.is_some() {
        match impairment(&cluster, &stores, &cluster_health) {
            Some(why) => component.impaired(format!("its zones have to wait: {why}")),
            None => component.ready(),
        }
    }
}

fn impairment(cluster: &ClusterName, stores: &Stores, cluster_health: &ClusterHealth) -> Option<String> {
    let unfit = cluster_health.problems_of(cluster).into_iter().next();
    unfit.or_else(|| stores.unsynced(cluster).first().map(|(_, partial)| partial.to_string()))
}

#[cfg(test)]
mod tests {
    use berth_placement::Bounds;

    use super::*;

    const CHECKS: &str = include_str!("../../../charts/berth/templates/checks.yaml");
    const OPERATOR: &str = include_str!("../../../charts/berth/templates/operator/deployment.yaml");
    const PLACEMENT: &str = include_str!("../../../charts/berth/templates/placement/deployment.yaml");

    #[test]
    fn the_chart_gives_a_pod_more_time_than_its_process_takes_to_end() {
        for (component, deployment, ending) in
            [("operator", OPERATOR, ENDS_WITHIN), ("placement", PLACEMENT, Bounds::default().longest_answer())]
        {
            let (_, sleep) = deployment.split_once("sleep:\n                seconds: ").unwrap();
            let sleep: u64 = sleep.lines().next().unwrap().parse().unwrap();
            let seconds = (Duration::from_secs(sleep) + ending).as_secs_f64().ceil();
            let check = format!("if le (int .Values.{component}.terminationGracePeriodSeconds) {seconds} ");
            assert!(CHECKS.contains(&check), "{check}");
        }
    }
}
