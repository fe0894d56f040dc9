//! A double of an API server with stores that watch it, on tokio's paused clock.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{Cluster, ClusterMetrics, Events, Kind, Store, feed_optional};
use berth_core::ClusterName;
use berth_telemetry::clock::{Clock, TokioClock};
use berth_telemetry::metrics::Metrics;
use berth_testkit::Server;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

pub struct Scene {
    pub server: Server,
    pub cluster: Cluster,
    pub clock: Arc<dyn Clock>,
    pub metrics: Metrics,
    pub counted: ClusterMetrics,
    pub stop: CancellationToken,
}

impl Scene {
    /// An empty server. It is 2026-03-01T12:00:00Z.
    pub fn new() -> Self {
        let clock: Arc<dyn Clock> = Arc::new(TokioClock::new("2026-03-01T12:00:00Z".parse().unwrap()));
        let server = Server::new(clock.clone());
        let metrics = Metrics::new(&[].into()).unwrap();
        let counted = ClusterMetrics::register(&metrics).unwrap();
        Self { cluster: server.cluster(), server, clock, metrics, counted, stop: CancellationToken::new() }
    }

    pub fn follow<K: Kind>(&self, store: &Store<K>) {
        let (stop, counted) = (self.stop.clone(), self.counted.stores.clone());
        tokio::spawn(feed_optional(store.clone(), self.cluster.clone(), stop, counted));
    }

    /// Watches a kind and waits for its first list.
    #[allow(dead_code, reason = "not every test needs it")]
    pub async fn synced<K: Kind>(&self, store: &Store<K>) {
        self.follow(store);
        store.synced(&ClusterName::home()).await;
    }

    #[allow(dead_code, reason = "not every test needs it")]
    pub fn events(&self) -> Events {
        let (events, work) =
            Events::new(&self.cluster.clone().into(), None, self.counted.events.clone(), self.stop.clone());
        tokio::spawn(work);
        events
    }

    /// Waits until `text` is a line of the metrics.
    #[allow(dead_code, reason = "not every test needs it")]
    pub async fn counts(&self, text: &str) {
        let so = || async { self.metrics.render().lines().any(|line| line == text) };
        let found = timeout(Duration::from_secs(300), until(text, so)).await;
        assert!(found.is_ok(), "{text} is not among\n{}", self.metrics.render());
    }
}

/// Waits until a condition holds.
pub async fn until<F: Future<Output = bool>>(what: &str, holds: impl Fn() -> F) {
    let waiting = async {
        while !holds().await {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(Duration::from_secs(301), waiting).await.unwrap_or_else(|_| panic!("not in time: {what}"));
}
