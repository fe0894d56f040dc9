//! The layer around every request: an id and a span, limits of time and size, a response after a panic, the log line
//! and metrics, and what holds for all requests and responses of a connection.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, DefaultBodyLimit, MatchedPath, Request, State};
use axum::http::header::{HOST, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderValue, Method, StatusCode, Version};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use futures::FutureExt as _;
use parking_lot::Mutex;
use tracing::Instrument as _;

use crate::answer;
use crate::connections::Peer;
use crate::limits::Limits;
use crate::log_limit::LogLimit;
use crate::metrics::HttpMetrics;
use crate::rate::RatedBody;
use crate::request_id::{RequestId, X_REQUEST_ID};

/// Characters of a reason in the log.
const MOST_CHARACTERS: usize = 200;

/// The properties of the server that the layer needs.
pub(crate) struct Observer {
    pub server: &'static str,
    pub limits: Limits,
    pub metrics: Option<HttpMetrics>,
    /// One line per peer and minute, for refusals and for failures.
    logged: Mutex<LogLimit<(IpAddr, Severity)>>,
}

impl Observer {
    pub(crate) fn new(server: &'static str, limits: Limits, metrics: Option<HttpMetrics>) -> Self {
        Self { server, limits, metrics, logged: Mutex::default() }
    }
}

/// What the log says about a response with an error: an extension of the response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogReason {
    Text(String),
    /// The handler has logged it, or nobody needs to know.
    Logged,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Severity {
    Refused,
    Failed,
}

/// Puts the layer around every route and the fallback of a router.
///
/// Handlers check the size of a body when they read it, so that a wrong path or a missing token is reported first.
pub(crate) fn around(router: Router, observer: Arc<Observer>) -> Router {
    let body = observer.limits.body;
    router.layer(DefaultBodyLimit::max(body)).layer(from_fn_with_state(observer, observe))
}

async fn observe(
    State(observer): State<Arc<Observer>>,
    route: Option<MatchedPath>,
    mut request: Request,
    next: Next,
) -> Response {
    let started = Instant::now();
    let id = RequestId::of(request.headers());
    let method = request.method().clone();
    let span =
        tracing::info_span!("request", request_id = %id, http.method = %method, http.path = request.uri().path());
    request.extensions_mut().insert(id.clone());
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(peer)| peer.ip().to_canonical());
    let has_wrong_host = has_wrong_host(&request);
    let pause = observer.limits.pause;
    let request = request.map(|body| Body::new(RatedBody::new(body, pause)));
    let mut response = if has_wrong_host {
        answer::text(StatusCode::BAD_REQUEST, "a request needs exactly one header Host")
    } else {
        answered(&observer, &id, next.run(request)).instrument(span.clone()).await
    };
    if is_error(response.status()) {
        response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    }
    if let Some(value) = id.to_header() {
        response.headers_mut().insert(X_REQUEST_ID, value);
    }
    let route = route.as_ref().map_or("none", MatchedPath::as_str);
    span.in_scope(|| report(&observer, &method, route, peer, &response, started));
    response
}

/// Whether a request on a connection has no host or several. Before HTTP/1.1 it may have none.
fn has_wrong_host(request: &Request) -> bool {
    let hosts = request.headers().get_all(HOST).iter().count();
    let is_on_a_connection = request.extensions().get::<Peer>().is_some();
    is_on_a_connection && (hosts > 1 || (hosts == 0 && request.version() >= Version::HTTP_11))
}

fn is_error(status: StatusCode) -> bool {
    status.is_client_error() || status.is_server_error()
}

/// The handler's answer, or one in its place when it panics or takes too long.
async fn answered(observer: &Observer, id: &RequestId, handler: impl Future<Output = Response>) -> Response {
    let limit = observer.limits.answer;
    match tokio::time::timeout(limit, AssertUnwindSafe(handler).catch_unwind()).await {
        Ok(Ok(response)) => response,
        Ok(Err(_)) => answer::text(StatusCode::INTERNAL_SERVER_ERROR, format!("internal error, request id {id}")),
        Err(_) => answer::text(
            StatusCode::SERVICE_UNAVAILABLE,
            format!("no answer within {}s, request id {id}; try again", limit.as_secs_f64()),
        ),
    }
}

fn report(
    observer: &Observer,
    method: &Method,
    route: &str,
    peer: Option<IpAddr>,
    response: &Response,
    started: Instant,
) {
    let (status, took) = (response.status(), started.elapsed());
    if let Some(metrics) = &observer.metrics {
        metrics.answered(observer.server, method, route, status, took);
    }
    let (server, took_ms) = (observer.server, took.as_secs_f64() * 1000.0);
    tracing::debug!(server, http_route = route, http_status = status.as_u16(), took_ms, "request answered");
    let reason = match response.extensions().get::<LogReason>() {
        Some(LogReason::Logged) => return,
        Some(LogReason::Text(text)) => Some(shown(text)),
        None => None,
    };
    if is_error(status) {
        log_error(observer, route, peer.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED)), status, reason.as_deref());
    }
}

fn log_error(observer: &Observer, route: &str, peer: IpAddr, status: StatusCode, reason: Option<&str>) {
    // 503 is deliberate: not ready, overloaded, or something else does not answer.
    let is_failure = status.is_server_error() && status != StatusCode::SERVICE_UNAVAILABLE;
    let severity = if is_failure { Severity::Failed } else { Severity::Refused };
    let Some(left_out) = observer.logged.lock().admit((peer, severity), tokio::time::Instant::now()) else { return };
    let (server, http_status) = (observer.server, status.as_u16());
    match severity {
        Severity::Failed => {
            tracing::warn!(server, http_route = route, http_status, %peer, error = reason, left_out, "request failed");
        }
        Severity::Refused => {
            tracing::info!(server, http_route = route, http_status, %peer, error = reason, left_out, "request refused");
        }
    }
}

/// A reason may have parts of the request, whose control characters are escaped here.
fn shown(text: &str) -> String {
    text.chars().take(MOST_CHARACTERS).flat_map(char::escape_debug).collect()
}
