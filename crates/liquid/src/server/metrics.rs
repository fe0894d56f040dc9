//! The metrics of the endpoints, under the names that dashboards know.

use std::time::Duration;

use axum::http::StatusCode;
use axum::response::Response;
use berth_core::liquid::info::ServiceInfo;
use berth_telemetry::declare_metrics;
use berth_telemetry::metrics::{Metrics, MetricsError};
use prometheus::{HistogramVec, IntCounterVec};

use super::endpoint::Endpoint;
use super::handler::AnsweredChange;
use super::reported::ReportedCapacity;
use crate::capacity::MadeReport;

/// Buckets in seconds.
const CHANGE: [f64; 10] = [0.5, 1.0, 2.5, 5.0, 7.5, 10.0, 12.5, 15.0, 20.0, 30.0];
const REPORT: [f64; 7] = [0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];
const QUOTA: [f64; 11] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

const DRY_RUN: [&str; 2] = ["true", "false"];
const RESULTS: [&str; 3] = ["accepted", "rejected", "error"];

declare_metrics! {
    struct LiquidSeries {
        change_requests: IntCounterVec["status_code", "dry_run", "result"], "cortex_committed_resource_change_api_requests_total",
            "Requests to change commitments, by status code, whether they were dry runs, and result: accepted, rejected or error.";
        change_duration: HistogramVec["status_code", "dry_run"] in &CHANGE, "cortex_committed_resource_change_api_request_duration_seconds",
            "Seconds that a request to change commitments took, with the wait for its turn.";
        changes: IntCounterVec["result", "az", "dry_run"], "cortex_committed_resource_change_api_commitment_changes_total",
            "Commitments in requests for changes, by result and zone; the zone is other if no host knows it.";
        change_timeouts: IntCounterVec["dry_run"], "cortex_committed_resource_change_api_timeouts_total",
            "Requests for changes whose outcome was not known in time.";
        info_requests: IntCounterVec["status_code"], "cortex_committed_resource_info_api_requests_total",
            "Requests for the service info, by status code.";
        info_duration: HistogramVec["status_code"] in &REPORT, "cortex_committed_resource_info_api_request_duration_seconds",
            "Seconds that a request for the service info took.";
        capacity_requests: IntCounterVec["status_code"], "cortex_committed_resource_capacity_api_requests_total",
            "Requests for the capacity report, by status code.";
        capacity_duration: HistogramVec["status_code"] in &REPORT, "cortex_committed_resource_capacity_api_request_duration_seconds",
            "Seconds that a request for the capacity report took.";
        usage_requests: IntCounterVec["status_code"], "cortex_committed_resource_usage_api_requests_total",
            "Requests for the usage report of a project, by status code.";
        usage_duration: HistogramVec["status_code"] in &REPORT, "cortex_committed_resource_usage_api_request_duration_seconds",
            "Seconds that a request for the usage report of a project took.";
        quota_requests: IntCounterVec["status_code"], "cortex_committed_resource_quota_api_requests_total",
            "Requests to set the quota of a project, by status code.";
        quota_duration: HistogramVec["status_code"] in &QUOTA, "cortex_committed_resource_quota_api_request_duration_seconds",
            "Seconds that a request to set the quota of a project took.";
    }
}

/// The metrics of the API. Clones share their values.
#[derive(Clone, Debug)]
pub struct LiquidMetrics(LiquidSeries, ReportedCapacity);

impl LiquidMetrics {
    /// Registers them with the usual series at 0; once per process.
    pub fn register(metrics: &Metrics) -> Result<Self, MetricsError> {
        let registered = Self(LiquidSeries::register(metrics)?, ReportedCapacity::register(metrics)?);
        registered.begin_at_zero();
        Ok(registered)
    }

    /// Counts the commitments of a request for changes. `result` is accepted, rejected or error; `zone` is empty before the body
    /// is decoded, and one of few known ones after that.
    pub fn count_commitments(&self, result: &str, zone: &str, is_dry_run: bool, commitments: u64) {
        self.0.changes.with_label_values(&[result, zone, text(is_dry_run)]).inc_by(commitments);
    }

    /// Counts a request for changes whose outcome was not known in time.
    pub fn count_timeout(&self, is_dry_run: bool) {
        self.0.change_timeouts.with_label_values(&[text(is_dry_run)]).inc();
    }

    /// Shows what was reported.
    pub(super) fn show_capacity(&self, report: &MadeReport, info: &ServiceInfo) {
        self.1.show(report, info);
    }

    pub(super) fn answered(&self, endpoint: Endpoint, response: &Response, took: Duration) {
        let (status, seconds) = (response.status(), took.as_secs_f64());
        if endpoint == Endpoint::Change {
            let verdict = response.extensions().get::<AnsweredChange>().copied().unwrap_or_default();
            let (code, dry_run) = (status.as_str(), text(verdict.is_dry_run));
            self.0.change_requests.with_label_values(&[code, dry_run, result(status, verdict)]).inc();
            self.0.change_duration.with_label_values(&[code, dry_run]).observe(seconds);
        } else if let Some((requests, duration)) = self.of(endpoint) {
            requests.with_label_values(&[status.as_str()]).inc();
            duration.with_label_values(&[status.as_str()]).observe(seconds);
        }
    }

    /// The metrics of an endpoint that count by status code only.
    fn of(&self, endpoint: Endpoint) -> Option<(&IntCounterVec, &HistogramVec)> {
        match endpoint {
            Endpoint::Info => Some((&self.0.info_requests, &self.0.info_duration)),
            Endpoint::Capacity => Some((&self.0.capacity_requests, &self.0.capacity_duration)),
            Endpoint::Usage => Some((&self.0.usage_requests, &self.0.usage_duration)),
            Endpoint::Quota => Some((&self.0.quota_requests, &self.0.quota_duration)),
            Endpoint::Change => None,
        }
    }

    fn begin_at_zero(&self) {
        for (endpoint, codes) in [
            (Endpoint::Info, &["200", "401", "403", "405", "500", "503"][..]),
            (Endpoint::Capacity, &["200", "400", "401", "403", "500", "503"]),
            (Endpoint::Usage, &["200", "400", "401", "403", "405", "500", "503"]),
            (Endpoint::Quota, &["204", "400", "401", "403", "405", "500", "503"]),
        ] {
            let Some((requests, duration)) = self.of(endpoint) else { continue };
            for code in codes {
                requests.with_label_values(&[code]).inc_by(0);
                duration.with_label_values(&[code]);
            }
        }
        for dry_run in DRY_RUN {
            self.0.change_timeouts.with_label_values(&[dry_run]).inc_by(0);
            for code in ["200", "400", "401", "403", "405", "409", "500", "503"] {
                self.0.change_duration.with_label_values(&[code, dry_run]);
                for result in RESULTS {
                    self.0.change_requests.with_label_values(&[code, dry_run, result]).inc_by(0);
                }
            }
            for result in RESULTS {
                self.0.changes.with_label_values(&[result, "", dry_run]).inc_by(0);
            }
        }
    }
}

fn result(status: StatusCode, verdict: AnsweredChange) -> &'static str {
    match (status, verdict.is_rejected) {
        (StatusCode::OK, false) => "accepted",
        (StatusCode::OK, true) => "rejected",
        _ => "error",
    }
}

fn text(is_dry_run: bool) -> &'static str {
    if is_dry_run { "true" } else { "false" }
}
