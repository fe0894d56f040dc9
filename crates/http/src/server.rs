//! A listening server. It limits the number of connections, and ends them within a bounded time when it is stopped.

use std::convert::Infallible;
use std::future::Future as _;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::Request;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, Sleep, sleep};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use crate::error::HttpError;
use crate::limits::Limits;
use crate::metrics::HttpMetrics;
use crate::observe::{self, Observer};

/// Pause after a failure to accept that is not the fault of a client, mostly too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(500);
/// Bytes of a head, at most; and of an answer so many are held before the client gets them, so that it reads while the next
/// ones are made.
const HELD: usize = 96 * 1024;
/// After so many consecutive failures the server ends.
const ACCEPT_FAILURES: u32 = 60;

/// Serves with the usual limits and without metrics; see [`Server`].
pub async fn serve(listener: TcpListener, router: Router, stop: CancellationToken) -> Result<(), HttpError> {
    Server::new("http").serve(listener, router, stop).await
}

/// A server: its name in logs and metrics, its limits, its metrics.
#[derive(Clone)]
pub struct Server {
    name: &'static str,
    limits: Limits,
    metrics: Option<HttpMetrics>,
}

impl Server {
    /// A server with the usual limits. `name` is one of a few, for example `api` or `probes`.
    pub fn new(name: &'static str) -> Self {
        Self { name, limits: Limits::default(), metrics: None }
    }

    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    #[must_use]
    pub fn with_metrics(self, metrics: &HttpMetrics) -> Self {
        Self { metrics: Some(metrics.clone()), ..self }
    }

    /// The router with everything that happens around a request, for tests without a socket.
    pub fn around(&self, router: Router) -> Router {
        let Self { name: server, limits, metrics, .. } = self.clone();
        observe::around(router, Arc::new(Observer { server, limits, metrics }))
    }

    /// Serves until `stop` is cancelled; then no connection is accepted, requests that run get [`Limits::drain`] to be
    /// answered, and the rest is cut off. An error means that the listener does not work any more.
    pub async fn serve(self, listener: TcpListener, router: Router, stop: CancellationToken) -> Result<(), HttpError> {
        // Our own end must not stop the rest of the process: that is up to the caller, who gets the error.
        let stop = stop.child_token();
        let mut connections = JoinSet::new();
        let router = self.around(router);
        let result = self.accept_all(&listener, &router, &stop, &mut connections).await;
        drop(listener);
        stop.cancel();
        let drained =
            tokio::time::timeout(self.limits.drain, async { while connections.join_next().await.is_some() {} });
        if drained.await.is_err() {
            tracing::warn!(server = self.name, connections = connections.len(), "connections closed that did not end");
        }
        connections.shutdown().await;
        result
    }

    async fn accept_all(
        &self,
        listener: &TcpListener,
        router: &Router,
        stop: &CancellationToken,
        connections: &mut JoinSet<()>,
    ) -> Result<(), HttpError> {
        let slots = Arc::new(Semaphore::new(self.limits.connections));
        let mut failures = 0;
        while let Some(accepted) = stop.run_until_cancelled(self.accept(listener, &slots, connections)).await {
            match accepted {
                Ok((stream, peer, slot)) => {
                    failures = 0;
                    let connection = self.clone().connection(stream, peer, router.clone(), stop.clone());
                    connections.spawn(async move {
                        connection.await;
                        drop(slot);
                    });
                }
                Err(source) if is_clients_fault(&source) => {}
                Err(source) if failures == ACCEPT_FAILURES => return Err(HttpError::Accept { source }),
                Err(error) => {
                    failures += 1;
                    tracing::error!(server = self.name, error = %error, "cannot accept a connection; retrying");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
        Ok(())
    }

    /// The next connection, once there is a free slot for it. Connections that have ended are collected meanwhile.
    async fn accept(
        &self,
        listener: &TcpListener,
        slots: &Arc<Semaphore>,
        connections: &mut JoinSet<()>,
    ) -> std::io::Result<(TcpStream, SocketAddr, tokio::sync::OwnedSemaphorePermit)> {
        while connections.try_join_next().is_some() {}
        let slot = slots.clone().acquire_owned().await.map_err(std::io::Error::other)?;
        let (stream, peer) = listener.accept().await?;
        Ok((stream, peer, slot))
    }

    async fn connection(self, stream: TcpStream, peer: SocketAddr, router: Router, stop: CancellationToken) {
        let _counted = self.metrics.as_ref().map(|metrics| Counted::new(metrics, self.name));
        // Answers are written whole; waiting for more to send only delays them.
        let _ = stream.set_nodelay(true);
        let requests = RequestCount::default();
        let stream = TimeoutStream::new(stream, requests.clone(), self.limits.headers, self.limits.pause);
        let service = service_fn(move |request| handle(router.clone(), requests.clone(), peer, request));
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(self.limits.idle).max_buf_size(HELD);
        let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = stop.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(server = self.name, peer = %peer, error = %error, "connection ended early");
        }
    }
}

async fn handle(
    router: Router,
    requests: RequestCount,
    peer: SocketAddr,
    request: Request<Incoming>,
) -> Result<Response, Infallible> {
    requests.next();
    let mut request = request.map(Body::new);
    request.extensions_mut().insert(ConnectInfo(peer));
    let response = router.oneshot(request).await;
    requests.next();
    response
}

fn is_clients_fault(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// One open connection in the gauge.
struct Counted(prometheus::IntGauge);

impl Counted {
    fn new(metrics: &HttpMetrics, server: &str) -> Self {
        let gauge = metrics.connections.with_label_values(&[server]);
        gauge.inc();
        Self(gauge)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.dec();
    }
}

// A connection with timeouts: the headers of a request must arrive in time once they have begun, and a client that does
// not read its response is disconnected. The HTTP library bounds the time between requests, and has only one timeout
// for both.

/// How many requests of a connection have begun and been answered, written by the service and read by the connection.
/// Each adds one to the count, so it is odd while a request is being handled.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestCount(Arc<AtomicUsize>);

impl RequestCount {
    /// Counts that a request has arrived completely, or that its response has begun.
    pub fn next(&self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }

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
    requests: RequestCount,
    /// The count when this end last checked: another one means that the headers have arrived.
    seen: usize,
    headers: Deadline,
    write: Deadline,
}

impl<S> TimeoutStream<S> {
    /// `headers` runs from the opening of the connection and from the first byte of each further request; `pause`
    /// bounds each write.
    pub fn new(stream: S, requests: RequestCount, headers: Duration, pause: Duration) -> Self {
        let mut headers = Deadline::new(headers);
        headers.start();
        Self { stream, requests, seen: 0, headers, write: Deadline::new(pause) }
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
        let request = this.requests.count();
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
        self.written(cx, result)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.written(cx, result)
    }
}
