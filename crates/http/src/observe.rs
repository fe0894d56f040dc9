//! The layer around every request: an id and a span, limits of time and size, a response after a panic, the log line
//! and metrics.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, MatchedPath, Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use futures::FutureExt as _;
use tower_http::timeout::TimeoutBody;
use tracing::Instrument as _;

use crate::answer;
use crate::limits::Limits;
use crate::metrics::HttpMetrics;
use crate::request_id::{RequestId, X_REQUEST_ID};

/// The properties of the server that the layer needs.
pub(crate) struct Observer {
    pub server: &'static str,
    pub limits: Limits,
    pub metrics: Option<HttpMetrics>,
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
    let pause = observer.limits.pause;
    let request = request.map(|body| Body::new(TimeoutBody::new(pause, body)));
    let mut response = answered(&observer, &id, next.run(request)).instrument(span.clone()).await;
    if let Some(value) = id.to_header() {
        response.headers_mut().insert(X_REQUEST_ID, value);
    }
    let route = route.as_ref().map_or("none", MatchedPath::as_str);
    span.in_scope(|| report(&observer, &method, route, response.status(), started));
    response
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

fn report(observer: &Observer, method: &Method, route: &str, status: StatusCode, started: Instant) {
    let took = started.elapsed();
    if let Some(metrics) = &observer.metrics {
        metrics.answered(observer.server, method, route, status, took);
    }
    let (server, millis) = (observer.server, took.as_secs_f64() * 1000.0);
    // 503 is deliberate and logged where it is decided: not ready, overloaded, or something else does not answer.
    if status.is_server_error() && status != StatusCode::SERVICE_UNAVAILABLE {
        tracing::warn!(server, http_route = route, http_status = status.as_u16(), took_ms = millis, "request failed");
    } else {
        tracing::debug!(
            server,
            http_route = route,
            http_status = status.as_u16(),
            took_ms = millis,
            "request answered"
        );
    }
}
