//! What is counted about requests and runs (document 22 section 9, document 60 section 11). It decides names and labels;
//! all values of labels come from closed sets, or are bounded here.

mod coverage;
mod event_labels;
mod runs;
#[cfg(test)]
mod tests;
mod weights;

use std::{sync::Arc, time::Duration};

use axum::http::{Method, StatusCode};
use berth_scheduler::{Answer, BuiltIn, Request};
use berth_telemetry::metrics::{Kind, Metric, Metrics, MetricsError};
use prometheus::{HistogramVec, IntGauge};

use crate::{GuestLookup, wire::PATH};
use coverage::CoverageMetrics;
use runs::{RunMetrics, SECONDS};

/// `cortex_scheduler_api_request_duration_seconds`.
pub const DURATION: Metric = Metric {
    name: "cortex_scheduler_api_request_duration_seconds",
    kind: Kind::Histogram,
    labels: &["method", "path", "status", "error"],
    help: "Seconds that a request to the scheduler API took; error is one of a few fixed texts, Success with 200.",
};
/// `berth_scheduler_api_requests_in_flight`.
pub const IN_FLIGHT: Metric = Metric {
    name: "berth_scheduler_api_requests_in_flight",
    kind: Kind::Gauge,
    labels: &[],
    help: "Requests to the scheduler API that are not answered yet.",
};

/// The metrics of the endpoint. Clones count the same.
#[derive(Clone)]
pub struct ApiMetrics {
    duration: HistogramVec,
    in_flight: IntGauge,
    runs: RunMetrics,
    coverage: CoverageMetrics,
}

impl ApiMetrics {
    /// Registers the metrics. Sums of weights are kept for hosts that `scheduler` knows.
    pub fn register(metrics: &Metrics, scheduler: &Arc<BuiltIn>) -> Result<Self, MetricsError> {
        Ok(Self {
            duration: metrics.histogram(&DURATION, &SECONDS)?,
            in_flight: metrics.gauge(&IN_FLIGHT)?.with_label_values::<&str>(&[]),
            runs: RunMetrics::register(metrics, scheduler)?,
            coverage: CoverageMetrics::register(metrics)?,
        })
    }

    /// A request has come; it has been answered, or its caller has gone, when the value is dropped.
    pub(crate) fn enter(&self) -> Inside {
        self.in_flight.inc();
        Inside(self.in_flight.clone())
    }

    /// A request was answered; `class` is one of a few fixed texts.
    pub(crate) fn answered(&self, method: &Method, status: StatusCode, class: &str, took: Duration) {
        let labels = [usual(method), PATH, status.as_str(), class];
        self.duration.with_label_values(&labels).observe(took.as_secs_f64());
    }

    /// A run had a result.
    pub(crate) fn ran(&self, pipeline: &str, answer: &Answer, took: Duration) {
        self.runs.ran(pipeline, answer, took);
    }

    /// A run had a result for a VM that may be a guest of commitments.
    pub(crate) fn covered(&self, request: &Request, guest: &GuestLookup, answer: &Answer) {
        self.coverage.covered(request, guest, answer);
    }
}

/// Clients may invent methods; a label must not grow with them.
fn usual(method: &Method) -> &'static str {
    ["POST", "GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"]
        .into_iter()
        .find(|usual| *usual == method.as_str())
        .unwrap_or("other")
}

/// A request in the gauge.
pub(crate) struct Inside(IntGauge);

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.dec();
    }
}
