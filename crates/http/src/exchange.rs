//! Where a connection is between two requests: a request arrives, is handled, its response is written, and the connection
//! is idle again.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use axum::BoxError;
use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};

use crate::connections::{OpenConnection, Peer};

/// The requests of one connection, written by its service and by the bodies of its responses, read by its stream.
pub(crate) struct Exchange {
    open: OpenConnection,
    /// Each request adds one when it has arrived and one when its response begins, so it is odd while one is handled.
    count: AtomicUsize,
    /// The HTTP library has taken the whole response and has not flushed it yet.
    is_taken: AtomicBool,
}

impl Exchange {
    pub(crate) fn new(open: OpenConnection) -> Self {
        Self { open, count: AtomicUsize::new(0), is_taken: AtomicBool::new(false) }
    }

    /// Begins a request whose head has arrived; whether it may be handled.
    pub(crate) fn begin(&self) -> bool {
        self.is_taken.store(false, Ordering::Release);
        self.count.fetch_add(1, Ordering::AcqRel);
        self.open.begin_request()
    }

    /// Says that the response of the request begins.
    pub(crate) fn answered(&self) {
        self.count.fetch_add(1, Ordering::AcqRel);
    }

    /// Says that everything that was written so far is sent. If that was a whole response, which is returned, the
    /// connection is idle.
    pub(crate) fn flushed(&self) -> bool {
        let is_whole = self.is_taken.swap(false, Ordering::AcqRel);
        if is_whole {
            self.open.end_request();
        }
        is_whole
    }

    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    pub(crate) fn peer(&self) -> Peer {
        self.open.peer()
    }

    /// Whether a request has arrived whose response has not begun.
    pub(crate) fn has_request(&self) -> bool {
        self.count() % 2 == 1
    }

    /// Waits until the connection must end at once.
    pub(crate) async fn closed(&self) {
        self.open.closed().await;
    }
}

/// The body of a response. Its end is the end of the request.
pub(crate) struct ExchangeBody {
    body: Body,
    exchange: Arc<Exchange>,
}

impl ExchangeBody {
    pub(crate) fn new(body: Body, exchange: Arc<Exchange>) -> Self {
        Self { body, exchange }
    }
}

impl Drop for ExchangeBody {
    fn drop(&mut self) {
        self.exchange.is_taken.store(true, Ordering::Release);
    }
}

impl HttpBody for ExchangeBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx).map_err(Into::into)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
