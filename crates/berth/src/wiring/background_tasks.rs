//! Periodic work for the scheduler: it expires entries, withholds hosts of unreachable clusters, and compares the view
//! with a rebuilt one.

use std::time::Duration;

use berth_cluster::FirstSeen;
use berth_core::ClusterName;
use berth_telemetry::metrics::{Kind as MetricKind, Metric, Metrics, MetricsError};
use prometheus::{IntCounterVec, IntGaugeVec};
use tokio::time::{Instant, interval};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::events::end_settled_doubts;
use super::memory::Memory;

const EVERY: Duration = Duration::from_secs(5);
const COMPARE_EVERY: Duration = Duration::from_secs(300);

const DRIFT: Metric = Metric {
    name: "cortex_scheduler_view_drift_total",
    kind: MetricKind::Counter,
    labels: &[],
    help: "Hosts whose stored sums differed from calculated sums.",
};

const WITHHELD: Metric = Metric {
    name: "berth_scheduler_withheld_clusters",
    kind: MetricKind::Gauge,
    labels: &["cluster"],
    help: "1 while the hosts of the cluster are not offered, because it could not be followed for too long.",
};

/// Metrics of the background tasks. Clones share their values.
#[derive(Clone)]
pub struct BackgroundTaskMetrics {
    drift: IntCounterVec,
    withheld: IntGaugeVec,
}

impl BackgroundTaskMetrics {
    /// Registers them; once per process.
    pub fn register(metrics: &Metrics) -> Result<Self, MetricsError> {
        let drift = metrics.counter(&DRIFT)?;
        drift.with_label_values(&[""; 0]).inc_by(0);
        Ok(Self { drift, withheld: metrics.gauge(&WITHHELD)? })
    }
}

/// Maintains the scheduler of one memory.
pub(super) struct BackgroundTasks {
    pub(super) memory: Memory,
    /// Hosts of a cluster that was not followed for so long are withheld; zero is never.
    pub(super) stale_after: Duration,
    pub(super) metrics: BackgroundTaskMetrics,
}

impl BackgroundTasks {
    pub(super) async fn work(self, stop: CancellationToken) {
        let memory = &self.memory;
        let mut tick = interval(EVERY);
        let (silent, mut compared) = (FirstSeen::default(), Instant::now());
        while stop.run_until_cancelled(tick.tick()).await.is_some() {
            end_settled_doubts(&memory.stores, &memory.scheduler);
            memory.scheduler.expire(memory.now());
            self.withhold(&silent);
            if compared.elapsed() >= COMPARE_EVERY {
                compared = Instant::now();
                self.compare();
            }
        }
    }

    fn withhold(&self, silent: &FirstSeen<ClusterName>) {
        let memory = &self.memory;
        if self.stale_after.is_zero() {
            return;
        }
        for cluster in memory.placing_clusters() {
            let stale = if memory.follows_hosts_of(&cluster) {
                silent.forget(&cluster);
                false
            } else {
                silent.note(&cluster, Instant::now()) >= self.stale_after
            };
            memory.scheduler.withhold_cluster(&cluster, stale);
            let gauge = self.metrics.withheld.with_label_values(&[cluster.as_str()]);
            match (gauge.get() == 1, stale) {
                (false, true) => warn!(%cluster, "cluster not synced; its hosts are not offered"),
                (true, false) => info!(%cluster, "cluster synced; its hosts are offered again"),
                _ => {}
            }
            gauge.set(stale.into());
        }
    }

    fn compare(&self) {
        let wrong = self.memory.scheduler.drift();
        if !wrong.is_empty() {
            self.metrics.drift.with_label_values(&[""; 0]).inc_by(wrong.len() as u64);
            error!(hosts = ?wrong, "bug: the sums of these hosts have drifted; restart the process and report this");
        }
    }
}
