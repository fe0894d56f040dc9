//! The parts of a watch that feeds a store.

use std::sync::Arc;
use std::time::Duration;

use kube::Api;
use kube_runtime::watcher;
use tokio::time::Instant;

use super::naming::Naming;
use super::outage::OutageLog;
use crate::{Cluster, DecodeGuard, Kind, Store, StoreMetrics};

pub(super) const FIRST_PAUSE: Duration = Duration::from_millis(500);

pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(30);

pub(super) type Item<K> = watcher::Result<watcher::Event<DecodeGuard<K>>>;

pub(super) struct Feeding<K: Kind> {
    pub(super) store: Store<K>,
    pub(super) cluster: Cluster,
    pub(super) metrics: Arc<StoreMetrics>,
    pub(super) api: Api<DecodeGuard<K>>,
    pub(super) naming: Naming,
    pub(super) optional: bool,
}

/// The progress of the watch.
pub(super) struct Progress {
    /// A list has begun and is not complete.
    pub(super) listing: bool,
    /// Since the watch was last seen to work. A list alone does not prove that.
    pub(super) failures: u32,
    pub(super) telling: OutageLog,
    /// When a watch that has failed counts as quiet for long enough.
    pub(super) quiet_at: Instant,
}
