//! From the watch of one kind in one cluster into the store. It decides when to try again, when the store counts as
//! following the cluster, and looks at objects in doubt from time to time; what a report means is decided by the store.

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
mod anew;
mod credentials;
mod feeding;
mod naming;
pub(crate) mod trouble;

use crate::deadlines::{READ_DEADLINE, WATCH_TIMEOUT};
use crate::{Cluster, Completeness, Guarded, Kind, Store, StoreMetrics, kind_name, write};
pub(crate) use credentials::Credentials;
use feeding::{FIRST_PAUSE, Feeding, Item, LONGEST_PAUSE, Progress};
use naming::Naming;
use trouble::{Sort, Telling, Trouble};

/// A watch without errors for so long may have recovered; an idle one says nothing about it. It doubles with each
/// failure in a row.
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

/// The same for a kind that need not be installed: while it is not, the store counts as complete and empty
/// ([`Store::is_served`]), one line says so, and it is asked for again from time to time.
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
        let both = async { futures::join!(feeding.follow(), feeding.keep_house()) };
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
            Progress { listing: true, failures: 0, telling: Telling::default(), quiet_at: Instant::now() };
        let mut relists = self.store.relists();
        loop {
            tokio::select! {
                biased;
                // Cannot fail: the store is ours.
                Ok(()) = relists.changed() => {
                    stream = self.stream();
                    progress.listing = true;
                }
                // kube-runtime warns of every 403 by itself; what is worth a line is decided here.
                item = stream.next().with_subscriber(Dispatch::none()) => match item {
                    Some(Ok(event)) => self.take(event, &mut progress),
                    // What we knew is too old to go on from: the next item begins a new list.
                    Some(Err(watcher::Error::WatchError(status))) if status.code == 410 => {
                        debug!(kind = kind_name::<K>(), cluster = %self.cluster.name, "the watch begins anew");
                        progress.listing = true;
                    }
                    Some(Err(error)) => {
                        let trouble = Trouble::of(&error);
                        let code = trouble.code;
                        if self.optional && absent::is_so(code) {
                            stream = self.absent(&mut progress).await;
                            continue;
                        }
                        self.fail(trouble, &mut progress).await;
                        if anew::is_needed(code, progress.failures) {
                            stream = self.anew(&mut progress).await;
                        }
                    }
                    None => stream = self.stream(),
                },
                // A list has no deadline of its own.
                () = sleep(READ_DEADLINE), if progress.listing => {
                    self.fail(Trouble::silence(READ_DEADLINE.as_secs()), &mut progress).await;
                    stream = self.anew(&mut progress).await;
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

    fn take(&self, event: watcher::Event<Guarded<K>>, progress: &mut Progress) {
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
            progress.telling.over();
            self.store.failing(&self.cluster.name, None);
            info!(kind = kind_name::<K>(), cluster = %self.cluster.name, "the watch works again");
            self.show();
        }
    }

    async fn fail(&self, trouble: Trouble, progress: &mut Progress) {
        let (kind, cluster, why) = (kind_name::<K>(), &self.cluster.name, &trouble.why);
        if trouble.kind == Sort::Credentials {
            self.metrics.credentials.refused(cluster, why);
        } else if progress.telling.tells(trouble.kind) {
            warn!(kind, cluster = %cluster, error = why, "the watch fails; what is known of the cluster may be out of date");
        } else {
            debug!(kind, cluster = %cluster, error = why, failures = progress.failures, "the watch still fails");
        }
        self.metrics.series.watch_failures.with_label_values(&[kind.as_str(), cluster.as_str()]).inc();
        self.store.failing(cluster, Some(trouble.why));
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

    /// Looks at what is in doubt and nobody has asked for, and shows how things are.
    async fn keep_house(&self) {
        let mut ticks = interval(HOUSEKEEPING);
        loop {
            ticks.tick().await;
            self.show();
            for key in self.store.doubts() {
                if key.cluster != self.cluster.name {
                    continue;
                }
                if let Err(error) = write::settle(&self.store, &self.api, &key).await {
                    debug!(object = %key, error = %error, "an object stays in doubt");
                }
            }
        }
    }

    fn show(&self) {
        let (kind, cluster, metrics) = (kind_name::<K>(), &self.cluster.name, &self.metrics);
        let labels = [kind.as_str(), cluster.as_str()];
        let number = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        let mut malformed = self.store.malformed();
        malformed.retain(|object| object.key.cluster == *cluster);
        self.naming.look(&kind, &malformed);
        metrics.series.objects.with_label_values(&labels).set(number(self.store.len_of(cluster)));
        metrics.series.malformed.with_label_values(&labels).set(number(malformed.len()));
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
