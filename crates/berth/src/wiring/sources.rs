//! The sources of the manager that fill the memory, on every replica.

use std::time::Duration;

use berth_cluster::{Clusters, Feeding, Manager, RouteError, Routes, Scope, StoreSet as _};
use tokio_util::sync::CancellationToken;

use super::background_tasks::BackgroundTasks;
use super::memory::Memory;
use super::metrics::OperatorMetrics;

impl Memory {
    /// Adds the watches that fill the stores, one per kind and cluster, and the background tasks of the scheduler,
    /// which does not offer hosts of a cluster that could not be followed for `stale_after`. A kind that no cluster
    /// serves is an error.
    pub fn add_to(
        &self,
        manager: &mut Manager,
        clusters: &Clusters,
        routes: &Routes,
        metrics: &OperatorMetrics,
        stale_after: Duration,
        stop: &CancellationToken,
    ) -> Result<(), RouteError> {
        let watches_installed = self.pipelines.follows_objects();
        let feeding = Feeding { clusters, routes, metrics: &metrics.cluster, watches_installed, stop };
        for (name, watch) in self.stores.feed(&feeding)? {
            manager.add_source(name, Scope::EveryReplica, watch);
        }
        let background_tasks =
            BackgroundTasks { memory: self.clone(), stale_after, metrics: metrics.background_tasks.clone() };
        manager.add_source(
            "the background tasks of the scheduler",
            Scope::EveryReplica,
            background_tasks.work(stop.clone()),
        );
        Ok(())
    }
}
