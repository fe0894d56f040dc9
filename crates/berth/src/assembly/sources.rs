//! The sources of the manager that fill a memory and keep it in order, on every replica.

use std::time::Duration;

use berth_cluster::{Clusters, Feeding, Manager, RouteError, Routes, Scope, StoreSet as _};
use tokio_util::sync::CancellationToken;

use super::memory::Memory;
use super::metrics::OperatorMetrics;
use super::upkeep::Upkeep;

impl Memory {
    /// Adds the watches that fill the stores, one per kind and cluster, and the upkeep of the scheduler, which does not offer
    /// hosts of a cluster that could not be followed for `stale_after`. A kind that no cluster serves is an error.
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
        let upkeep = Upkeep { memory: self.clone(), stale_after, metrics: metrics.upkeep.clone() };
        manager.add_source("the upkeep of the scheduler", Scope::EveryReplica, upkeep.work(stop.clone()));
        Ok(())
    }
}
