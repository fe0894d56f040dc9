//! The same queue as [`super::run`], except that somebody picks who is next: a simulation looks at keys in an order that
//! its seed gives, and in the same order when it is run again. It keeps the promises of the other one: never two looks
//! at a key at a time, no wake-up lost, the earliest of several appointments counts.

use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error,
    future::Future,
    pin::{Pin, pin},
    sync::Arc,
    time::Duration,
};

use futures::{FutureExt, Stream, StreamExt, stream::FuturesUnordered};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::{ControllerOptions, Looks, Next, Wakeups, patience};
use crate::{Classified, ControllerMetrics, ObjectKey};

/// Chooses one of so many waiting keys, by its place among them; places beyond the end count from the start again.
pub type Pick = Box<dyn FnMut(usize) -> usize + Send>;

/// Looks at objects as [`super::run`] does, in the order that `pick` chooses.
pub async fn run_in_order<E, F, R>(
    options: ControllerOptions,
    wakeups: Arc<Wakeups>,
    exists: impl Fn(&ObjectKey) -> bool + Send + Sync + 'static,
    stop: CancellationToken,
    metrics: Arc<ControllerMetrics>,
    look: F,
    pick: Pick,
) where
    F: Fn(ObjectKey) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Next, E>> + Send + 'static,
    E: Classified + Error + Send + 'static,
{
    let concurrency = options.concurrency.max(1).into();
    let looks = Arc::new(Looks::new(options, metrics, look));
    let queue = Queue { ready: BTreeSet::new(), later: BTreeMap::new(), busy: BTreeSet::new(), concurrency, pick };
    let start = |key: ObjectKey| {
        let looks = looks.clone();
        async move { (key.clone(), looks.at(key).await) }
    };
    let forget = |key: &ObjectKey| {
        if !exists(key) {
            looks.forget(key);
        }
    };
    tokio::select! {
        biased;
        () = queue.work(wakeups.stream(), start, forget, &stop) => {},
        () = patience(&stop) => {},
    }
}

struct Queue {
    ready: BTreeSet<ObjectKey>,
    later: BTreeMap<ObjectKey, Instant>,
    busy: BTreeSet<ObjectKey>,
    concurrency: usize,
    pick: Pick,
}

impl Queue {
    async fn work<R>(
        mut self,
        woken: impl Stream<Item = ObjectKey>,
        start: impl Fn(ObjectKey) -> R,
        forget: impl Fn(&ObjectKey),
        stop: &CancellationToken,
    ) where
        R: Future<Output = (ObjectKey, Option<Duration>)> + Send,
    {
        let mut woken = pin!(woken);
        let mut running: FuturesUnordered<Pin<Box<dyn Future<Output = _> + Send + '_>>> = FuturesUnordered::new();
        while !(stop.is_cancelled() && running.is_empty()) {
            // All who wait take part in the choice.
            while let Some(Some(key)) = woken.next().now_or_never() {
                self.wake(key);
            }
            while let Some(key) = self.next().filter(|_| !stop.is_cancelled()) {
                running.push(Box::pin(start(key)));
            }
            let appointment = self.later.values().min().copied();
            tokio::select! {
                biased;
                Some((key, again)) = running.next() => {
                    if again.is_none() {
                        forget(&key);
                    }
                    self.ended(key, again);
                }
                Some(key) = woken.next() => self.wake(key),
                () = sleep_until(appointment.unwrap_or_else(Instant::now)), if appointment.is_some() => self.keep_appointments(),
                () = stop.cancelled(), if !stop.is_cancelled() => {}
            }
        }
    }

    fn wake(&mut self, key: ObjectKey) {
        self.later.remove(&key);
        self.ready.insert(key);
    }

    fn keep_appointments(&mut self) {
        let now = Instant::now();
        let due: Vec<_> = self.later.iter().filter(|(_, at)| **at <= now).map(|(key, _)| key.clone()).collect();
        for key in due {
            self.wake(key);
        }
    }

    /// Who is looked at next. One that is being looked at has to wait until that is over.
    fn next(&mut self) -> Option<ObjectKey> {
        let free: Vec<_> = self.ready.difference(&self.busy).collect();
        if free.is_empty() || self.busy.len() >= self.concurrency {
            return None;
        }
        let key = free[(self.pick)(free.len()) % free.len()].clone();
        self.ready.remove(&key);
        self.busy.insert(key.clone());
        Some(key)
    }

    fn ended(&mut self, key: ObjectKey, again: Option<Duration>) {
        self.busy.remove(&key);
        if let Some(pause) = again.filter(|_| !self.ready.contains(&key)) {
            self.later.insert(key, Instant::now() + pause);
        }
    }
}
