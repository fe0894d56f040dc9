//! A listening server. Its connections are bounded and shared fairly, and end within a bounded time when it is stopped.

use std::convert::Infallible;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::header::CONNECTION;
use axum::http::{HeaderValue, Request};
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{interval, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use crate::connections::{Connections, OpenConnection};
use crate::error::HttpError;
use crate::exchange::{Exchange, ExchangeBody};
use crate::limits::Limits;
use crate::metrics::HttpMetrics;
use crate::observe::{self, Observer};
use crate::request_body::RequestBody;
use crate::stream::TimeoutStream;
use crate::tls::{Opened, SecureListener, Tls};

/// How often idle connections are checked.
const SWEEP: Duration = Duration::from_millis(250);
/// Pause after a failure to accept that is not the fault of a client.
const ACCEPT_PAUSE: Duration = Duration::from_millis(500);
/// After so many consecutive failures that are no lack of descriptors the server ends.
const ACCEPT_FAILURES: u32 = 60;
/// Time in which closed connections give back their descriptors.
const DESCRIPTOR_PAUSE: Duration = Duration::from_millis(20);
/// Bytes of a head, at most; and of an answer so many are held before the client gets them, so that it reads while the next
/// ones are made.
pub const HELD: usize = 96 * 1024;
/// The response to a connection that is not admitted.
const TOO_MANY_CONNECTIONS: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
    content-type: text/plain; charset=utf-8\r\nx-content-type-options: nosniff\r\nretry-after: 1\r\n\
    content-length: 32\r\nconnection: close\r\n\r\ntoo many connections; try again\n";
/// Reads of what such a client has sent already; unread bytes would reset the connection before it reads the response.
const READS_OF_REFUSED: usize = 16;

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
    secure: Option<SecureListener>,
}

/// What the connections of a server share.
struct Serving {
    server: Server,
    router: Router,
    secure: Option<SecureListener>,
    stop: CancellationToken,
    connections: Connections,
}

impl Server {
    /// A server with the usual limits. `name` is one of a few, for example `api` or `probes`.
    pub fn new(name: &'static str) -> Self {
        Self { name, limits: Limits::default(), metrics: None, secure: None }
    }

    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    #[must_use]
    pub fn with_metrics(self, metrics: &HttpMetrics) -> Self {
        Self { metrics: Some(metrics.clone()), ..self }
    }

    /// Serves the router over TLS only, and `plain` to clients that connect without it.
    #[must_use]
    pub fn with_tls(self, tls: Tls, plain: Router) -> Self {
        Self { secure: Some(SecureListener { tls, plain }), ..self }
    }

    /// The router with everything that happens around a request, for tests without a socket.
    pub fn around(&self, router: Router) -> Router {
        self.around_all(router).0
    }

    fn around_all(&self, router: Router) -> (Router, Option<SecureListener>) {
        let observer = Arc::new(Observer::new(self.name, self.limits.clone(), self.metrics.clone()));
        let secure = self.secure.clone().map(|SecureListener { tls, plain }| {
            let plain = observe::around(plain, observer.clone());
            SecureListener { tls, plain }
        });
        (observe::around(router, observer), secure)
    }

    /// Serves until `stop` is cancelled; then no connection is accepted, requests that run get [`Limits::drain`] to be
    /// answered, and the rest is cut off. An error means that the listener does not work any more.
    pub async fn serve(self, listener: TcpListener, router: Router, stop: CancellationToken) -> Result<(), HttpError> {
        // Our own end must not stop the rest of the process: that is up to the caller, who gets the error.
        let stop = stop.child_token();
        let mut tasks = JoinSet::new();
        let (router, secure) = self.around_all(router);
        let serving = Arc::new(Serving {
            router,
            secure,
            connections: Connections::new(self.name, &self.limits, self.metrics.clone()),
            stop: stop.clone(),
            server: self,
        });
        let result = serving.accept_all(&listener, &mut tasks).await;
        drop(listener);
        stop.cancel();
        let Self { name: server, limits, .. } = &serving.server;
        let drained = timeout(limits.drain, async { while tasks.join_next().await.is_some() {} });
        if drained.await.is_err() {
            tracing::warn!(server, connections = tasks.len(), "connections closed that did not end");
        }
        tasks.shutdown().await;
        result
    }

    /// The same on a thread and a runtime of its own, so that it answers while the process is busy with other work.
    pub async fn serve_apart(
        self,
        listener: TcpListener,
        router: Router,
        stop: CancellationToken,
    ) -> Result<(), HttpError> {
        let thread_error = |source| HttpError::Thread { source };
        let stop = stop.child_token();
        let _end_with_this_future = stop.clone().drop_guard();
        let listener = listener.into_std().map_err(thread_error)?;
        let (sender, ended) = oneshot::channel();
        let thread = std::thread::Builder::new().name(self.name.to_owned());
        let work = move || {
            let result = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(thread_error);
            let result = result.and_then(|runtime| {
                runtime.block_on(async {
                    let listener = TcpListener::from_std(listener).map_err(thread_error)?;
                    self.serve(listener, router, stop).await
                })
            });
            // Without a receiver the process ends anyway.
            let _ = sender.send(result);
        };
        thread.spawn(work).map_err(thread_error)?;
        ended.await.unwrap_or_else(|_| Err(thread_error(std::io::Error::other("the thread panicked"))))
    }
}

impl Serving {
    async fn accept_all(self: &Arc<Self>, listener: &TcpListener, tasks: &mut JoinSet<()>) -> Result<(), HttpError> {
        let mut sweep = interval(SWEEP);
        let (mut failures, mut spare) = (0, spare_descriptor());
        loop {
            while tasks.try_join_next().is_some() {}
            // A connection that gave way holds its descriptor until its task has ended. Few of them do not keep new ones waiting.
            let most = self.server.limits.connections;
            if tasks.len() > most + (most / 8).max(2) {
                tasks.join_next().await;
            }
            let accepted = tokio::select! {
                () = self.stop.cancelled() => return Ok(()),
                _ = sweep.tick() => {
                    self.connections.close_expired();
                    continue;
                }
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, peer)) => {
                    failures = 0;
                    self.admit(stream, peer, tasks);
                }
                Err(error) if is_clients_fault(&error) => {}
                Err(error) if is_out_of_descriptors(&error) => {
                    self.free_descriptors(listener, &mut spare, tasks).await;
                }
                Err(source) if failures == ACCEPT_FAILURES => return Err(HttpError::Accept { source }),
                Err(error) => {
                    failures += 1;
                    tracing::error!(server = self.server.name, error = %error, "cannot accept a connection; retrying");
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    fn admit(self: &Arc<Self>, stream: TcpStream, peer: SocketAddr, tasks: &mut JoinSet<()>) {
        match self.connections.admit(peer) {
            Some(open) => drop(tasks.spawn(self.clone().connection(stream, peer, open))),
            None => refuse(stream),
        }
    }

    /// Closes idle connections. If there are none, the spare descriptor is used to refuse the next connection.
    async fn free_descriptors(
        self: &Arc<Self>,
        listener: &TcpListener,
        spare: &mut Option<File>,
        tasks: &mut JoinSet<()>,
    ) {
        if self.connections.close_for_descriptors() == 0
            && spare.take().is_some()
            && let Ok(Ok((stream, peer))) = timeout(DESCRIPTOR_PAUSE, listener.accept()).await
        {
            *spare = spare_descriptor();
            if spare.is_some() {
                // There are descriptors again.
                self.admit(stream, peer, tasks);
            } else {
                self.connections.refuse_for_descriptors(peer);
                refuse(stream);
            }
        } else {
            sleep(DESCRIPTOR_PAUSE).await;
        }
        if spare.is_none() {
            *spare = spare_descriptor();
        }
    }

    async fn connection(self: Arc<Self>, stream: TcpStream, peer: SocketAddr, open: OpenConnection) {
        // Answers are written whole; waiting for more to send only delays them.
        let _ = stream.set_nodelay(true);
        let exchange = Arc::new(Exchange::new(open));
        let Some(secure) = &self.secure else {
            return self.converse(stream, Some, &self.router, (exchange, peer)).await;
        };
        let opened = tokio::select! {
            biased;
            () = exchange.closed() => return,
            () = self.stop.cancelled() => return,
            opened = timeout(self.server.limits.headers, secure.tls.open(stream)) => opened,
        };
        match opened.unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into())) {
            Ok(Opened::Secure(stream)) => self.converse(stream, |_| None, &self.router, (exchange, peer)).await,
            Ok(Opened::Plain(stream)) => self.converse(stream, Some, &secure.plain, (exchange, peer)).await,
            Err(error) => {
                tracing::debug!(server = self.server.name, peer = %peer, error = %error, "connection not opened");
            }
        }
    }

    /// Handles the requests of a connection. `plain` is the stream itself where it has no TLS.
    async fn converse<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
        plain: fn(S) -> Option<TcpStream>,
        router: &Router,
        (exchange, peer): (Arc<Exchange>, SocketAddr),
    ) {
        let Limits { headers, pause, .. } = self.server.limits;
        let stream = TimeoutStream::new(stream, exchange.clone(), headers, pause);
        let service = service_fn(|request| handle(router.clone(), exchange.clone(), peer, request));
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(None).max_buf_size(HELD);
        let mut connection = builder.serve_connection(TokioIo::new(stream), service);
        let ended = tokio::select! {
            biased;
            () = exchange.closed() => {
                let parts = connection.into_parts();
                let has_request = exchange.has_request() || !parts.read_buf.is_empty();
                return plain(parts.io.into_inner().into_inner()).map_or((), |stream| dismiss(stream, has_request));
            }
            ended = &mut connection => ended,
            () = self.stop.cancelled() => {
                Pin::new(&mut connection).graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(server = self.server.name, peer = %peer, error = %error, "connection ended early");
        }
    }
}

async fn handle(
    router: Router,
    exchange: Arc<Exchange>,
    peer: SocketAddr,
    request: Request<Incoming>,
) -> Result<Response, Infallible> {
    if !exchange.begin() {
        // The task of the connection ends as soon as it notices, with 503.
        return std::future::pending().await;
    }
    let (parts, body) = request.into_parts();
    let headers = parts.headers.clone();
    let (body, unread) = RequestBody::new(body);
    let mut request = Request::from_parts(parts, Body::new(body));
    request.extensions_mut().insert(ConnectInfo(peer));
    request.extensions_mut().insert(exchange.peer());
    let mut response = router.oneshot(request).await?;
    if !unread.leaves_a_connection(&headers).await {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    exchange.answered();
    Ok(response.map(|body| Body::new(ExchangeBody::new(body, exchange))))
}

/// Refuses a connection that is not admitted.
fn refuse(stream: TcpStream) {
    if let Ok(stream) = stream.into_std() {
        answer_unavailable(stream);
    }
}

/// Ends an idle connection for a newer one. A request may have arrived that its task has not seen yet: then its client must
/// not find the connection reset.
fn dismiss(stream: TcpStream, has_request: bool) {
    if let Ok(stream) = stream.into_std()
        && (has_request || stream.peek(&mut [0]).is_ok_and(|length| length > 0))
    {
        answer_unavailable(stream);
    }
}

/// Writes 503 and closes the connection.
fn answer_unavailable(mut stream: std::net::TcpStream) {
    // The buffers of an idle connection are empty, so nothing here waits; a client that is gone needs no response.
    let _ = stream.write_all(TOO_MANY_CONNECTIONS).and_then(|()| stream.shutdown(Shutdown::Write));
    let mut unread = [0; 4096];
    for _ in 0..READS_OF_REFUSED {
        if !matches!(stream.read(&mut unread), Ok(1..)) {
            break;
        }
    }
}

/// A descriptor that is given up to accept and refuse a connection when there are no others.
fn spare_descriptor() -> Option<File> {
    File::open("/dev/null").ok()
}

fn is_clients_fault(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

fn is_out_of_descriptors(error: &std::io::Error) -> bool {
    use rustix::io::Errno;
    Errno::from_io_error(error)
        .is_some_and(|errno| matches!(errno, Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM))
}
