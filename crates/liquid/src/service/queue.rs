//! The queues of requests, one per zone, first come, first served.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use berth_core::Zone;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

/// Zones with requests at the same time: callers may send any text as a zone.
const ZONES: usize = 1000;

/// The queues of one process.
#[derive(Clone, Debug)]
pub(super) struct ZoneQueues {
    zones: Arc<Mutex<BTreeMap<Zone, Arc<ZoneQueue>>>>,
    length: usize,
    wait: Duration,
}

/// The queue of one zone.
#[derive(Debug)]
struct ZoneQueue {
    turn: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

/// The request is the first of its zone, until this is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    _permit: OwnedSemaphorePermit,
    _place: Place,
    until: Instant,
}

/// The queue is full, or the wait is over.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Full;

/// A request that waits or has its turn. The last one removes the queue of its zone.
#[derive(Debug)]
struct Place {
    queues: ZoneQueues,
    zone: Zone,
    queue: Arc<ZoneQueue>,
}

impl ZoneQueues {
    pub(super) fn new(length: usize, wait: Duration) -> Self {
        Self { zones: Arc::default(), length: length.min(Semaphore::MAX_PERMITS), wait }
    }

    pub(super) async fn enter(&self, zone: &Zone) -> Result<Turn, Full> {
        let until = Instant::now() + self.wait;
        let place = self.place(zone).ok_or(Full)?;
        let permit = match place.queue.turn.clone().try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => place.wait(self.wait).await?,
        };
        Ok(Turn { _permit: permit, _place: place, until })
    }

    fn place(&self, zone: &Zone) -> Option<Place> {
        let mut zones = self.zones.lock();
        let queue = match zones.get(zone) {
            Some(queue) => queue.clone(),
            None if zones.len() >= ZONES => return None,
            None => {
                let waiting = Arc::new(Semaphore::new(self.length));
                let queue = Arc::new(ZoneQueue { turn: Arc::new(Semaphore::new(1)), waiting });
                zones.insert(zone.clone(), queue.clone());
                queue
            }
        };
        Some(Place { queues: self.clone(), zone: zone.clone(), queue })
    }
}

impl Place {
    /// Waits for the turn: the semaphore serves in the order of arrival, and an abandoned wait leaves its place.
    async fn wait(&self, most: Duration) -> Result<OwnedSemaphorePermit, Full> {
        let _waiting = self.queue.waiting.try_acquire().map_err(|_| Full)?;
        timeout(most, self.queue.turn.clone().acquire_owned()).await.ok().and_then(Result::ok).ok_or(Full)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut zones = self.queues.zones.lock();
        // This one and the one in the map.
        if Arc::strong_count(&self.queue) <= 2 {
            zones.remove(&self.zone);
        }
    }
}

impl Turn {
    /// Until when the request may wait before its admission.
    pub(super) fn until(&self) -> Instant {
        self.until
    }
}

#[cfg(test)]
mod tests;
