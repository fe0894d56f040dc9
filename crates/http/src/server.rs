//! One listening server. It decides how many connections there are at once, that a stop ends them within a bounded time
//! and when a listener is given up; what is around each request is in `observe`.

use std::{convert::Infallible, net::SocketAddr, sync::Arc, time::Duration};

use axum::{Router, body::Body, extract::ConnectInfo, http::Request, response::Response};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use crate::{
    error::HttpError,
    limits::Limits,
    metrics::HttpMetrics,
    observe::{self, Observer},
    patience::{Patience, Turns},
};

/// Pause after a failure to accept that is not the fault of a client, mostly too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(500);
/// Bytes of a head, at most; and of an answer so many are held before the client gets them, so that it reads while the next
/// ones are made.
const HELD: usize = 96 * 1024;
/// So many of them in a row, and the server ends.
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

    /// Other limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Counts requests and connections.
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
            tracing::warn!(server = self.name, connections = connections.len(), "cut off connections that did not end");
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
                    tracing::error!(server = self.name, error = %error, "cannot accept a connection; trying again");
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
        let turns = Turns::default();
        let stream = Patience::new(stream, turns.clone(), self.limits.headers, self.limits.pause);
        let service = service_fn(move |request| handle(router.clone(), turns.clone(), peer, request));
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
    turns: Turns,
    peer: SocketAddr,
    request: Request<Incoming>,
) -> Result<Response, Infallible> {
    turns.next();
    let mut request = request.map(Body::new);
    request.extensions_mut().insert(ConnectInfo(peer));
    let response = router.oneshot(request).await;
    turns.next();
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
