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

use crate::{GuestLookup, server::PATH};
use coverage::CoverageMetrics;
use runs::RunMetrics;

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
/// `cortex_filter_weigher_pipeline_requests_total`.
pub const RUNS: Metric = Metric {
    name: "cortex_filter_weigher_pipeline_requests_total",
    kind: Kind::Counter,
    labels: &["pipeline"],
    help: "Runs of a pipeline over HTTP that produced a result.",
};
/// `cortex_filter_weigher_pipeline_host_number_in`.
pub const HOSTS_IN: Metric = Metric {
    name: "cortex_filter_weigher_pipeline_host_number_in",
    kind: Kind::Histogram,
    labels: &["pipeline"],
    help: "Hosts that a run looked at.",
};
/// `cortex_filter_weigher_pipeline_host_number_out`.
pub const HOSTS_OUT: Metric = Metric {
    name: "cortex_filter_weigher_pipeline_host_number_out",
    kind: Kind::Histogram,
    labels: &["pipeline"],
    help: "Hosts that were answered.",
};
/// `cortex_filter_weigher_pipeline_run_duration_seconds`.
pub const RUN_DURATION: Metric = Metric {
    name: "cortex_filter_weigher_pipeline_run_duration_seconds",
    kind: Kind::Histogram,
    labels: &["pipeline"],
    help: "Seconds that a run took.",
};
/// `cortex_filter_weigher_pipeline_step_run_duration_seconds`.
pub const STEP_DURATION: Metric = Metric {
    name: "cortex_filter_weigher_pipeline_step_run_duration_seconds",
    kind: Kind::Histogram,
    labels: &["pipeline", "step"],
    help: "Seconds that a step of a run took.",
};
/// `cortex_filter_weigher_pipeline_step_weight_modification`.
pub const STEP_WEIGHTS: Metric = Metric {
    name: "cortex_filter_weigher_pipeline_step_weight_modification",
    kind: Kind::Gauge,
    labels: &["pipeline", "host", "step"],
    help: "Sum of what a weigher gave a host in all runs, before tanh and multiplier.",
};
/// `cortex_filter_weigher_pipeline_step_removed_hosts`.
pub const STEP_REMOVED: Metric = Metric {
    name: "cortex_filter_weigher_pipeline_step_removed_hosts",
    kind: Kind::Histogram,
    labels: &["pipeline", "step"],
    help: "Hosts that a step removed.",
};
/// `cortex_filter_weigher_pipeline_step_shift_origin`.
pub const STEP_ORIGIN: Metric = Metric {
    name: "cortex_filter_weigher_pipeline_step_shift_origin",
    kind: Kind::Histogram,
    labels: &["pipeline", "step", "outidx"],
    help: "The place before a step of the host that is at place outidx after it, for the first five.",
};
/// `cortex_filter_weigher_pipeline_step_impact`.
pub const STEP_IMPACT: Metric = Metric {
    name: "cortex_filter_weigher_pipeline_step_impact",
    kind: Kind::Histogram,
    labels: &["pipeline", "step", "stat", "unit"],
    help: "How much a weigher changed the order of the first five hosts, in its own statistic.",
};
/// `cortex_filter_weigher_pipeline_step_events_total`.
pub const STEP_EVENTS: Metric = Metric {
    name: "cortex_filter_weigher_pipeline_step_events_total",
    kind: Kind::Counter,
    labels: &["pipeline", "step", "event", "intent", "hypervisor_type"],
    help: "What steps have reported; the last two labels are empty for events that do not have them.",
};

/// `cortex_nova_placement_total`.
pub const PLACEMENTS: Metric = Metric {
    name: "cortex_nova_placement_total",
    kind: Kind::Counter,
    labels: &["flavor_group", "intent", "cr_slot"],
    help: "VMs that got a host, by what the commitments of their project do for them: no_cr, slot_missed, slot_used or error.",
};
/// `cortex_nova_no_host_found_total`.
pub const NO_HOST: Metric = Metric {
    name: "cortex_nova_no_host_found_total",
    kind: Kind::Counter,
    labels: &["cr_slot", "flavor_group", "intent"],
    help: "Requests without a host, by what the commitments of their project could do for them: no_cr, cr_exhausted, \
           slot_exhausted, slot_blocked or error.",
};

/// The default buckets of the reference's client library, in seconds.
const SECONDS: [f64; 11] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

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
