//! A connection that does not wait for ever. It decides that the headers of a request must arrive in time once they
//! have begun, and that a client that takes nothing of its answer is given up; the HTTP library bounds the rest between
//! requests, for which it has only one time for both.

use std::{
    future::Future as _,
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep, sleep},
};

/// How many requests of a connection have begun and been answered, told by the service and read by the connection.
/// Each adds one to the count, so it is odd while a request is being handled.
#[derive(Debug, Clone, Default)]
pub(crate) struct Turns(Arc<AtomicUsize>);

impl Turns {
    /// Tells that a request has arrived whole, or that its answer has begun.
    pub fn next(&self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }

    /// How many there were.
    pub fn count(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }
}

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

    /// An error once the time is over; until then the task is woken when it will be.
    fn check<T>(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        if self.running && self.timer.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        Poll::Pending
    }
}

/// A stream with such limits.
pub(crate) struct Patience<S> {
    stream: S,
    turns: Turns,
    /// The count when this end last looked: another one means that the headers have arrived.
    seen: usize,
    headers: Deadline,
    write: Deadline,
}

impl<S> Patience<S> {
    /// `headers` runs from the opening of the connection and from the first byte of each further request; `pause`
    /// bounds each write.
    pub fn new(stream: S, turns: Turns, headers: Duration, pause: Duration) -> Self {
        let mut headers = Deadline::new(headers);
        headers.start();
        Self { stream, turns, seen: 0, headers, write: Deadline::new(pause) }
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

impl<S: AsyncRead + Unpin> AsyncRead for Patience<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let turn = this.turns.count();
        if turn != this.seen {
            this.seen = turn;
            this.headers.stop();
        }
        let before = buf.filled().len();
        let result = Pin::new(&mut this.stream).poll_read(cx, buf);
        if result.is_pending() {
            return this.headers.check(cx);
        }
        ready!(result)?;
        if buf.filled().len() > before && turn.is_multiple_of(2) {
            this.headers.start();
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patience<S> {
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
        self.written(cx, result)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.written(cx, result)
    }
}
