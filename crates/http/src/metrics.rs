//! Metrics over HTTP: the page `/metrics`, and what is counted about the servers themselves. It decides the labels, all
//! of them from closed sets; the registry is in `berth_telemetry`.

use std::time::Duration;

use axum::{
    Router,
    extract::State,
    http::{Method, StatusCode, header::CONTENT_TYPE},
    response::IntoResponse,
    routing::get,
};
use berth_telemetry::metrics::{Kind, Metric, Metrics, MetricsError};
use prometheus::{HistogramVec, IntCounterVec, IntGaugeVec};

/// `berth_http_requests_total`.
pub const REQUESTS: Metric = Metric {
    name: "berth_http_requests_total",
    kind: Kind::Counter,
    labels: &["server", "method", "route", "status"],
    help: "Requests answered, by server, method, route and status code.",
};
/// `berth_http_request_duration_seconds`.
pub const DURATION: Metric = Metric {
    name: "berth_http_request_duration_seconds",
    kind: Kind::Histogram,
    labels: &["server", "method", "route"],
    help: "Seconds from the end of the headers of a request to its answer.",
};
/// `berth_http_connections`.
pub const CONNECTIONS: Metric = Metric {
    name: "berth_http_connections",
    kind: Kind::Gauge,
    labels: &["server"],
    help: "Open connections of a server.",
};

const BUCKETS: [f64; 12] = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0];
const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// `/metrics` in the text exposition format.
pub fn router(metrics: Metrics) -> Router {
    Router::new().route("/metrics", get(page).with_state(metrics))
}

async fn page(State(metrics): State<Metrics>) -> impl IntoResponse {
    ([(CONTENT_TYPE, TEXT_FORMAT)], metrics.render())
}

/// What is counted about the servers of a process. Register it once and give it to each server.
#[derive(Clone)]
pub struct HttpMetrics {
    requests: IntCounterVec,
    duration: HistogramVec,
    pub(crate) connections: IntGaugeVec,
}

impl HttpMetrics {
    /// Registers the metrics.
    pub fn register(metrics: &Metrics) -> Result<Self, MetricsError> {
        Ok(Self {
            requests: metrics.counter(&REQUESTS)?,
            duration: metrics.histogram(&DURATION, &BUCKETS)?,
            connections: metrics.gauge(&CONNECTIONS)?,
        })
    }

    /// Counts one answer. `route` is the pattern of the path, never the path.
    pub(crate) fn answered(&self, server: &str, method: &Method, route: &str, status: StatusCode, took: Duration) {
        let method = if is_usual(method) { method.as_str() } else { "other" };
        self.requests.with_label_values(&[server, method, route, status.as_str()]).inc();
        self.duration.with_label_values(&[server, method, route]).observe(took.as_secs_f64());
    }
}

/// Clients may invent methods; a label must not grow with them.
fn is_usual(method: &Method) -> bool {
    [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS]
        .contains(method)
}
