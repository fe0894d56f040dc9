//! Queues of requests, one per key (a zone, a project), first come, first served.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

/// Keys with requests at the same time: callers may send any text as a key.
const KEYS: usize = 1000;

/// The queues of one process.
#[derive(Clone, Debug)]
pub(crate) struct Queues<K> {
    keys: Arc<Mutex<BTreeMap<K, Arc<Queue>>>>,
    length: usize,
    wait: Duration,
}

/// The queue of one key.
#[derive(Debug)]
struct Queue {
    turn: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

/// The request is the first of its key, until this is dropped.
#[derive(Debug)]
pub(crate) struct Turn<K: Ord> {
    _permit: OwnedSemaphorePermit,
    _place: Place<K>,
    until: Instant,
}

/// The queue is full, or the wait is over.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Full;

/// A request that waits or has its turn. The last one removes the queue of its key.
#[derive(Debug)]
struct Place<K: Ord> {
    queues: Queues<K>,
    key: K,
    queue: Arc<Queue>,
}

impl<K: Ord + Clone> Queues<K> {
    pub(crate) fn new(length: usize, wait: Duration) -> Self {
        Self { keys: Arc::new(Mutex::new(BTreeMap::new())), length: length.min(Semaphore::MAX_PERMITS), wait }
    }

    pub(crate) async fn enter(&self, key: &K) -> Result<Turn<K>, Full> {
        let until = Instant::now() + self.wait;
        let place = self.place(key).ok_or(Full)?;
        let permit = match place.queue.turn.clone().try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => place.wait(self.wait).await?,
        };
        Ok(Turn { _permit: permit, _place: place, until })
    }

    fn place(&self, key: &K) -> Option<Place<K>> {
        let mut keys = self.keys.lock();
        let queue = match keys.get(key) {
            Some(queue) => queue.clone(),
            None if keys.len() >= KEYS => return None,
            None => {
                let waiting = Arc::new(Semaphore::new(self.length));
                let queue = Arc::new(Queue { turn: Arc::new(Semaphore::new(1)), waiting });
                keys.insert(key.clone(), queue.clone());
                queue
            }
        };
        Some(Place { queues: self.clone(), key: key.clone(), queue })
    }
}

impl<K: Ord> Place<K> {
    /// Waits for the turn: the semaphore serves in the order of arrival, and an abandoned wait leaves its place.
    async fn wait(&self, most: Duration) -> Result<OwnedSemaphorePermit, Full> {
        let _waiting = self.queue.waiting.try_acquire().map_err(|_| Full)?;
        timeout(most, self.queue.turn.clone().acquire_owned()).await.ok().and_then(Result::ok).ok_or(Full)
    }
}

impl<K: Ord> Drop for Place<K> {
    fn drop(&mut self) {
        let mut keys = self.queues.keys.lock();
        // This one and the one in the map.
        if Arc::strong_count(&self.queue) <= 2 {
            keys.remove(&self.key);
        }
    }
}

impl<K: Ord> Turn<K> {
    /// Until when the request may wait before its admission.
    pub(crate) fn until(&self) -> Instant {
        self.until
    }
}

#[cfg(test)]
mod tests;
