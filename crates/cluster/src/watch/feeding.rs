//! The parts of a watch that feeds a store.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use kube::Api;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::naming::Naming;
use super::outage::OutageLog;
use super::retries::Retries;
use crate::{Cluster, DecodeGuard, Kind, Store, StoreMetrics};

/// A watch without errors for so long may have recovered; an idle watch shows nothing. It doubles with each consecutive
/// failure.
const FIRST_QUIET: Duration = Duration::from_secs(1);
pub(super) const LONGEST_QUIET: Duration = Duration::from_secs(10);

pub(super) struct Feeding<K: Kind> {
    pub(super) store: Store<K>,
    pub(super) cluster: Cluster,
    pub(super) metrics: Arc<StoreMetrics>,
    pub(super) api: Api<DecodeGuard<K>>,
    pub(super) naming: Naming,
    /// Notifies when a watch of the cluster works.
    pub(super) recovery: Arc<Notify>,
    pub(super) optional: bool,
}

/// The progress of the watch.
pub(super) struct Progress {
    /// The resourceVersion at which the watch goes on; `None` while everything must be listed.
    pub(super) version: Option<String>,
    /// It is the version of a list, so that the API server is known to have it.
    pub(super) is_from_list: bool,
    /// The version that the watch had reached when it was decided to list everything.
    pub(super) reached: u64,
    /// The API server has not reached that version, or had not when it was asked.
    pub(super) has_lost_past: bool,
    /// Since the watch was last seen to work. A list alone does not prove that.
    pub(super) failures: u32,
    pub(super) retries: Retries,
    pub(super) telling: OutageLog,
    /// When a watch that has failed counts as quiet for long enough.
    pub(super) quiet_at: Instant,
}

impl Progress {
    pub(super) fn new() -> Self {
        Self {
            version: None,
            is_from_list: false,
            reached: 0,
            has_lost_past: false,
            failures: 0,
            retries: Retries::default(),
            telling: OutageLog::default(),
            quiet_at: Instant::now(),
        }
    }

    /// Everything is listed next.
    pub(super) fn list_next(&mut self) {
        let version = self.version.take().and_then(|version| version.parse().ok());
        self.reached = self.reached.max(version.unwrap_or(0));
    }

    /// The watch works. False if it had not failed.
    pub(super) fn end_outage(&mut self) -> bool {
        self.retries = Retries::default();
        self.telling.end_outage();
        mem::take(&mut self.failures) > 0
    }
}

/// How long a watch with this many failures in a row must be without errors.
pub(super) fn quiet(failures: u32) -> Duration {
    LONGEST_QUIET.min(FIRST_QUIET * (1 << failures.saturating_sub(1).min(6)))
}
