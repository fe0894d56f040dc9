//! The queue of simulations: a seed decides the next key. A key is never reconciled twice at once, no request is lost,
//! and the earliest requeue counts.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use crate::manager::SHUTDOWN;
use crate::manager::run::Runs;
use crate::{Action, Around, Key, Reconciler, Requests};

/// Chooses one of the waiting keys, by its index; the index wraps around.
pub type Pick = Box<dyn FnMut(usize) -> usize + Send>;

/// Reconciles requested keys until `stop`, and for four seconds more.
pub(crate) async fn work<R: Reconciler>(
    runs: Runs<R>,
    requests: Requests<R::Key>,
    concurrency: u16,
    around: Around,
    pick: Pick,
    stop: &CancellationToken,
) {
    let runs = Arc::new(runs);
    let run = |key: R::Key| {
        let (runs, key_of_run) = (runs.clone(), key.clone());
        let run = around(async move { runs.reconcile(&key_of_run).await }.boxed());
        async move { (key, run.await) }
    };
    let timeout = async {
        stop.cancelled().await;
        sleep(SHUTDOWN).await;
    };
    tokio::select! {
        biased;
        () = SeededQueue::new(concurrency, pick).work(&requests, run, stop) => debug!(controller = R::NAME, "stopped"),
        () = timeout => warn!(controller = R::NAME, "stopped with reconciliations under way; their writes are in doubt"),
    }
}

struct SeededQueue<K> {
    waiting: BTreeSet<K>,
    pick: Pick,
    requeues: Requeues<K>,
    running: BTreeSet<K>,
    again: BTreeSet<K>,
    concurrency: usize,
}

impl<K: Key> SeededQueue<K> {
    /// An empty queue that reconciles at most `concurrency` keys at a time.
    fn new(concurrency: u16, pick: Pick) -> Self {
        let (waiting, requeues) = (BTreeSet::new(), Requeues::default());
        let (running, again) = (BTreeSet::new(), BTreeSet::new());
        Self { waiting, pick, requeues, running, again, concurrency: concurrency.max(1).into() }
    }

    /// Reconciles requested keys until `stop`, then waits for the running reconciliations. A run returns its key.
    async fn work<R>(mut self, requests: &Requests<K>, run: impl Fn(K) -> R, stop: &CancellationToken)
    where
        R: Future<Output = (K, Action)> + Send,
    {
        let mut running: FuturesUnordered<Pin<Box<dyn Future<Output = _> + Send + '_>>> = FuturesUnordered::new();
        while !(stop.is_cancelled() && running.is_empty()) {
            // All waiting keys take part in the choice.
            requests.take_all().into_iter().for_each(|key| self.request(key));
            while let Some(key) = self.next().filter(|_| !stop.is_cancelled()) {
                running.push(Box::pin(run(key)));
            }
            let requeue = self.requeues.first();
            tokio::select! {
                biased;
                Some((key, action)) = running.next() => self.ended(&key, action),
                () = requests.changed() => {}
                () = sleep_until(requeue.unwrap_or_else(Instant::now)), if requeue.is_some() => self.request_due(),
                () = stop.cancelled(), if !stop.is_cancelled() => {}
            }
        }
    }

    /// A key that is being reconciled waits until the run has ended.
    fn request(&mut self, key: K) {
        self.requeues.cancel(&key);
        if self.running.contains(&key) {
            self.again.insert(key);
        } else {
            self.waiting.insert(key);
        }
    }

    fn request_due(&mut self) {
        let now = Instant::now();
        while let Some(key) = self.requeues.due(now) {
            self.request(key);
        }
    }

    fn next(&mut self) -> Option<K> {
        let waiting = self.waiting.len();
        if self.running.len() >= self.concurrency || waiting == 0 {
            return None;
        }
        let key = self.waiting.iter().nth((self.pick)(waiting) % waiting)?.clone();
        self.waiting.remove(&key);
        self.running.insert(key.clone());
        Some(key)
    }

    fn ended(&mut self, key: &K, action: Action) {
        self.running.remove(key);
        if let Some(key) = self.again.take(key) {
            self.waiting.insert(key);
        } else if let Action::RequeueAfter(delay) = action {
            self.requeues.set(key.clone(), Instant::now() + delay);
        }
    }
}

/// The times of requeues: one for each key.
struct Requeues<K> {
    by_key: BTreeMap<K, Instant>,
    by_time: BTreeSet<(Instant, K)>,
}

impl<K> Default for Requeues<K> {
    fn default() -> Self {
        Self { by_key: BTreeMap::new(), by_time: BTreeSet::new() }
    }
}

impl<K: Key> Requeues<K> {
    fn set(&mut self, key: K, at: Instant) {
        self.cancel(&key);
        self.by_key.insert(key.clone(), at);
        self.by_time.insert((at, key));
    }

    fn cancel(&mut self, key: &K) {
        if let Some(requeue) = self.by_key.remove_entry(key).map(|(key, at)| (at, key)) {
            self.by_time.remove(&requeue);
        }
    }

    fn first(&self) -> Option<Instant> {
        self.by_time.first().map(|(at, _)| *at)
    }

    fn due(&mut self, now: Instant) -> Option<K> {
        let (_, key) = self.by_time.first().filter(|(at, _)| *at <= now)?.clone();
        self.cancel(&key);
        Some(key)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn kept(queue: &SeededQueue<u32>) -> [usize; 5] {
        let SeededQueue { waiting, requeues, running, again, .. } = queue;
        [waiting.len(), requeues.by_key.len(), requeues.by_time.len(), running.len(), again.len()]
    }

    fn queue() -> SeededQueue<u32> {
        SeededQueue::new(4, Box::new(|_| 0))
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_kept_of_keys_that_await_a_change() {
        let mut queue = queue();
        (0..100).chain(0..100).for_each(|key| queue.request(key));
        while let Some(key) = queue.next() {
            queue.ended(&key, Action::AwaitChange);
        }
        assert_eq!(kept(&queue), [0; 5]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_that_is_requested_often_is_kept_once() {
        let mut queue = queue();
        let later = Action::RequeueAfter(Duration::from_secs(1));
        for _ in 0..100 {
            (0..3).for_each(|_| queue.request(1));
            assert_eq!(kept(&queue), [1, 0, 0, 0, 0], "the key waits");
            assert_eq!(queue.next(), Some(1));
            (0..3).for_each(|_| queue.request(1));
            assert_eq!(kept(&queue), [0, 0, 0, 1, 1], "the key is reconciled, and then again");
            queue.ended(&1, later);
            assert_eq!(queue.next(), Some(1));
            queue.ended(&1, later);
            assert_eq!(kept(&queue), [0, 1, 1, 0, 0], "the key is requeued");
        }
    }
}
