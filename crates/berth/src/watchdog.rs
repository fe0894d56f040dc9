//! Watches the laws of `berth-laws` while the process leads: what is broken is counted and logged once, when it begins
//! and when it is over. Which violations count is decided in `standing`; what is done about them is for people.

use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{Kind, Partial, Store, StoreSet as _, Stores};
use berth_core::ClusterName;
use berth_laws::{Frozen, Law, Outside, Overdue, Snapshot, Violation, always, at_rest};
use berth_telemetry::config::Configuration;
use berth_telemetry::metrics::{Kind as MetricKind, Metric, Metrics, MetricsError};
use prometheus::IntCounterVec;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, info};

mod standing;

use standing::{News, Standing};

/// How often the laws are to be checked, where that takes no time worth mentioning.
pub(crate) const INTERVAL: Duration = Duration::from_secs(10);

/// So long after its grace something may still be as it was before it is overdue: what fails is tried again by then.
const PATIENCE: Duration = Duration::from_secs(300);

/// A check of everything takes the longer the more there is: with tens of thousands of slots, most of a second. One part
/// in so many of the time goes into checks at most, and so of one core.
const SHARE: u32 = 200;

/// How many violations of one check are logged each; one line tells how many more there are.
const LINES: usize = 20;

const VIOLATIONS: Metric = Metric {
    name: "berth_invariant_violations_total",
    kind: MetricKind::Counter,
    labels: &["law"],
    help: "Times that a law began to be broken, on the replica that leads, by law.",
};

/// Counts violations.
#[derive(Clone, Debug)]
pub struct LawMetrics {
    violations: IntCounterVec,
}

impl LawMetrics {
    /// Registers the metric, with all laws at 0.
    pub(crate) fn register(metrics: &Metrics) -> Result<Self, MetricsError> {
        let violations = metrics.counter(&VIOLATIONS)?;
        for law in Law::ALL.iter().copied() {
            violations.with_label_values(&[law.as_str()]).inc_by(0);
        }
        Ok(Self { violations })
    }

    fn begun(&self, violations: &[Violation]) {
        for violation in violations {
            self.violations.with_label_values(&[violation.law.as_str()]).inc();
        }
    }
}

/// What is watched.
pub(crate) struct Watched {
    /// The objects, as far as this process knows.
    pub(crate) stores: Stores,
    /// How often, or less often where there is very much to check.
    pub(crate) interval: Duration,
    /// `requeueIntervalGracePeriod`: how long something may be missing before what depends on it has to go.
    pub(crate) grace: Duration,
    /// What is left as it is.
    pub(crate) frozen: Frozen,
}

impl Watched {
    /// These objects, under this configuration.
    pub(crate) fn new(stores: Stores, configuration: &Configuration) -> Self {
        let freeze = configuration.freeze.clone();
        let frozen = Frozen { zones: freeze.zones, flavor_groups: freeze.flavor_groups };
        let grace = configuration.reservation_controller.requeue_interval_grace_period;
        Self { stores, interval: INTERVAL, grace, frozen }
    }
}

/// Checks the laws at every interval until `stop`. To be run while this process leads, and to be started anew when it
/// leads again: what is broken at the first check counts then as well, except hosts that are over-booked already, and
/// what is overdue is so from when this process has seen it.
pub(crate) async fn watch_laws(watched: Watched, metrics: LawMetrics, stop: CancellationToken) {
    let Watched { stores, interval, grace, frozen } = watched;
    let start = Instant::now();
    let mut next = start;
    let (mut standing, mut memory) = (Standing::default(), Memory::new(grace + PATIENCE, frozen));
    while stop.run_until_cancelled(sleep_until(next)).await.is_some() {
        let began = Instant::now();
        next = began + interval;
        if let Err(partial) = stores.check_completeness() {
            debug!(%partial, "the laws are not checked");
            standing.interrupted();
            memory.interrupted(start.elapsed());
            continue;
        }
        let (seen, mut learning, now) = (stores.clone(), memory.clone(), start.elapsed());
        // A large cloud takes a good part of a second.
        let check = tokio::task::spawn_blocking(move || {
            let broken = learning.check(&seen, now);
            (broken, learning)
        });
        match check.await {
            Ok((broken, learned)) => {
                memory = learned;
                let news = standing.check(start.elapsed(), broken.always, broken.at_rest);
                metrics.begun(&news.begun);
                tell(&news);
            }
            Err(error) => error!(%error, "the check of the laws has failed; this is a bug"),
        }
        next = began + pace(interval, began.elapsed());
    }
}

/// How long after the beginning of a check that took so long the next one begins.
fn pace(interval: Duration, took: Duration) -> Duration {
    interval.max(took * SHARE)
}

/// What is remembered from check to check.
#[derive(Clone)]
struct Memory {
    outside: Outside,
    hosts: Overdue,
    orphans: Overdue,
}

/// What is broken at an instant.
struct Broken {
    always: Vec<Violation>,
    at_rest: Vec<Violation>,
}

impl Memory {
    fn new(limit: Duration, frozen: Frozen) -> Self {
        let (hosts, orphans) =
            (Overdue::on_gone_hosts(limit, frozen.clone()), Overdue::without_commitment(limit, frozen));
        Self { outside: Outside::default(), hosts, orphans }
    }

    fn interrupted(&mut self, now: Duration) {
        self.hosts.interrupted(now);
        self.orphans.interrupted(now);
    }

    fn check(&mut self, stores: &Stores, now: Duration) -> Broken {
        let snapshot = snapshot(stores);
        let everything = snapshot.everything();
        self.outside.learn(&snapshot, &everything);
        self.hosts.learn(&snapshot, &everything, now);
        self.orphans.learn(&snapshot, &everything, now);
        if every_cluster(&stores.hypervisors, |store, cluster| store.complete(cluster).map(drop)).is_err() {
            // A host that cannot be read may be any of those that are missing.
            self.hosts.interrupted(now);
        }
        let mut always = always(&snapshot, &self.outside);
        always.extend(self.hosts.broken(now).into_iter().chain(self.orphans.broken(now)));
        let mut at_rest = at_rest(&snapshot);
        // Slots of old data are never marked.
        at_rest.retain(|violation| violation.law != Law::SlotUnmarked);
        Broken { always, at_rest }
    }
}

fn snapshot(stores: &Stores) -> Snapshot {
    Snapshot::of(all(&stores.commitments), all(&stores.reservations), all(&stores.hypervisors))
        .with_capacities(all(&stores.capacities))
}

fn all<K: Kind>(store: &Store<K>) -> impl Iterator<Item = (ClusterName, Arc<K>)> + use<K> {
    store.all().into_iter().map(|entry| (entry.key.cluster, entry.object))
}

fn every_cluster<K: Kind>(
    store: &Store<K>,
    check: impl Fn(&Store<K>, &ClusterName) -> Result<(), Partial>,
) -> Result<(), Partial> {
    store.clusters().iter().try_for_each(|cluster| check(store, cluster))
}

fn tell(news: &News) {
    for violation in news.begun.iter().take(LINES) {
        error!(law = violation.law.as_str(), object = %violation.object, "broken law: {}", violation.text);
    }
    for violation in news.over.iter().take(LINES) {
        info!(law = violation.law.as_str(), object = %violation.object, "the law holds again");
    }
    let more = |violations: &[Violation]| violations.len().saturating_sub(LINES);
    if more(&news.begun) > 0 {
        error!(more = more(&news.begun), "more laws are broken than are logged");
    }
    if more(&news.over) > 0 {
        info!(more = more(&news.over), "more laws hold again than are logged");
    }
}

#[cfg(test)]
mod tests;
