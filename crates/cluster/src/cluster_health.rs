//! Checks remote clusters periodically. Each problem is logged once when it appears and once when it ends, because a
//! cluster that is away, outdated or without rights stops only its own zones.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use berth_core::ClusterName;
use parking_lot::Mutex;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use crate::{Cluster, ClusterHealthMetrics, Need, Preflight, preflight};

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Rights and CRDs can go while we run.
const AGAIN: Duration = Duration::from_secs(300);

/// The problems that clusters have. Clones share them.
#[derive(Clone, Debug)]
pub struct ClusterHealth {
    found: Arc<Mutex<BTreeMap<ClusterName, Vec<Preflight>>>>,
    metrics: Arc<ClusterHealthMetrics>,
}

impl ClusterHealth {
    pub fn new(metrics: Arc<ClusterHealthMetrics>) -> Self {
        Self { found: Arc::default(), metrics }
    }

    /// Checks `cluster` against `needs`, as [`preflight`] does, and remembers the outcome.
    pub async fn check(&self, cluster: &Cluster, needs: &[Need]) -> Result<(), Vec<Preflight>> {
        let outcome = preflight(cluster, needs).await;
        let problems = outcome.as_ref().err().cloned().unwrap_or_default();
        self.remember(&cluster.name, problems);
        outcome
    }

    /// The present problems, one line each, by cluster.
    pub fn problems(&self) -> Vec<String> {
        self.found.lock().values().flatten().map(ToString::to_string).collect()
    }

    /// The present problems of one cluster, one line each.
    pub fn problems_of(&self, cluster: &ClusterName) -> Vec<String> {
        self.known(cluster).iter().map(ToString::to_string).collect()
    }

    /// Records the problems of the cluster; returns the former ones.
    fn remember(&self, cluster: &ClusterName, problems: Vec<Preflight>) -> Vec<Preflight> {
        self.metrics.healthy.with_label_values(&[cluster.as_str()]).set(problems.is_empty().into());
        self.found.lock().insert(cluster.clone(), problems).unwrap_or_default()
    }

    fn known(&self, cluster: &ClusterName) -> Vec<Preflight> {
        self.found.lock().get(cluster).cloned().unwrap_or_default()
    }
}

/// Checks a cluster until `stop`: at once, then frequently while there is a problem, and rarely while there is none.
/// Each problem and its end is logged once. The cluster counts as unhealthy until the first result.
pub fn watch_cluster_health(
    cluster_health: ClusterHealth,
    cluster: Cluster,
    needs: Vec<Need>,
    stop: CancellationToken,
) -> impl Future<Output = ()> + Send {
    cluster_health.metrics.healthy.with_label_values(&[cluster.name.as_str()]).set(0);
    async move {
        let work = async {
            let mut failures = 0;
            loop {
                let before = cluster_health.known(&cluster.name);
                let outcome = cluster_health.check(&cluster, &needs).await;
                let problems = outcome.err().unwrap_or_default();
                log_changes(&cluster.name, &before, &problems);
                failures = if problems.is_empty() { 0 } else { failures + 1 };
                sleep(pause(failures)).await;
            }
        };
        tokio::select! {
            biased;
            () = stop.cancelled() => {},
            () = work => {},
        }
    }
}

/// Until the next reconciliation, after so many failed ones.
fn pause(failures: u32) -> Duration {
    match failures {
        0 => AGAIN,
        n => LONGEST_PAUSE.min(FIRST_PAUSE * (1 << (n - 1).min(6))),
    }
}

fn log_changes(cluster: &ClusterName, before: &[Preflight], now: &[Preflight]) {
    let is_in = |all: &[Preflight], one: &Preflight| all.iter().any(|other| other.is_same_problem(one));
    for problem in now.iter().filter(|one| !is_in(before, one)) {
        warn!(%cluster, "{problem}; checking again");
    }
    match (before.is_empty(), now.is_empty()) {
        (false, true) => info!(%cluster, "cluster healthy again"),
        (true, true) => debug!(%cluster, "cluster healthy"),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
