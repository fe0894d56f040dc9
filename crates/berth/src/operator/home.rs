//! Reports the home cluster in `/readyz` after its stores have synced. A failing watch makes the process impaired but
//! not unready, because a restarted process would have the same problem.

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
            // The log has the reasons: they change frequently, and each change of this text is a log line.
            component.impaired(format!("these kinds cannot be followed, the log says why: {}", kinds.join(", ")));
        }
    }
}
