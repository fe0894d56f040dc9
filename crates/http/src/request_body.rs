//! The body of a request as handlers get it. What they leave unread decides whether the connection can have another
//! request.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Bytes, HttpBody};
use axum::http::HeaderMap;
use axum::http::header::EXPECT;
use futures::future::poll_fn;
use hyper::body::{Frame, Incoming, SizeHint};
use parking_lot::Mutex;
use tokio::time::timeout;

/// An unread body of so many bytes is read, so that the client can use the connection again.
const SHORT: u64 = 64 * 1024;
/// The time for that.
const GRACE: Duration = Duration::from_secs(2);

/// The body of a request.
pub(crate) struct RequestBody {
    body: Option<Incoming>,
    left: UnreadBody,
}

/// What a handler has left of a body.
#[derive(Default)]
enum Left {
    #[default]
    Nothing,
    Unread(Incoming),
    /// It broke off, so the next bytes of the connection are no request.
    Broken,
}

/// Where a [`RequestBody`] leaves what was not read.
#[derive(Clone, Default)]
pub(crate) struct UnreadBody(Arc<Mutex<Left>>);

impl RequestBody {
    pub(crate) fn new(body: Incoming) -> (Self, UnreadBody) {
        let left = UnreadBody::default();
        (Self { body: Some(body), left: left.clone() }, left)
    }
}

impl UnreadBody {
    /// Whether the connection can have another request. A short body that was not read is read now: otherwise the
    /// connection would end, and a next request that is on its way with it.
    pub(crate) async fn leaves_a_connection(&self, headers: &HeaderMap) -> bool {
        let left = std::mem::take(&mut *self.0.lock());
        match left {
            Left::Nothing => true,
            Left::Broken => false,
            Left::Unread(body) => {
                let is_short = body.size_hint().upper().is_some_and(|bytes| bytes <= SHORT);
                // A client that waits for our permission may never send the body.
                is_short && !headers.contains_key(EXPECT) && timeout(GRACE, skip(body)).await.unwrap_or(false)
            }
        }
    }
}

/// Reads to the end; whether there is one.
async fn skip(mut body: Incoming) -> bool {
    loop {
        match poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
            None => return true,
            Some(Ok(_)) => {}
            Some(Err(_)) => return false,
        }
    }
}

impl HttpBody for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let frame = Pin::new(body).poll_frame(cx);
        match &frame {
            Poll::Ready(None) => self.body = None,
            Poll::Ready(Some(Err(_))) => {
                self.body = None;
                *self.left.0.lock() = Left::Broken;
            }
            _ => {}
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), HttpBody::size_hint)
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        if let Some(body) = self.body.take().filter(|body| !body.is_end_stream()) {
            *self.left.0.lock() = Left::Unread(body);
        }
    }
}
