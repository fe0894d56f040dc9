//! A bounded queue with a worker, for writes that follow a response. Adding an item never waits; the caller decides
//! about items that do not fit.

use std::future::Future;
use std::time::Duration;

use futures::{StreamExt, stream};
use tokio::sync::mpsc;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// After `stop`, what waits is still worked on as long as this lasts.
const LAST_WORK: Duration = Duration::from_secs(2);

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
pub(crate) async fn work<T, W: Future<Output = ()>>(
    waiting: mpsc::Receiver<T>,
    at_once: usize,
    stop: CancellationToken,
    each: impl Fn(T) -> W,
) {
    let things = stream::unfold(waiting, |mut waiting| async {
        let thing = tokio::select! {
            biased;
            thing = waiting.recv() => thing,
            () = stop.cancelled() => None,
        };
        thing.map(|thing| (thing, waiting))
    });
    let timeout = async {
        stop.cancelled().await;
        sleep(LAST_WORK).await;
    };
    tokio::select! {
        biased;
        () = things.for_each_concurrent(at_once, each) => {},
        () = timeout => {},
    }
}
