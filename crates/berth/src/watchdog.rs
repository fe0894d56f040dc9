//! Checks the invariants while the process leads. Each violation is counted and logged once when it starts and once
//! when it ends.

use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{Kind, Partial, Store, StoreSet as _, Stores};
use berth_core::ClusterName;
use berth_invariants::{ExternalChanges, Invariant, Overdue, PausedScope, Snapshot, Violation, always, at_rest};
use berth_telemetry::config::Configuration;
use berth_telemetry::metrics::{Kind as MetricKind, Metric, Metrics, MetricsError};
use prometheus::IntCounterVec;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, info};

mod open_violations;

use open_violations::{OpenViolations, ViolationChanges};

/// How often the invariants are to be checked, where that takes no time worth mentioning.
pub(crate) const INTERVAL: Duration = Duration::from_secs(10);

/// So long after its grace something may still be as it was before it is overdue: what fails is tried again by then.
const SYNC_TIMEOUT: Duration = Duration::from_secs(300);

/// A check of everything takes the longer the more there is: with tens of thousands of slots, most of a second. One part
/// in so many of the time goes into checks at most, and so of one core.
const SHARE: u32 = 200;

/// How many violations of one check are logged individually; one line has the number of the others.
const LINES: usize = 20;

const VIOLATIONS: Metric = Metric {
    name: "berth_invariant_violations_total",
    kind: MetricKind::Counter,
    labels: &["invariant"],
    help: "Violations of invariants that have started, on the leader, by invariant.",
};

/// Counts violations.
#[derive(Clone, Debug)]
pub struct InvariantMetrics {
    violations: IntCounterVec,
}

impl InvariantMetrics {
    /// Registers the metric, with all invariants at 0.
    pub(crate) fn register(metrics: &Metrics) -> Result<Self, MetricsError> {
        let violations = metrics.counter(&VIOLATIONS)?;
        for invariant in Invariant::ALL.iter().copied() {
            violations.with_label_values(&[invariant.as_str()]).inc_by(0);
        }
        Ok(Self { violations })
    }

    fn count_started(&self, violations: &[Violation]) {
        for violation in violations {
            self.violations.with_label_values(&[violation.invariant.as_str()]).inc();
        }
    }
}

pub(crate) struct Watched {
    /// The objects, as far as this process knows.
    pub(crate) stores: Stores,
    /// How often, or less often where there is very much to check.
    pub(crate) interval: Duration,
    /// `requeueIntervalGracePeriod`: how long an object may be missing before dependent objects must be removed.
    pub(crate) grace: Duration,
    pub(crate) paused: PausedScope,
}

impl Watched {
    pub(crate) fn new(stores: Stores, configuration: &Configuration) -> Self {
        let pause = configuration.pause.clone();
        let paused = PausedScope { zones: pause.zones, flavor_groups: pause.flavor_groups };
        let grace = configuration.reservation_controller.requeue_interval_grace_period;
        Self { stores, interval: INTERVAL, grace, paused }
    }
}

/// Checks the invariants at every interval until `stop`. To be run while this process leads, and to be started again
/// when it leads again. Violations at the first check then count as well, except hosts that are over-booked already,
/// and overdue states count from when this process has seen them.
pub(crate) async fn watch_invariants(watched: Watched, metrics: InvariantMetrics, stop: CancellationToken) {
    let Watched { stores, interval, grace, paused } = watched;
    let start = Instant::now();
    let mut next = start;
    let (mut standing, mut memory) = (OpenViolations::default(), WatchdogState::new(grace + SYNC_TIMEOUT, paused));
    while stop.run_until_cancelled(sleep_until(next)).await.is_some() {
        let started_at = Instant::now();
        next = started_at + interval;
        if let Err(partial) = stores.check_completeness() {
            debug!(%partial, "invariants not checked");
            standing.interrupted();
            memory.interrupted(start.elapsed());
            continue;
        }
        let (seen, mut learning, now) = (stores.clone(), memory.clone(), start.elapsed());
        // A large cloud takes a good part of a second.
        let check = tokio::task::spawn_blocking(move || {
            let violations = learning.check(&seen, now);
            (violations, learning)
        });
        match check.await {
            Ok((violations, learned)) => {
                memory = learned;
                let changes = standing.check(start.elapsed(), violations.always, violations.at_rest);
                metrics.count_started(&changes.started);
                log_changes(&changes);
            }
            Err(error) => error!(%error, "bug: the check of the invariants failed"),
        }
        next = started_at + pace(interval, started_at.elapsed());
    }
}

/// How long after the beginning of a check that took so long the next one begins.
fn pace(interval: Duration, took: Duration) -> Duration {
    interval.max(took * SHARE)
}

/// State that is kept between checks.
#[derive(Clone)]
struct WatchdogState {
    outside: ExternalChanges,
    hosts: Overdue,
    zones: Overdue,
    orphans: Overdue,
}

/// The violations at an instant.
struct ViolationsAt {
    always: Vec<Violation>,
    at_rest: Vec<Violation>,
}

impl WatchdogState {
    fn new(limit: Duration, paused: PausedScope) -> Self {
        Self {
            outside: ExternalChanges::default(),
            hosts: Overdue::on_gone_hosts(limit, paused.clone()),
            zones: Overdue::on_relabelled_hosts(limit, paused.clone()),
            orphans: Overdue::without_commitment(limit, paused),
        }
    }

    fn interrupted(&mut self, now: Duration) {
        for overdue in [&mut self.hosts, &mut self.zones, &mut self.orphans] {
            overdue.interrupted(now);
        }
    }

    fn check(&mut self, stores: &Stores, now: Duration) -> ViolationsAt {
        let snapshot = snapshot(stores);
        let everything = snapshot.everything();
        self.outside.learn(&snapshot, &everything);
        for overdue in [&mut self.hosts, &mut self.zones, &mut self.orphans] {
            overdue.learn(&snapshot, &everything, now);
        }
        if every_cluster(&stores.hypervisors, |store, cluster| store.require_complete(cluster).map(drop)).is_err() {
            // A host that cannot be read may be any of those that are missing.
            self.hosts.interrupted(now);
        }
        let mut always = always(&snapshot, &self.outside);
        always
            .extend([&self.hosts, &self.zones, &self.orphans].into_iter().flat_map(|overdue| overdue.violations(now)));
        let mut at_rest = at_rest(&snapshot);
        // Slots of old data are never marked.
        at_rest.retain(|violation| violation.invariant != Invariant::SlotUnmarked);
        ViolationsAt { always, at_rest }
    }
}

fn snapshot(stores: &Stores) -> Snapshot {
    Snapshot::of(
        list_objects(&stores.commitments),
        list_objects(&stores.reservations),
        list_objects(&stores.hypervisors),
    )
    .with_capacities(list_objects(&stores.capacities))
    .with_changes(list_objects(&stores.changes))
}

fn list_objects<K: Kind>(store: &Store<K>) -> impl Iterator<Item = (ClusterName, Arc<K>)> + use<K> {
    store.all().into_iter().map(|entry| (entry.key.cluster, entry.object))
}

fn every_cluster<K: Kind>(
    store: &Store<K>,
    check: impl Fn(&Store<K>, &ClusterName) -> Result<(), Partial>,
) -> Result<(), Partial> {
    store.clusters().iter().try_for_each(|cluster| check(store, cluster))
}

fn log_changes(changes: &ViolationChanges) {
    for violation in changes.started.iter().take(LINES) {
        error!(invariant = violation.invariant.as_str(), object = %violation.object, "invariant violated: {}", violation.text);
    }
    for violation in changes.ended.iter().take(LINES) {
        info!(invariant = violation.invariant.as_str(), object = %violation.object, "invariant holds again");
    }
    let more = |violations: &[Violation]| violations.len().saturating_sub(LINES);
    if more(&changes.started) > 0 {
        error!(more = more(&changes.started), "further violations are not logged");
    }
    if more(&changes.ended) > 0 {
        info!(more = more(&changes.ended), "further invariants hold again");
    }
}

#[cfg(test)]
mod tests;
