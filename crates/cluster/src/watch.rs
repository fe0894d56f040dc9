//! Feeds a store from the watch of one kind in one cluster: it retries, decides when the store is synced, and reads
//! objects in doubt again.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
use kube::Api;
use kube::api::ListParams;
use kube_runtime::watcher::{self, watcher};
use tokio::time::{Instant, interval, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tracing::instrument::WithSubscriber;
use tracing::{Dispatch, debug, info, warn};

mod absent;
mod credentials;
mod feeding;
mod naming;
pub(crate) mod outage;
mod relist;

use crate::deadlines::{READ_DEADLINE, WATCH_TIMEOUT};
use crate::{Cluster, Completeness, DecodeGuard, Kind, Store, StoreMetrics, kind_name, write};
pub(crate) use credentials::Credentials;
use feeding::{FIRST_PAUSE, Feeding, Item, LONGEST_PAUSE, Progress};
use naming::Naming;
use outage::{OutageLog, Sort, WatchError};

/// A watch without errors for so long may have recovered; an idle watch shows nothing. It doubles with each consecutive
/// failure.
const FIRST_QUIET: Duration = Duration::from_secs(1);
const LONGEST_QUIET: Duration = Duration::from_secs(10);
const HOUSEKEEPING: Duration = Duration::from_secs(5);

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
        let feeding = Feeding { store, cluster, metrics, api, naming: Naming::default(), optional };
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
        let mut stream = self.stream();
        let mut progress =
            Progress { listing: true, failures: 0, telling: OutageLog::default(), quiet_at: Instant::now() };
        let mut relists = self.store.relists();
        loop {
            tokio::select! {
                biased;
                // Cannot fail: the store is ours.
                Ok(()) = relists.changed() => {
                    stream = self.stream();
                    progress.listing = true;
                }
                // kube-runtime warns of every 403 itself; this code decides which failures are logged.
                item = stream.next().with_subscriber(Dispatch::none()) => match item {
                    Some(Ok(event)) => self.take(event, &mut progress),
                    // The last known version is too old: the next item begins a new list.
                    Some(Err(watcher::Error::WatchError(status))) if status.code == 410 => {
                        debug!(kind = kind_name::<K>(), cluster = %self.cluster.name, "watch restarted");
                        progress.listing = true;
                    }
                    Some(Err(error)) => {
                        let error = WatchError::of(&error);
                        let code = error.code;
                        if self.optional && absent::is_so(code) {
                            stream = self.absent(&mut progress).await;
                            continue;
                        }
                        self.fail(error, &mut progress).await;
                        if relist::is_needed(code, progress.failures) {
                            stream = self.relist(&mut progress).await;
                        }
                    }
                    None => stream = self.stream(),
                },
                // A list has no deadline of its own.
                () = sleep(READ_DEADLINE), if progress.listing => {
                    self.fail(WatchError::silence(READ_DEADLINE.as_secs()), &mut progress).await;
                    stream = self.relist(&mut progress).await;
                }
                () = sleep_until(progress.quiet_at), if progress.failures > 0 && !progress.listing => {
                    self.probe(&mut progress).await;
                }
            }
        }
    }

    fn stream(&self) -> BoxStream<'static, Item<K>> {
        let seconds = u32::try_from(WATCH_TIMEOUT.as_secs()).unwrap_or(u32::MAX);
        boxed(watcher(self.api.clone(), watcher::Config::default().timeout(seconds)))
    }

    fn take(&self, event: watcher::Event<DecodeGuard<K>>, progress: &mut Progress) {
        let (store, cluster) = (&self.store, &self.cluster.name);
        progress.listing = matches!(event, watcher::Event::Init | watcher::Event::InitApply(_));
        match event {
            watcher::Event::Init => store.init(cluster),
            watcher::Event::InitApply(object) => store.listed(cluster, object),
            watcher::Event::InitDone => {
                store.init_done(cluster);
                self.store.failing(cluster, None);
                self.metrics.credentials.accepted(cluster);
                progress.quiet_at = Instant::now() + quiet(progress.failures);
                self.show();
            }
            watcher::Event::Apply(object) => {
                store.applied(cluster, object);
                self.succeed(progress);
            }
            watcher::Event::Delete(object) => {
                store.deleted(cluster, object);
                self.succeed(progress);
            }
        }
    }

    fn succeed(&self, progress: &mut Progress) {
        self.metrics.credentials.accepted(&self.cluster.name);
        if progress.failures > 0 {
            progress.failures = 0;
            progress.telling.end_outage();
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
        self.store.failing(cluster, Some(error.why));
        self.show();
        sleep(pause(progress.failures)).await;
        progress.failures = progress.failures.saturating_add(1);
        progress.quiet_at = Instant::now() + quiet(progress.failures);
    }

    /// The watch has not failed again, which may mean that it works and nothing happens. Ask for something.
    async fn probe(&self, progress: &mut Progress) {
        match timeout(READ_DEADLINE, self.api.list(&ListParams::default().limit(1))).await {
            Ok(Ok(_)) => self.succeed(progress),
            Ok(Err(_)) | Err(_) => progress.quiet_at = Instant::now() + quiet(progress.failures),
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

pub(crate) fn pause(failures: u32) -> Duration {
    LONGEST_PAUSE.min(FIRST_PAUSE * (1 << failures.min(6)))
}

fn quiet(failures: u32) -> Duration {
    LONGEST_QUIET.min(FIRST_QUIET * (1 << failures.saturating_sub(1).min(6)))
}

fn boxed<K: Kind>(stream: impl Stream<Item = Item<K>> + Send + 'static) -> BoxStream<'static, Item<K>> {
    stream.boxed()
}

#[cfg(test)]
mod tests;
