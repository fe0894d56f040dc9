//! Ends transfers with clients that send or read too slowly. Only time counts in which the server waits for the client.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::BoxError;
use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep};

/// Bytes per second that a client must send or read.
const LEAST: f64 = 1024.0;

/// The bytes of one transfer in a window of waiting.
#[derive(Debug, Clone, PartialEq)]
struct TransferRate {
    window: Duration,
    waited: Duration,
    moved: usize,
}

impl TransferRate {
    fn new(window: Duration) -> Self {
        Self { window, waited: Duration::ZERO, moved: 0 }
    }

    /// The time after which the window ends if the server waits on.
    fn left(&self) -> Duration {
        self.window.saturating_sub(self.waited)
    }

    /// The server begins to wait. What was moved before the first time in a window went into buffers.
    fn begin_to_wait(&mut self) {
        if self.waited.is_zero() {
            self.moved = 0;
        }
    }

    /// The server has waited so long, and then so many bytes were moved; whether the client is too slow.
    fn is_too_slow(&mut self, waited: Duration, moved: usize) -> bool {
        self.waited += waited;
        self.moved += moved;
        if self.waited < self.window {
            return false;
        }
        #[allow(clippy::cast_precision_loss, reason = "bytes of a window are far below 2^52")]
        let is_slow = (self.moved as f64) < LEAST * self.waited.as_secs_f64();
        *self = Self::new(self.window);
        is_slow
    }
}

/// Measures a transfer that is polled.
pub(crate) struct TransferTimer {
    rate: TransferRate,
    waiting_since: Option<Instant>,
    timer: Pin<Box<Sleep>>,
}

impl TransferTimer {
    /// A client may be slower than [`LEAST`] for as long as the window.
    pub(crate) fn new(window: Duration) -> Self {
        Self { rate: TransferRate::new(window), waiting_since: None, timer: Box::pin(sleep(window)) }
    }

    /// Forgets what was measured: the transfer is complete.
    pub(crate) fn reset(&mut self) {
        self.rate = TransferRate::new(self.rate.window);
        self.waiting_since = None;
    }

    /// So many bytes were moved; an error if it took too long.
    pub(crate) fn moved(&mut self, bytes: usize) -> io::Result<()> {
        let waited = self.waiting_since.take().map_or(Duration::ZERO, |since| since.elapsed());
        if self.rate.is_too_slow(waited, bytes) { Err(too_slow()) } else { Ok(()) }
    }

    /// The server waits for the client; an error if it does so for too long.
    pub(crate) fn poll_waiting(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        loop {
            let now = Instant::now();
            let since = *self.waiting_since.get_or_insert_with(|| {
                self.rate.begin_to_wait();
                self.timer.as_mut().reset(now + self.rate.left());
                now
            });
            if self.timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            self.waiting_since = None;
            if self.rate.is_too_slow(now.saturating_duration_since(since), 0) {
                return Poll::Ready(too_slow());
            }
        }
    }
}

fn too_slow() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the client is too slow")
}

/// The body of a request, which breaks off if the client sends it too slowly.
pub(crate) struct RatedBody {
    body: Body,
    timer: TransferTimer,
}

impl RatedBody {
    pub(crate) fn new(body: Body, window: Duration) -> Self {
        Self { body, timer: TransferTimer::new(window) }
    }
}

impl HttpBody for RatedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(cx) else {
            return this.timer.poll_waiting(cx).map(|slow| Some(Err(slow.into())));
        };
        let bytes = match &frame {
            Some(Ok(frame)) => frame.data_ref().map_or(0, Bytes::len),
            _ => return Poll::Ready(frame.map(|frame| frame.map_err(Into::into))),
        };
        Poll::Ready(match this.timer.moved(bytes) {
            Ok(()) => frame.map(|frame| frame.map_err(Into::into)),
            Err(error) => Some(Err(error.into())),
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use futures::{StreamExt as _, stream};

    use super::*;

    const WINDOW: Duration = Duration::from_secs(30);
    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_client_is_too_slow_below_one_kibibyte_a_second_after_the_window() {
        for (each_second, is_slow) in [(0, true), (1, true), (1023, true), (1024, false), (100_000, false)] {
            let mut rate = TransferRate::new(WINDOW);
            rate.begin_to_wait();
            for _ in 0..29 {
                assert!(!rate.is_too_slow(SECOND, each_second), "{each_second} before the window");
            }
            assert_eq!(rate.is_too_slow(SECOND, each_second), is_slow, "{each_second}");
        }
    }

    #[test]
    fn each_window_counts_for_itself_and_buffers_do_not_count() {
        let mut rate = TransferRate::new(WINDOW);
        assert!(!rate.is_too_slow(Duration::ZERO, 4 << 20), "into the buffers");
        rate.begin_to_wait();
        assert!(rate.is_too_slow(WINDOW, 1000));
        rate.begin_to_wait();
        assert!(!rate.is_too_slow(WINDOW, 1 << 20));
        rate.begin_to_wait();
        assert!(rate.is_too_slow(WINDOW, 0), "what was read in the window before does not help");
    }

    /// A body of parts, one each second.
    fn slow_body(part: usize, parts: usize) -> RatedBody {
        let parts = stream::iter(0..parts).then(move |_| async move {
            tokio::time::sleep(SECOND).await;
            Ok::<_, io::Error>(vec![b'x'; part])
        });
        RatedBody::new(Body::from_stream(parts), WINDOW)
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_breaks_off_when_it_is_sent_too_slowly() {
        let started = Instant::now();
        assert!(axum::body::to_bytes(Body::new(slow_body(1000, 100)), usize::MAX).await.is_err());
        assert_eq!(started.elapsed(), WINDOW);
        let whole = axum::body::to_bytes(Body::new(slow_body(1024, 100)), usize::MAX).await.unwrap();
        assert_eq!(whole.len(), 102_400);
        let silent = RatedBody::new(Body::from_stream(stream::pending::<io::Result<Bytes>>()), WINDOW);
        let started = Instant::now();
        assert!(axum::body::to_bytes(Body::new(silent), usize::MAX).await.is_err());
        assert_eq!(started.elapsed(), WINDOW);
    }

    #[tokio::test(start_paused = true)]
    async fn a_short_body_may_take_almost_the_whole_window() {
        assert!(axum::body::to_bytes(Body::new(slow_body(1, 29)), usize::MAX).await.is_ok());
    }
}
