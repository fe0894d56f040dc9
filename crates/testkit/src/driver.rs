//! Runs one controller over a [`World`] on tokio's paused clock: its queue, its failures and its timers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{Action, Reconciler, Requests};
use berth_telemetry::metrics::MetricsError;
use tokio::time::{Instant, sleep, sleep_until};

use crate::{Refusal, World, next};

/// After a failure.
const PAUSE: Duration = Duration::from_millis(200);
const MOST_RUNS: usize = 5000;

/// One controller of one process.
pub struct Driver<R: Reconciler> {
    world: World,
    pub controller: Arc<R>,
    pub requests: Requests<R::Key>,
    /// When the controller wants to run again.
    due: BTreeMap<R::Key, Instant>,
    /// Draws the order of runs; without it, that of the keys counts.
    random: Option<fastrand::Rng>,
}

/// Why a controller cannot be driven.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    #[error("the double of the API server refuses something: {0:?}")]
    Refused(Refusal),
    #[error(transparent)]
    Metrics(#[from] MetricsError),
}

impl From<Refusal> for DriverError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl<R: Reconciler> Driver<R> {
    /// The process has just started: it lists everything, and the first keys are enqueued.
    pub fn start(world: &World, controller: R, requests: Requests<R::Key>) -> Result<Self, DriverError> {
        let controller = Arc::new(controller);
        world.declare(&controller, &requests)?;
        world.list()?;
        requests.add(controller.first_keys());
        Ok(Self { world: world.clone(), controller, requests, due: BTreeMap::new(), random: None })
    }

    /// The order of runs is drawn from a seed.
    #[must_use]
    pub fn in_random_order(self, seed: u64) -> Self {
        Self { random: Some(fastrand::Rng::with_seed(seed)), ..self }
    }

    /// Reconciles until nothing is enqueued; what failed is tried again.
    ///
    /// # Panics
    ///
    /// If the events cannot be delivered, or the controller does not come to rest.
    pub async fn settle(&mut self) {
        for _ in 0..MOST_RUNS {
            let delivered = self.world.deliver();
            assert!(delivered.is_ok(), "the events cannot be delivered: {delivered:?}");
            let Some(key) = self.take() else { return };
            self.due.remove(&key);
            match self.controller.reconcile(key.clone()).await {
                Ok(Action::AwaitChange) => {}
                Ok(Action::RequeueAfter(delay)) => drop(self.due.insert(key, Instant::now() + delay)),
                Err(_) => {
                    self.requests.add([key]);
                    sleep(PAUSE).await;
                }
            }
        }
        panic!("the {} controller does not come to rest", R::NAME);
    }

    /// Time passes, and the controller runs when its timers say so.
    pub async fn wait_until(&mut self, end: Instant) {
        self.settle().await;
        while let Some(at) = self.due.values().copied().min().filter(|at| *at <= end) {
            sleep_until(at).await;
            let now = Instant::now();
            self.requests.add(self.due.iter().filter(|(_, at)| **at <= now).map(|(key, _)| key.clone()));
            self.settle().await;
        }
        sleep_until(end).await;
    }

    pub async fn wait(&mut self, time: Duration) {
        self.wait_until(Instant::now() + time).await;
    }

    /// Runs everything again, without a cause.
    pub async fn rerun(&mut self) {
        self.requests.add(self.controller.first_keys());
        self.settle().await;
    }

    fn take(&mut self) -> Option<R::Key> {
        let Some(random) = &mut self.random else { return next(&self.requests) };
        let mut all: Vec<R::Key> = std::iter::from_fn(|| next(&self.requests)).collect();
        if all.is_empty() {
            return None;
        }
        let key = all.swap_remove(random.usize(..all.len()));
        self.requests.add(all);
        Some(key)
    }
}
