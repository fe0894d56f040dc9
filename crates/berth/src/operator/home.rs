//! What `/readyz` says about the home cluster once its stores have synced. That a kind cannot be followed any more is no
//! reason to take the process out of service, as another one would fare no better, but people have to be told.

use std::time::Duration;

use berth_cluster::{StoreSet as _, Stores};
use berth_core::ClusterName;
use berth_http::Component;
use tokio::time::interval;
use tokio_util::sync::CancellationToken;

pub(super) const EVERY: Duration = Duration::from_secs(2);

/// Says which kinds are not followed until `stop`.
pub(super) async fn watch(stores: Stores, component: Component, stop: CancellationToken) {
    let mut tick = interval(EVERY);
    while stop.run_until_cancelled(tick.tick()).await.is_some() {
        let kinds: Vec<_> = stores.unsynced(&ClusterName::home()).into_iter().map(|(kind, _)| kind).collect();
        if kinds.is_empty() {
            component.ready();
        } else {
            // Why, the log says: reasons change all the time, and each change of this text is a line.
            component.impaired(format!("these kinds cannot be followed, the log says why: {}", kinds.join(", ")));
        }
    }
}
