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
use crate::rate::TransferTimer;

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
    write: TransferTimer,
}

impl<S> TimeoutStream<S> {
    pub fn into_inner(self) -> S {
        self.stream
    }

    /// `headers` runs from the opening of the connection and from the first byte of each further request; a
    /// client may read slowly for `pause`.
    pub fn new(stream: S, exchange: Arc<Exchange>, headers: Duration, pause: Duration) -> Self {
        let mut headers = Deadline::new(headers);
        headers.start();
        Self { stream, exchange, seen: 0, headers, write: TransferTimer::new(pause) }
    }

    /// The result of a write of so many bytes, or an error if the client reads too slowly.
    fn written<T>(
        &mut self,
        cx: &mut Context<'_>,
        result: Poll<io::Result<T>>,
        bytes: impl Fn(&T) -> usize,
    ) -> Poll<io::Result<T>> {
        match result {
            Poll::Pending => self.write.poll_waiting(cx).map(Err),
            Poll::Ready(Ok(done)) => Poll::Ready(self.write.moved(bytes(&done)).map(|()| done)),
            failed @ Poll::Ready(Err(_)) => failed,
        }
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
        self.written(cx, result, |written| *written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.written(cx, result, |written| *written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.stream).poll_flush(cx);
        if matches!(result, Poll::Ready(Ok(()))) && self.exchange.flushed() {
            self.write.reset();
        }
        self.written(cx, result, |()| 0)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.written(cx, result, |()| 0)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;
    use crate::connections::Connections;
    use crate::limits::Limits;

    const PAUSE: Duration = Duration::from_secs(30);

    /// Writes 100 KiB to a client that reads so many bytes each second; how long it took, or took to fail.
    async fn write_to_reader(each_second: usize) -> (io::Result<()>, Duration) {
        let (server, mut client) = duplex(64);
        let open = Connections::new("test", &Limits::default(), None).admit(([127, 0, 0, 1], 1).into()).unwrap();
        let mut stream = TimeoutStream::new(server, Arc::new(Exchange::new(open)), PAUSE, PAUSE);
        let reader = tokio::spawn(async move {
            let mut buffer = vec![0; each_second];
            while client.read_exact(&mut buffer).await.is_ok() {
                sleep(Duration::from_secs(1)).await;
            }
        });
        let started = Instant::now();
        let result = stream.write_all(&vec![b'x'; 100 * 1024]).await;
        let took = started.elapsed();
        reader.abort();
        (result, took)
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_is_too_slow_is_given_up() {
        for each_second in [1, 1000] {
            let (result, took) = write_to_reader(each_second).await;
            assert_eq!(result.unwrap_err().kind(), io::ErrorKind::TimedOut);
            assert!(took >= PAUSE && took <= PAUSE + Duration::from_secs(2), "{each_second}: {took:?}");
        }
        let (result, took) = write_to_reader(2048).await;
        assert!(result.is_ok() && took > PAUSE, "{result:?} {took:?}");
    }
}
