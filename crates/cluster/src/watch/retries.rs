//! When a watch that has failed is tried again: after a pause that doubles, and at once when another watch of its
//! cluster works again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use berth_core::ClusterName;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::sleep;

use super::outage::WatchError;

pub(super) const FIRST_PAUSE: Duration = Duration::from_millis(500);
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// An address without a listener costs nobody anything, and an API server that restarts is one for some time.
pub(super) const LONGEST_PAUSE_REFUSED: Duration = Duration::from_secs(5);

/// The pause after this many failures before this one.
pub(crate) fn pause(failures: u32, error: &WatchError) -> Duration {
    let longest = if error.is_connection_refused { LONGEST_PAUSE_REFUSED } else { LONGEST_PAUSE };
    longest.min(FIRST_PAUSE * (1 << failures.min(6)))
}

/// Tells the watches of a cluster that one of them works.
#[derive(Debug, Default)]
pub(crate) struct Recoveries(Mutex<BTreeMap<ClusterName, Arc<Notify>>>);

impl Recoveries {
    pub(super) fn of(&self, cluster: &ClusterName) -> Arc<Notify> {
        self.0.lock().entry(cluster.clone()).or_default().clone()
    }
}

/// The retries of one watch since it worked.
#[derive(Debug, Default)]
pub(super) struct Retries {
    failures: u32,
    /// Another watch has ended a pause of this one. That happens once: a watch that is refused for a reason of its own
    /// is not retried more often because others work.
    was_retried_early: bool,
}

impl Retries {
    pub(super) async fn pause(&mut self, error: &WatchError, recovery: &Notify) {
        let pause = pause(self.failures, error);
        let recovered = recovery.notified();
        tokio::pin!(recovered);
        recovered.as_mut().enable();
        sleep(FIRST_PAUSE).await;
        tokio::select! {
            biased;
            () = recovered, if !self.was_retried_early => *self = Self { failures: 0, was_retried_early: true },
            () = sleep(pause.saturating_sub(FIRST_PAUSE)) => self.failures = self.failures.saturating_add(1),
        }
    }
}
