//! The page `/metrics`, and the metrics of the servers themselves. Labels come from closed sets.

use std::convert::Infallible;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, StatusCode};
use axum::response::IntoResponse;
use axum::routing::get;
use berth_telemetry::declare_metrics;
use berth_telemetry::metrics::Metrics;
use futures::stream;
use prometheus::{HistogramVec, IntCounterVec, IntGaugeVec};

use crate::access::Access;

const BUCKETS: [f64; 12] = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0];
const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

pub fn router(metrics: Metrics) -> Router {
    Router::new().route("/metrics", get(page).with_state(metrics))
}

/// It is made while it is sent: there may be series for each project.
async fn page(State(metrics): State<Metrics>) -> impl IntoResponse {
    let pieces = metrics.pieces().filter(|piece| !piece.is_empty()).map(Ok::<_, Infallible>);
    ([(CONTENT_TYPE, TEXT_FORMAT)], Body::from_stream(stream::iter(pieces)))
}

declare_metrics! {
    /// The metrics of the servers of a process. Register them once and give them to each server.
    pub struct HttpMetrics {
        requests: IntCounterVec["server", "method", "route", "status"], "berth_http_requests_total",
            "Requests answered, by server, method, route and status code.";
        duration: HistogramVec["server", "method", "route"] in &BUCKETS, "berth_http_request_duration_seconds",
            "Seconds from the end of the headers of a request to its answer.";
        pub(crate) connections: IntGaugeVec["server"], "berth_http_connections",
            "Open connections of a server.";
        pub(crate) refused: IntCounterVec["server", "reason"], "berth_http_connections_refused_total",
            "Connections that got 503 at once because a limit was reached and no connection was idle, by server and limit.";
        pub(crate) closed: IntCounterVec["server", "reason"], "berth_http_connections_closed_total",
            "Connections that the server closed by itself, by server and reason.";
        auth_disabled: IntGaugeVec["api"], "berth_auth_disabled",
            "1 if every client of the API may do everything, else 0. No series for an API that is not served.";
        certificate_expiry: IntGaugeVec[], "berth_tls_certificate_expiry_timestamp_seconds",
            "When the first of the certificates in use that were read from files expires. No series without one.";
        files_unusable: IntGaugeVec[], "berth_tls_files_unusable",
            "1 if the files of TLS have changed and cannot be used, so that the former certificate stays in use, else 0. No series without files.";
    }
}

impl HttpMetrics {
    /// Shows whether the callers of an API authenticate.
    pub fn show_access(&self, api: &'static str, access: Access) {
        self.auth_disabled.with_label_values(&[api]).set(access.is_open().into());
    }

    /// Shows the certificate in force of the listeners, and whether newer files cannot be used.
    pub(crate) fn show_certificate(&self, expires: i64, are_files_unusable: bool) {
        self.certificate_expiry.with_label_values::<&str>(&[]).set(expires);
        self.files_unusable.with_label_values::<&str>(&[]).set(are_files_unusable.into());
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
