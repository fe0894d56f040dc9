//! What `/readyz` says about remote clusters: one that is away or not fit is no reason to take the process out of service
//! (ruling U23), but people have to be told.

use std::time::Duration;

use berth_cluster::{Fitness, StoreSet as _, Stores};
use berth_core::ClusterName;
use berth_http::Component;
use tokio::time::interval;
use tokio_util::sync::CancellationToken;

const EVERY: Duration = Duration::from_secs(2);

/// Says how a remote is until `stop`.
pub(super) async fn watch(
    cluster: ClusterName,
    stores: Stores,
    fitness: Fitness,
    component: Component,
    stop: CancellationToken,
) {
    let mut tick = interval(EVERY);
    while stop.run_until_cancelled(tick.tick()).await.is_some() {
        match impairment(&cluster, &stores, &fitness) {
            Some(why) => component.impaired(format!("its zones have to wait: {why}")),
            None => component.ready(),
        }
    }
}

fn impairment(cluster: &ClusterName, stores: &Stores, fitness: &Fitness) -> Option<String> {
    let unfit = fitness.problems_of(cluster).into_iter().next();
    unfit.or_else(|| stores.unsynced(cluster).first().map(|(_, partial)| partial.to_string()))
}
