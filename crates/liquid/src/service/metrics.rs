//! The metrics of the endpoint that only its service knows the values of.

use berth_telemetry::metrics::{Kind, Metric, Metrics, MetricsError};
use prometheus::IntCounterVec;

const CHANGES: Metric = Metric {
    name: "cortex_committed_resource_change_api_commitment_changes_total",
    kind: Kind::Counter,
    labels: &["result", "az", "dry_run"],
    help: "Changes of commitments in requests, by what was answered: accepted, rejected or error.",
};

const TIMEOUTS: Metric = Metric {
    name: "cortex_committed_resource_change_api_timeouts_total",
    kind: Kind::Counter,
    labels: &["dry_run"],
    help: "Requests whose commitments were not decided in time.",
};

/// The metrics, which are all there from the start.
#[derive(Clone, Debug)]
pub struct ChangeApiMetrics {
    changes: IntCounterVec,
    timeouts: IntCounterVec,
}

impl ChangeApiMetrics {
    pub fn register(metrics: &Metrics) -> Result<Self, MetricsError> {
        let (changes, timeouts) = (metrics.counter(&CHANGES)?, metrics.counter(&TIMEOUTS)?);
        for dry_run in ["true", "false"] {
            timeouts.with_label_values(&[dry_run]).inc_by(0);
            for result in ["accepted", "rejected", "error"] {
                changes.with_label_values(&[result, "", dry_run]).inc_by(0);
            }
        }
        Ok(Self { changes, timeouts })
    }

    /// Counts the commitments of a request. The zone is empty before the body is decoded, and one of few known ones after
    /// that.
    pub fn count_commitments(&self, result: &str, zone: &str, is_dry_run: bool, commitments: u64) {
        self.changes.with_label_values(&[result, zone, text(is_dry_run)]).inc_by(commitments);
    }

    /// Counts a request whose outcome was not known in time.
    pub fn count_timeout(&self, is_dry_run: bool) {
        self.timeouts.with_label_values(&[text(is_dry_run)]).inc();
    }
}

fn text(is_dry_run: bool) -> &'static str {
    if is_dry_run { "true" } else { "false" }
}
