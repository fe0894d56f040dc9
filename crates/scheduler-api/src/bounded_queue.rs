//! A bounded queue with a worker, for writes that follow a response. Adding an item never waits; the caller decides
//! about items that do not fit.

use std::future::Future;
use std::time::Duration;

use futures::{StreamExt, stream};
use tokio::sync::mpsc;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// After `stop`, items are still taken from the queue as long as this lasts.
const LAST_ITEM: Duration = Duration::from_millis(500);
/// After `stop`, work that has begun may take as long as this in all. A write that is cut off may still take effect, so
/// the lease could not be released before the process must end.
const LAST_WORK: Duration = Duration::from_secs(4);

/// The end that things are put in at. Clones share the queue.
#[derive(Debug)]
pub(crate) struct BoundedQueue<T> {
    queue: mpsc::Sender<T>,
}

impl<T> Clone for BoundedQueue<T> {
    fn clone(&self) -> Self {
        Self { queue: self.queue.clone() }
    }
}

impl<T> BoundedQueue<T> {
    pub(crate) fn new(size: usize) -> (Self, mpsc::Receiver<T>) {
        let (queue, waiting) = mpsc::channel(size);
        (Self { queue }, waiting)
    }

    /// Puts something in; gives it back if there is no free capacity.
    pub(crate) fn put(&self, thing: T) -> Result<(), T> {
        self.queue.try_send(thing).map_err(mpsc::error::TrySendError::into_inner)
    }
}

/// Works on the items, so many concurrently, until `stop`, and a little longer on items that are already in the queue.
/// What has begun is finished, and what still waits then is dropped.
pub(crate) async fn work<T, W: Future<Output = ()>>(
    waiting: mpsc::Receiver<T>,
    at_once: usize,
    stop: CancellationToken,
    each: impl Fn(T) -> W,
) {
    let after_stop = async |time| {
        stop.cancelled().await;
        sleep(time).await;
    };
    let things = stream::unfold(waiting, |mut waiting| async {
        let thing = tokio::select! {
            biased;
            thing = waiting.recv() => thing,
            () = stop.cancelled() => None,
        };
        thing.map(|thing| (thing, waiting))
    });
    let things = things.take_until(after_stop(LAST_ITEM));
    tokio::select! {
        biased;
        () = things.for_each_concurrent(at_once, each) => {},
        () = after_stop(LAST_WORK) => {},
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use tokio::time::Instant;

    use super::*;

    /// Works on more items than can be done after `stop`, each of which takes this long; returns how many were begun and
    /// finished, and how long it went on.
    async fn stopped_with(item: Duration) -> (u32, u32, Duration) {
        let (queue, waiting) = BoundedQueue::new(64);
        (0..64).for_each(|number| queue.put(number).unwrap());
        let (begun, finished) = (AtomicU32::new(0), AtomicU32::new(0));
        let (stop, started_at) = (CancellationToken::new(), Instant::now());
        stop.cancel();
        work(waiting, 1, stop, async |_| {
            begun.fetch_add(1, Ordering::Relaxed);
            sleep(item).await;
            finished.fetch_add(1, Ordering::Relaxed);
        })
        .await;
        (begun.into_inner(), finished.into_inner(), started_at.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn what_has_begun_when_the_process_stops_is_finished_and_the_rest_is_dropped() {
        let millis = Duration::from_millis;
        assert_eq!(stopped_with(millis(200)).await, (3, 3, millis(600)));
        assert_eq!(stopped_with(millis(1)).await, (64, 64, millis(64)));
    }

    #[tokio::test(start_paused = true)]
    async fn what_hangs_when_the_process_stops_is_cut_off_in_time() {
        assert_eq!(stopped_with(Duration::from_secs(60)).await, (1, 0, LAST_WORK));
    }
}
