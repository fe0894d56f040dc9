//! The syncer of an operator: its controller, and the runs that fetch the list of Limes.

use std::sync::Arc;

use berth_cluster::Routes;
use berth_committed_resource::orphans::ListedCommitments;
use berth_limes_syncer::{Context, Fetcher, FetcherParts, Jitter, LimesClient, SyncController, SyncMetrics, Views};
use berth_telemetry::clock::Clock;
use berth_telemetry::config::Syncer;
use jiff::Timestamp;
use uuid::Uuid;

use super::Memory;

/// The controller and its source.
#[derive(Clone)]
pub(super) struct LimesSyncer {
    pub(super) controller: Arc<SyncController>,
    limes: Arc<dyn LimesClient>,
    routes: Routes,
    clock: Arc<dyn Clock>,
    metrics: SyncMetrics,
}

impl LimesSyncer {
    pub(super) fn new(context: Context, limes: Arc<dyn LimesClient>) -> Self {
        let (routes, clock, metrics) = (context.routes.clone(), context.clock.clone(), context.metrics.clone());
        Self { controller: Arc::new(SyncController::new(context)), limes, routes, clock, metrics }
    }

    /// What the controller of orphaned slots asks.
    pub(super) fn listed(&self) -> Arc<dyn ListedCommitments> {
        Arc::new(ListedInViews(self.controller.views().clone()))
    }

    /// The runs.
    pub(super) fn fetcher(&self, memory: &Memory, keys: &Syncer) -> Fetcher {
        let parts = FetcherParts {
            limes: self.limes.clone(),
            views: self.controller.views().clone(),
            recent: self.controller.recent().clone(),
            requests: self.controller.requests().clone(),
            commitments: memory.stores.commitments.clone(),
            routes: self.routes.clone(),
            groups: memory.flavor_groups.clone(),
            ram_units: Arc::new(memory.declared_units()),
            clock: self.clock.clone(),
            metrics: self.metrics.clone(),
            services: keys.services(),
            interval: keys.period(),
            requests_per_second: keys.requests_per_second,
            requests_in_flight: keys.requests_in_flight,
        };
        Fetcher::new(parts, jitter())
    }
}

struct ListedInViews(Views);

impl ListedCommitments for ListedInViews {
    fn unlisted_since(&self, uuid: &str) -> Option<Timestamp> {
        self.0.unlisted_since(uuid)
    }
}

/// Replicas must not ask at the same moments.
fn jitter() -> Jitter {
    Box::new(|| Uuid::new_v4().as_fields().0)
}
