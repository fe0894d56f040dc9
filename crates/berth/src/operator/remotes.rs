//! What `/readyz` says about remote clusters: one that is away or not fit is no reason to take the process out of service
//! (ruling U23), but people have to be told.

use std::time::Duration;

use berth_cluster::{Fitness, Kind, Store};
use berth_core::ClusterName;
use berth_http::Component;
use tokio::time::interval;
use tokio_util::sync::CancellationToken;

use crate::assembly::Stores;

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
    let Stores { commitments, reservations, hypervisors, knowledges, capacities, .. } = stores;
    let unfit = fitness.problems_of(cluster);
    unfit
        .into_iter()
        .next()
        .or_else(|| unfollowed(reservations, cluster))
        .or_else(|| unfollowed(hypervisors, cluster))
        .or_else(|| unfollowed(commitments, cluster))
        .or_else(|| unfollowed(knowledges, cluster))
        .or_else(|| unfollowed(capacities, cluster))
}

fn unfollowed<K: Kind>(store: &Store<K>, cluster: &ClusterName) -> Option<String> {
    let serves = store.clusters().contains(cluster);
    store.followed(cluster).err().filter(|_| serves).map(|partial| partial.to_string())
}
