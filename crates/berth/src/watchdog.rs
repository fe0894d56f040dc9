//! Watches the laws of `berth-laws` while the process leads: what is broken is counted and logged once, when it begins
//! and when it is over. Which violations count is decided in `standing`; what is done about them is for people.

use std::{sync::Arc, time::Duration};

use berth_cluster::{Kind, Partial, Store};
use berth_core::ClusterName;
use berth_crds as crds;
use berth_laws::{Law, Outside, Snapshot, Violation, always, at_rest};
use berth_telemetry::metrics::{Kind as MetricKind, Metric, Metrics, MetricsError};
use prometheus::IntCounterVec;
use tokio::time::{Instant, MissedTickBehavior, interval as ticks};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, info};

use crate::assembly::Stores;

mod standing;

use standing::{News, Standing};

/// How often the laws are to be checked.
pub(crate) const INTERVAL: Duration = Duration::from_secs(10);

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
        for law in Law::ALL {
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

/// Checks the laws at every `interval` until `stop`. To be run while this process leads, and to be started anew when it
/// leads again: what is broken at the first check counts then as well, except hosts that are over-booked already.
pub(crate) async fn watch_laws(stores: Stores, interval: Duration, metrics: LawMetrics, stop: CancellationToken) {
    let begun = Instant::now();
    let mut tick = ticks(interval);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut standing, mut outside) = (Standing::default(), Outside::default());
    while stop.run_until_cancelled(tick.tick()).await.is_some() {
        if let Err(partial) = complete(&stores) {
            debug!(%partial, "the laws are not checked");
            standing.interrupted();
            continue;
        }
        let (seen, mut learning) = (stores.clone(), std::mem::take(&mut outside));
        // A large cloud takes a good part of a second.
        let check = tokio::task::spawn_blocking(move || {
            let broken = Broken::of(&seen, &mut learning);
            (broken, learning)
        });
        match check.await {
            Ok((broken, learned)) => {
                outside = learned;
                let news = standing.check(begun.elapsed(), broken.always, broken.at_rest);
                metrics.begun(&news.begun);
                tell(&news);
            }
            Err(error) => error!(%error, "the check of the laws has failed; this is a bug"),
        }
    }
}

/// What is broken at an instant.
struct Broken {
    always: Vec<Violation>,
    at_rest: Vec<Violation>,
}

impl Broken {
    fn of(stores: &Stores, outside: &mut Outside) -> Self {
        let snapshot = snapshot(stores);
        outside.learn(&snapshot, &snapshot.everything());
        let mut at_rest = at_rest(&snapshot);
        // Slots of old data are never marked (U49).
        at_rest.retain(|violation| violation.law != Law::SlotUnmarked);
        Self { always: always(&snapshot, outside), at_rest }
    }
}

fn snapshot(stores: &Stores) -> Snapshot {
    Snapshot::of(all(&stores.commitments), all(&stores.reservations), all(&stores.hypervisors))
        .with_capacities(all(&stores.capacities))
}

fn all<K: Kind>(store: &Store<K>) -> impl Iterator<Item = (ClusterName, Arc<K>)> + use<K> {
    store.all().into_iter().map(|entry| (entry.key.cluster, entry.object))
}

/// Whether the stores show everything. A host that cannot be read is only not judged; any other object that cannot be
/// read would make its commitment look broken.
fn complete(stores: &Stores) -> Result<(), Partial> {
    every_cluster(&stores.commitments, |store, cluster| store.complete(cluster).map(drop))?;
    every_cluster(&stores.reservations, |store, cluster| store.complete(cluster).map(drop))?;
    every_cluster(&stores.capacities, Store::<crds::FlavorGroupCapacity>::followed)?;
    every_cluster(&stores.hypervisors, Store::<crds::Hypervisor>::followed)
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
