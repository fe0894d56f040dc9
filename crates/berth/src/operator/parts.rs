//! The tasks of the process. None may end before `stop`, not even by a panic, and all have a bounded time to end after
//! it.

use std::borrow::Cow;
use std::future::Future;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{error, info};

use crate::error::Error;

/// Work that is under way at `stop` may take this long, which is less than the 5 s after which Kubernetes may kill the
/// process.
const SHUTDOWN: Duration = Duration::from_millis(4500);
/// Only the first part that ends is of interest.
const LAST_WORDS: usize = 1;

/// Starts tasks. Clones start tasks of the same process.
#[derive(Clone)]
pub(super) struct Parts {
    running: TaskTracker,
    ended: mpsc::Sender<Error>,
    /// All of them must end when this is cancelled.
    pub(super) stop: CancellationToken,
}

/// Hears of the first part that ends too early.
pub(super) struct Ends {
    ended: mpsc::Receiver<Error>,
}

impl Parts {
    pub(super) fn new(stop: CancellationToken) -> (Self, Ends) {
        let (sender, ended) = mpsc::channel(LAST_WORDS);
        (Self { running: TaskTracker::new(), ended: sender, stop }, Ends { ended })
    }

    /// Starts a task whose error ends the process.
    pub(super) fn spawn<E: Into<Error> + Send>(
        &self,
        name: impl Into<Cow<'static, str>>,
        work: impl Future<Output = Result<(), E>> + Send + 'static,
    ) {
        let mut last_words = EndReport { error: Some(Error::Ended { part: name.into() }), ended: self.ended.clone() };
        self.running.spawn(async move {
            let last_words = &mut last_words;
            if let Err(error) = work.await {
                last_words.are(error.into());
            }
        });
    }

    /// Work that has no error, only an end.
    pub(super) fn spawn_endless(
        &self,
        name: impl Into<Cow<'static, str>>,
        work: impl Future<Output = ()> + Send + 'static,
    ) {
        self.spawn(name, async move {
            work.await;
            Ok::<(), Error>(())
        });
    }

    /// Waits for the ends of all tasks after `stop`; whether all of them have come.
    pub(super) async fn wind_down(&self) -> bool {
        self.running.close();
        let all_ended = timeout(SHUTDOWN, self.running.wait()).await.is_ok();
        if all_ended {
            info!("stopped");
        } else {
            let parts = self.running.len();
            error!(parts, "stopped with work under way; its writes are read again at the next start");
        }
        all_ended
    }
}

impl Ends {
    /// Why a part has ended that must not end.
    pub(super) async fn first(&mut self) -> Error {
        match self.ended.recv().await {
            Some(error) => error,
            None => std::future::pending().await,
        }
    }
}

/// Says that a task has ended, however it did.
struct EndReport {
    error: Option<Error>,
    ended: mpsc::Sender<Error>,
}

impl EndReport {
    fn are(&mut self, error: Error) {
        self.error = Some(error);
    }
}

impl Drop for EndReport {
    fn drop(&mut self) {
        if let Some(error) = self.error.take() {
            // Full: another part has ended first.
            let _ = self.ended.try_send(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_part_that_ends_or_panics_is_named() {
        let (parts, mut ends) = Parts::new(CancellationToken::new());
        parts.spawn_endless("the one that stays", std::future::pending());
        parts.spawn_endless("the one that panics", async { panic!("on purpose") });
        assert_eq!(
            ends.first().await.to_string(),
            "the one that panics has ended; the process stops so that it is started again"
        );
        let (parts, mut ends) = Parts::new(CancellationToken::new());
        parts.spawn("the one that fails", async { Err(Error::Ended { part: "something in it".into() }) });
        assert!(ends.first().await.to_string().starts_with("something in it has ended"));
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_waits_for_what_ends_in_time_and_not_for_what_hangs() {
        let stop = CancellationToken::new();
        let (parts, _ends) = Parts::new(stop.clone());
        parts.spawn_endless("the one that ends", stop.clone().cancelled_owned());
        stop.cancel();
        assert!(parts.wind_down().await);
        let (parts, _ends) = Parts::new(stop);
        parts.spawn_endless("the one that hangs", std::future::pending());
        assert!(!parts.wind_down().await);
    }
}
