//! The metrics of requests and runs.

mod runs;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use axum::http::{Method, StatusCode};
use berth_scheduler::{Answer, BuiltIn, ClaimRefusal, Guest, Intent, QuotaResource, QuotaVerdict, Request};
use berth_telemetry::declare_metrics;
use berth_telemetry::metrics::{Kind, Metric, Metrics, MetricsError};
use prometheus::{HistogramVec, IntCounterVec, IntGauge};

use crate::GuestLookup;
use crate::wire::PATH;
use runs::{RunMetrics, SECONDS};

/// `cortex_scheduler_api_request_duration_seconds`.
pub const DURATION: Metric = Metric {
    name: "cortex_scheduler_api_request_duration_seconds",
    kind: Kind::Histogram,
    labels: &["method", "path", "status", "error"],
    help: "Seconds that a request to the scheduler API took; error is one of a few fixed texts, Success with 200.",
};
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
    claims: ClaimRefusals,
    quota: QuotaDecisions,
}

impl ApiMetrics {
    /// Registers the metrics. Sums of weights are kept for hosts that `scheduler` knows.
    pub fn register(metrics: &Metrics, scheduler: &Arc<BuiltIn>) -> Result<Self, MetricsError> {
        Ok(Self {
            duration: metrics.histogram(&DURATION, &SECONDS)?,
            in_flight: metrics.gauge(&IN_FLIGHT)?.with_label_values::<&str>(&[]),
            runs: RunMetrics::register(metrics, scheduler)?,
            coverage: CoverageMetrics::register(metrics)?,
            claims: ClaimRefusals::register_with_all(metrics)?,
            quota: QuotaDecisions::register(metrics)?,
        })
    }

    /// Counts a request from its arrival until the value is dropped, because it was answered or its client is gone.
    pub(crate) fn enter(&self) -> InFlightRequest {
        self.in_flight.inc();
        InFlightRequest(self.in_flight.clone())
    }

    /// A request was answered; `class` is one of a few fixed texts.
    pub(crate) fn answered(&self, method: &Method, status: StatusCode, class: &str, took: Duration) {
        let labels = [usual(method), PATH, status.as_str(), class];
        self.duration.with_label_values(&labels).observe(took.as_secs_f64());
    }

    pub(crate) fn ran(&self, pipeline: &str, answer: &Answer, took: Duration) {
        self.runs.ran(pipeline, answer, took);
    }

    /// A request got no hosts because its project has claimed enough.
    pub(crate) fn claim_refused(&self, refused: ClaimRefusal) {
        self.claims.refused.with_label_values(&[refused.as_str()]).inc();
    }

    /// The filter of quota has decided about a request. Dry runs are not counted.
    pub(crate) fn quota_decided(&self, request: &Request, answer: &Answer) {
        if let Some(verdict) = answer.decision.quota.as_ref().filter(|_| !request.options.read_only) {
            self.quota.count(verdict);
        }
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
pub(crate) struct InFlightRequest(IntGauge);

impl Drop for InFlightRequest {
    fn drop(&mut self) {
        self.0.dec();
    }
}

declare_metrics! {
    /// The counter of claims beyond the limits of a project.
    struct ClaimRefusals {
        refused: IntCounterVec["reason"], "berth_claims_refused_total",
            "Requests answered without hosts because their project has claimed enough, by reason: number or share.";
    }
}

impl ClaimRefusals {
    /// Shows every reason from the beginning, so that the first refusal is an increase.
    fn register_with_all(metrics: &Metrics) -> Result<Self, MetricsError> {
        let all = Self::register(metrics)?;
        for reason in ClaimRefusal::ALL {
            all.refused.with_label_values(&[reason.as_str()]).inc_by(0);
        }
        Ok(all)
    }
}

declare_metrics! {
    /// The counter of decisions about quota.
    struct QuotaDecisions {
        decisions: IntCounterVec["mode", "decision", "resource", "availability_zone", "flavor_group"],
            "cortex_nova_filter_quota_enforcement_decisions_total",
            "Requests by what filter_quota_enforcement has decided about them; mode is enforce or shadow.";
    }
}

impl QuotaDecisions {
    fn count(&self, verdict: &QuotaVerdict) {
        let mode = if verdict.enforce { "enforce" } else { "shadow" };
        let resource = verdict.resource.map_or("", QuotaResource::as_str);
        let labels = [mode, verdict.decision.as_str(), resource, verdict.zone.as_str(), verdict.group.as_str()];
        self.decisions.with_label_values(&labels).inc();
    }
}

// The metrics of VMs and the commitments of their projects. The scheduler decides whether a commitment covers a VM.

declare_metrics! {
    /// The counters.
    struct CoverageMetrics {
        placements: IntCounterVec["flavor_group", "intent", "cr_slot"], "cortex_nova_placement_total",
            "VMs that got a host, by what the commitments of their project do for them: no_cr, slot_missed, slot_used or error.";
        no_host: IntCounterVec["cr_slot", "flavor_group", "intent"], "cortex_nova_no_host_found_total",
            "Requests without a host, by what the commitments of their project could do for them: no_cr, cr_exhausted, \
           slot_exhausted, slot_blocked or error.";
    }
}

impl CoverageMetrics {
    /// A run that failed is not counted, nor is a VM of no flavor group.
    fn covered(&self, request: &Request, guest: &GuestLookup, answer: &Answer) {
        let (group, slot) = match (guest, answer.coverage) {
            (Ok(Some(Guest { group, .. })), Some(coverage)) => (group.as_str(), coverage.as_str()),
            (Err(_), _) if answer.decision.failed.is_none() && is_counted(request, answer) => ("unknown", "error"),
            _ => return,
        };
        let intent = request.intent().map_or("Unknown", Intent::as_str);
        if answer.hosts.is_empty() {
            self.no_host.with_label_values(&[slot, group, intent]).inc();
        } else {
            self.placements.with_label_values(&[group, intent, slot]).inc();
        }
    }
}

/// Trials and runs without tracking do not count as placements.
fn is_counted(request: &Request, answer: &Answer) -> bool {
    let options = &request.options;
    answer.hosts.is_empty() || !(options.read_only || options.skip_committed_resource_tracking)
}
