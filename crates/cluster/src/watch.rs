//! Feeds a store from the watch of one kind in one cluster: it retries, decides when the store is synced, and reads
//! objects in doubt again.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use kube::api::{WatchEvent, WatchParams};
use kube::{Api, Resource};
use tokio::time::{Instant, interval, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

mod absent;
mod credentials;
mod feeding;
mod list;
mod naming;
pub(crate) mod outage;
mod retries;

use crate::deadlines::{READ_DEADLINE, WATCH_TIMEOUT};
use crate::{Cluster, Completeness, DecodeGuard, Kind, Store, StoreMetrics, kind_name, write};
pub(crate) use credentials::Credentials;
use feeding::{Feeding, Progress, quiet};
use naming::Naming;
use outage::{Sort, WatchError};
pub(crate) use retries::{Recoveries, pause};

const HOUSEKEEPING: Duration = Duration::from_secs(5);
/// A watch that the API server has not ended this long after its time runs over a dead connection.
const DEAD_AFTER: Duration = Duration::from_secs(5);

/// Keeps `store` up to date with `cluster` until `stop`. The cluster is part of the store when this returns, not yet
/// synced; nothing else happens before the future is polled.
pub fn feed<K: Kind>(
    store: Store<K>,
    cluster: Cluster,
    stop: CancellationToken,
    metrics: Arc<StoreMetrics>,
) -> impl Future<Output = ()> + Send {
    feed_as(store, cluster, stop, metrics, false)
}

/// The same for a kind that need not be installed. While it is not installed, the store counts as complete and empty
/// ([`Store::is_served`]), one log line reports it, and the watch is retried from time to time.
pub fn feed_optional<K: Kind>(
    store: Store<K>,
    cluster: Cluster,
    stop: CancellationToken,
    metrics: Arc<StoreMetrics>,
) -> impl Future<Output = ()> + Send {
    feed_as(store, cluster, stop, metrics, true)
}

fn feed_as<K: Kind>(
    store: Store<K>,
    cluster: Cluster,
    stop: CancellationToken,
    metrics: Arc<StoreMetrics>,
    optional: bool,
) -> impl Future<Output = ()> + Send {
    store.join(&cluster.name);
    async move {
        let api = Api::all(cluster.client.clone());
        let recovery = metrics.recoveries.of(&cluster.name);
        let feeding = Feeding { store, cluster, metrics, api, naming: Naming::default(), recovery, optional };
        let both = async { futures::join!(feeding.follow(), feeding.settle_doubts()) };
        tokio::select! {
            biased;
            () = stop.cancelled() => {},
            _ = both => {},
        }
    }
}

impl<K: Kind> Feeding<K> {
    async fn follow(&self) {
        let mut progress = Progress::new();
        let mut relists = self.store.relists();
        loop {
            let read = tokio::select! {
                biased;
                // Cannot fail: the store is ours.
                Ok(()) = relists.changed() => {
                    progress.list_next();
                    continue;
                }
                read = self.list_or_watch(&mut progress) => read,
            };
            let Err(error) = read else { continue };
            let code = error.code;
            if self.optional && absent::is_so(code) {
                self.absent(&mut progress).await;
                continue;
            }
            self.fail(error, &mut progress).await;
            if list::is_needed(code, progress.failures) {
                progress.list_next();
            }
        }
    }

    async fn list_or_watch(&self, progress: &mut Progress) -> Result<(), WatchError> {
        match progress.version.clone() {
            None => self.list(progress).await,
            Some(version) => self.watch(&version, progress).await,
        }
    }

    /// Watches from `version` on until the API server ends the watch. kube-runtime's watcher does the same, but does not
    /// tell the version: an API server that was set back to an earlier one accepts the watch and sends nothing.
    async fn watch(&self, version: &str, progress: &mut Progress) -> Result<(), WatchError> {
        let is_known = std::mem::take(&mut progress.is_from_list);
        let params = WatchParams::default().timeout(u32::try_from(WATCH_TIMEOUT.as_secs()).unwrap_or(u32::MAX));
        let events = timeout(READ_DEADLINE, self.api.watch(&params, version)).await;
        let events = events.map_err(|_| WatchError::silence("watch", READ_DEADLINE))?;
        let mut events = events.map_err(|error| WatchError::of_call(&error))?.boxed();
        if !is_known && self.has_lost_past(version.parse().unwrap_or(0), progress).await? {
            return Ok(());
        }
        self.recovery.notify_waiters();
        while progress.version.is_some() {
            let event = tokio::select! {
                biased;
                event = timeout(WATCH_TIMEOUT + DEAD_AFTER, events.next()) => event,
                () = sleep_until(progress.quiet_at), if progress.failures > 0 => {
                    self.probe(progress).await;
                    continue;
                }
            };
            let Ok(Some(event)) = event else { return Ok(()) };
            self.take(event.map_err(|error| WatchError::of_call(&error))?, progress)?;
        }
        Ok(())
    }

    /// Everything is listed next if the API server has not reached the version that we have seen.
    async fn has_lost_past(&self, seen: u64, progress: &mut Progress) -> Result<bool, WatchError> {
        let lost = self.has_lost(seen).await?;
        if lost {
            progress.has_lost_past = true;
            progress.list_next();
        }
        Ok(lost)
    }

    fn take(&self, event: WatchEvent<DecodeGuard<K>>, progress: &mut Progress) -> Result<(), WatchError> {
        let (store, cluster) = (&self.store, &self.cluster.name);
        match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                progress.version.clone_from(&object.meta().resource_version);
                store.applied(cluster, object);
                self.succeed(progress);
            }
            WatchEvent::Deleted(object) => {
                progress.version.clone_from(&object.meta().resource_version);
                store.deleted(cluster, object);
                self.succeed(progress);
            }
            WatchEvent::Bookmark(bookmark) => progress.version = Some(bookmark.metadata.resource_version),
            // The version is too old.
            WatchEvent::Error(status) if status.code == 410 => {
                debug!(kind = kind_name::<K>(), %cluster, "watch restarted");
                progress.list_next();
            }
            WatchEvent::Error(status) => return Err(WatchError::answered(&status)),
        }
        Ok(())
    }

    fn succeed(&self, progress: &mut Progress) {
        self.metrics.credentials.accepted(&self.cluster.name);
        if progress.end_outage() {
            self.store.failing(&self.cluster.name, None);
            info!(kind = kind_name::<K>(), cluster = %self.cluster.name, "watch works again");
            self.show();
        }
    }

    async fn fail(&self, error: WatchError, progress: &mut Progress) {
        let (kind, cluster, why) = (kind_name::<K>(), &self.cluster.name, &error.why);
        if error.kind == Sort::Credentials {
            self.metrics.credentials.refused(cluster, why);
        } else if progress.telling.should_log(error.kind) {
            warn!(kind, cluster = %cluster, error = why, "watch failed; objects may be outdated");
        } else {
            debug!(kind, cluster = %cluster, error = why, failures = progress.failures, "watch still fails");
        }
        self.metrics.series.watch_failures.with_label_values(&[kind.as_str(), cluster.as_str()]).inc();
        self.store.failing(cluster, Some(error.why.clone()));
        self.show();
        progress.retries.pause(&error, &self.recovery).await;
        progress.failures = progress.failures.saturating_add(1);
        progress.quiet_at = Instant::now() + quiet(progress.failures);
    }

    /// The watch has not failed again, which may mean that it works and nothing happens. Ask for something.
    async fn probe(&self, progress: &mut Progress) {
        match self.has_lost_past(self.store.newest(&self.cluster.name), progress).await {
            Ok(false) => self.succeed(progress),
            Ok(true) => {}
            Err(_) => progress.quiet_at = Instant::now() + quiet(progress.failures),
        }
    }

    /// Reads objects in doubt again, and updates the metrics.
    async fn settle_doubts(&self) {
        let mut ticks = interval(HOUSEKEEPING);
        loop {
            ticks.tick().await;
            self.show();
            for key in self.store.doubts() {
                if key.cluster != self.cluster.name {
                    continue;
                }
                if let Err(error) = write::settle(&self.store, &self.api, &key).await {
                    debug!(object = %key, error = %error, "object still in doubt");
                }
            }
        }
    }

    fn show(&self) {
        let (kind, cluster, metrics) = (kind_name::<K>(), &self.cluster.name, &self.metrics);
        let labels = [kind.as_str(), cluster.as_str()];
        let number = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        let mut invalid_entry = self.store.invalid_entries();
        invalid_entry.retain(|object| object.key.cluster == *cluster);
        self.naming.log_invalid_entries(&kind, &invalid_entry);
        metrics.series.objects.with_label_values(&labels).set(number(self.store.len_of(cluster)));
        metrics.series.invalid_entry.with_label_values(&labels).set(number(invalid_entry.len()));
        let complete = self.store.completeness(cluster) == Completeness::Complete;
        metrics.series.complete.with_label_values(&labels).set(complete.into());
        metrics.series.in_doubt.with_label_values(&[kind.as_str()]).set(number(self.store.doubts().len()));
    }
}

#[cfg(test)]
mod tests;
