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
    lanes: Arc<Mutex<BTreeMap<Zone, Arc<Lane>>>>,
    length: usize,
    wait: Duration,
}

/// The queue of one zone.
#[derive(Debug)]
struct Lane {
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
    lane: Arc<Lane>,
}

impl ZoneQueues {
    pub(super) fn new(length: usize, wait: Duration) -> Self {
        Self { lanes: Arc::default(), length: length.min(Semaphore::MAX_PERMITS), wait }
    }

    pub(super) async fn enter(&self, zone: &Zone) -> Result<Turn, Full> {
        let until = Instant::now() + self.wait;
        let place = self.place(zone).ok_or(Full)?;
        let permit = match place.lane.turn.clone().try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => place.wait(self.wait).await?,
        };
        Ok(Turn { _permit: permit, _place: place, until })
    }

    fn place(&self, zone: &Zone) -> Option<Place> {
        let mut lanes = self.lanes.lock();
        let lane = match lanes.get(zone) {
            Some(lane) => lane.clone(),
            None if lanes.len() >= ZONES => return None,
            None => {
                let waiting = Arc::new(Semaphore::new(self.length));
                let lane = Arc::new(Lane { turn: Arc::new(Semaphore::new(1)), waiting });
                lanes.insert(zone.clone(), lane.clone());
                lane
            }
        };
        Some(Place { queues: self.clone(), zone: zone.clone(), lane })
    }
}

impl Place {
    /// Waits for the turn: the semaphore serves in the order of arrival, and an abandoned wait leaves its place.
    async fn wait(&self, most: Duration) -> Result<OwnedSemaphorePermit, Full> {
        let _waiting = self.lane.waiting.try_acquire().map_err(|_| Full)?;
        timeout(most, self.lane.turn.clone().acquire_owned()).await.ok().and_then(Result::ok).ok_or(Full)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut lanes = self.queues.lanes.lock();
        // This one and the one in the map.
        if Arc::strong_count(&self.lane) <= 2 {
            lanes.remove(&self.zone);
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
