//! Which clusters are fit for us at the moment. It asks remotes again and again, because one that is away, too old or
//! lacks rights stops nothing; it tells each problem once, and that it is over. What a problem is, is decided in
//! `preflight`; whether the process goes on without the home cluster, by whoever starts it.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use berth_core::ClusterName;
use parking_lot::Mutex;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use crate::{Cluster, FitnessMetrics, Need, Preflight, preflight};

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Rights and CRDs can go while we run.
const AGAIN: Duration = Duration::from_secs(300);

/// The problems that clusters have. Clones share them.
#[derive(Clone, Debug)]
pub struct Fitness {
    found: Arc<Mutex<BTreeMap<ClusterName, Vec<Preflight>>>>,
    metrics: Arc<FitnessMetrics>,
}

impl Fitness {
    /// No cluster has been looked at yet.
    pub fn new(metrics: Arc<FitnessMetrics>) -> Self {
        Self { found: Arc::default(), metrics }
    }

    /// Checks `cluster` against `needs`, as [`preflight`] does, and remembers the outcome.
    pub async fn check(&self, cluster: &Cluster, needs: &[Need]) -> Result<(), Vec<Preflight>> {
        let outcome = preflight(cluster, needs).await;
        let problems = outcome.as_ref().err().cloned().unwrap_or_default();
        self.remember(&cluster.name, problems);
        outcome
    }

    /// What is wrong at the moment, one line for each problem, by cluster.
    pub fn problems(&self) -> Vec<String> {
        self.found.lock().values().flatten().map(ToString::to_string).collect()
    }

    /// What is wrong with one cluster at the moment, one line for each problem.
    pub fn problems_of(&self, cluster: &ClusterName) -> Vec<String> {
        self.known(cluster).iter().map(ToString::to_string).collect()
    }

    /// Gives the problems that the cluster had before.
    fn remember(&self, cluster: &ClusterName, problems: Vec<Preflight>) -> Vec<Preflight> {
        self.metrics.fit.with_label_values(&[cluster.as_str()]).set(problems.is_empty().into());
        self.found.lock().insert(cluster.clone(), problems).unwrap_or_default()
    }

    fn known(&self, cluster: &ClusterName) -> Vec<Preflight> {
        self.found.lock().get(cluster).cloned().unwrap_or_default()
    }
}

/// Checks a cluster until `stop`: at once, then again soon while something is wrong, and rarely while nothing is. Each
/// problem is told once, and that it is over. Until the first answer the cluster counts as not fit.
pub fn watch_fitness(
    fitness: Fitness,
    cluster: Cluster,
    needs: Vec<Need>,
    stop: CancellationToken,
) -> impl Future<Output = ()> + Send {
    fitness.metrics.fit.with_label_values(&[cluster.name.as_str()]).set(0);
    async move {
        let work = async {
            let mut failures = 0;
            loop {
                let before = fitness.known(&cluster.name);
                let outcome = fitness.check(&cluster, &needs).await;
                let problems = outcome.err().unwrap_or_default();
                tell(&cluster.name, &before, &problems);
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

/// Until the next look, after so many failed ones.
fn pause(failures: u32) -> Duration {
    match failures {
        0 => AGAIN,
        n => LONGEST_PAUSE.min(FIRST_PAUSE * (1 << (n - 1).min(6))),
    }
}

fn tell(cluster: &ClusterName, before: &[Preflight], now: &[Preflight]) {
    let is_in = |all: &[Preflight], one: &Preflight| all.iter().any(|other| other.is_same_news(one));
    for problem in now.iter().filter(|one| !is_in(before, one)) {
        warn!(%cluster, "{problem}; it is asked again");
    }
    match (before.is_empty(), now.is_empty()) {
        (false, true) => info!(%cluster, "the cluster is fit again"),
        (true, true) => debug!(%cluster, "the cluster is fit"),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
