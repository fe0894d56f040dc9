//! The frame of every controller: from wake-ups to looks (architecture section 4). It decides how long a failed key rests,
//! how it ends, and how looks are counted and logged; which key is next is decided in `queue`. Which event concerns which
//! key is decided by the wiring, what a look does by the controller.

use std::{error::Error, future::Future, sync::Arc, time::Duration};

use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, debug, info, info_span, warn};

mod backoff;
mod loudness;
mod queue;
mod wakeups;

use backoff::Backoff;
pub use backoff::Retry;
use loudness::Loudness;
pub use queue::Pick;
use queue::Queue;
pub use wakeups::Wakeups;

use crate::{Classified, ControllerMetrics, ObjectKey, chain};

/// How long looks that are under way may take to end after `stop`.
const SHUTDOWN: Duration = Duration::from_secs(4);

/// What is to follow a look that succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing until somebody wakes the object.
    Done,
    /// Another look after this time at the latest.
    After(Duration),
}

/// How a controller works.
#[derive(Clone, Debug)]
pub struct ControllerOptions {
    /// Its name in logs and metrics.
    pub name: &'static str,
    /// How many objects are looked at at the same time; at least one.
    pub concurrency: u16,
    /// How long objects rest after failed looks.
    pub retry: Retry,
}

impl ControllerOptions {
    /// A controller with 16 looks at a time and the usual pauses.
    pub fn new(name: &'static str) -> Self {
        Self { name, concurrency: 16, retry: Retry::default() }
    }
}

/// Looks at objects when they are woken, until `stop`; returns within five seconds after it.
///
/// Never two looks at the same object at a time, and none is lost: a wake-up during a look leads to another one. Who was
/// woken first is looked at first, unless somebody picks. Keys whose object is gone are looked at as well; after a look
/// that is [`Next::Done`] a key for which `exists` is false is forgotten. A look that is cut off at the end is dropped at
/// an await; writers mark what they do not know. Begin only when the stores have synced.
pub async fn run<E, F, R>(
    options: ControllerOptions,
    wakeups: Arc<Wakeups>,
    exists: impl Fn(&ObjectKey) -> bool + Send + Sync + 'static,
    stop: CancellationToken,
    metrics: Arc<ControllerMetrics>,
    look: F,
    pick: Option<Pick>,
) where
    F: Fn(ObjectKey) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Next, E>> + Send + 'static,
    E: Classified + Error + Send + 'static,
{
    let queue = Queue::new(options.concurrency, pick);
    let name = options.name;
    let looks = Arc::new(Looks::new(options, metrics, look));
    let at = |key: ObjectKey| {
        let looks = looks.clone();
        async move { (key.clone(), looks.at(key).await) }
    };
    let settled = |key: &ObjectKey| {
        if !exists(key) {
            looks.forget(key);
        }
    };
    tokio::select! {
        biased;
        () = queue.work(wakeups.stream(), at, settled, &stop) => debug!(controller = name, "stopped"),
        () = patience(&stop) => warn!(controller = name, "stopped with looks under way; what they wrote is in doubt"),
    }
}

async fn patience(stop: &CancellationToken) {
    stop.cancelled().await;
    sleep(SHUTDOWN).await;
}

/// Everything around a look.
struct Looks<F> {
    name: &'static str,
    backoff: Backoff,
    loudness: Loudness,
    metrics: Arc<ControllerMetrics>,
    look: F,
}

impl<F> Looks<F> {
    fn new(options: ControllerOptions, metrics: Arc<ControllerMetrics>, look: F) -> Self {
        let backoff = Backoff::new(options.retry);
        Self { name: options.name, backoff, loudness: Loudness::default(), metrics, look }
    }

    /// A look, and when to look again without an event.
    async fn at<E, R>(self: Arc<Self>, key: ObjectKey) -> Option<Duration>
    where
        F: Fn(ObjectKey) -> R,
        R: Future<Output = Result<Next, E>>,
        E: Classified + Error,
    {
        if let Some(rest) = self.backoff.rest(&key) {
            return Some(rest);
        }
        let span = info_span!("look", controller = self.name, object = %key);
        let began = Instant::now();
        let outcome = (self.look)(key.clone()).instrument(span.clone()).await;
        self.metrics.duration.with_label_values(&[self.name]).observe(began.elapsed().as_secs_f64());
        span.in_scope(|| match outcome {
            Ok(next) => self.succeeded(&key, next),
            Err(error) => Some(self.failed(&key, &error)),
        })
    }

    fn succeeded(&self, key: &ObjectKey, next: Next) -> Option<Duration> {
        let cleared = self.backoff.clear(key);
        if cleared.told {
            info!(failures = cleared.count, "the look succeeds again");
        }
        if cleared.count > 0 {
            self.show();
        }
        let (outcome, again) = match next {
            Next::Done => ("done", None),
            Next::After(pause) => ("again", Some(pause)),
        };
        self.metrics.runs.with_label_values(&[self.name, outcome]).inc();
        again
    }

    fn failed<E: Classified + Error>(&self, key: &ObjectKey, error: &E) -> Duration {
        let (class, text) = (error.class(), chain(error));
        let failed = self.backoff.failed(key, class, &text);
        let (failures, seconds) = (failed.count, failed.pause.as_secs_f64());
        if !failed.repeated && self.loudness.tells(class, failures) {
            warn!(%class, error = text, failures, next_look_seconds = seconds, "the look failed");
            self.backoff.tell(key);
        } else {
            debug!(%class, error = text, failures, next_look_seconds = seconds, "the look failed");
        }
        self.metrics.runs.with_label_values(&[self.name, "failed"]).inc();
        self.metrics.failures.with_label_values(&[self.name, class.as_str()]).inc();
        self.show();
        failed.pause
    }

    fn forget(&self, key: &ObjectKey) {
        if self.backoff.clear(key).count > 0 {
            self.show();
        }
    }

    fn show(&self) {
        let number = i64::try_from(self.backoff.len()).unwrap_or(i64::MAX);
        self.metrics.backing_off.with_label_values(&[self.name]).set(number);
    }
}

#[cfg(test)]
mod tests;
