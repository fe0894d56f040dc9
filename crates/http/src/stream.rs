//! A connection with timeouts: the headers of a request must arrive in time once they have begun, and a client that does
//! not read its response is disconnected.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use crate::exchange::Exchange;

/// A time limit that runs only while something is awaited.
struct Deadline {
    after: Duration,
    timer: Pin<Box<Sleep>>,
    running: bool,
}

impl Deadline {
    fn new(after: Duration) -> Self {
        Self { after, timer: Box::pin(sleep(after)), running: false }
    }

    fn start(&mut self) {
        if !self.running {
            self.running = true;
            self.timer.as_mut().reset(Instant::now() + self.after);
        }
    }

    fn stop(&mut self) {
        self.running = false;
    }

    /// An error after the deadline; before it, the task is woken at the deadline.
    fn check<T>(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        if self.running && self.timer.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        Poll::Pending
    }
}

/// A stream with such limits.
pub(crate) struct TimeoutStream<S> {
    stream: S,
    exchange: Arc<Exchange>,
    /// The count when this end last checked: another one means that the headers have arrived.
    seen: usize,
    headers: Deadline,
    write: Deadline,
}

impl<S> TimeoutStream<S> {
    /// `headers` runs from the opening of the connection and from the first byte of each further request; `pause`
    /// bounds each write.
    pub fn new(stream: S, exchange: Arc<Exchange>, headers: Duration, pause: Duration) -> Self {
        let mut headers = Deadline::new(headers);
        headers.start();
        Self { stream, exchange, seen: 0, headers, write: Deadline::new(pause) }
    }

    fn written<T>(&mut self, cx: &mut Context<'_>, result: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if result.is_pending() {
            self.write.start();
            return self.write.check(cx);
        }
        self.write.stop();
        result
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimeoutStream<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let request = this.exchange.count();
        if request != this.seen {
            this.seen = request;
            this.headers.stop();
        }
        let before = buf.filled().len();
        let result = Pin::new(&mut this.stream).poll_read(cx, buf);
        if result.is_pending() {
            return this.headers.check(cx);
        }
        ready!(result)?;
        if buf.filled().len() > before && request.is_multiple_of(2) {
            this.headers.start();
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimeoutStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.written(cx, result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.written(cx, result)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.stream).poll_flush(cx);
        if matches!(result, Poll::Ready(Ok(()))) {
            self.exchange.flushed();
        }
        self.written(cx, result)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.written(cx, result)
    }
}
