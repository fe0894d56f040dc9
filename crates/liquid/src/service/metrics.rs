//! The metrics of the endpoint that only its service knows the values of.

use berth_telemetry::metrics::{Kind, Metric, Metrics, MetricsError};
use prometheus::IntCounterVec;

use super::answer::Answer;

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

    pub(super) fn answered(&self, zone: &str, dry_run: bool, changes: usize, answer: &Answer) {
        let labels = [answer.result(), zone, if dry_run { "true" } else { "false" }];
        self.changes.with_label_values(&labels).inc_by(u64::try_from(changes).unwrap_or(u64::MAX));
    }

    pub(super) fn timed_out(&self) {
        self.timeouts.with_label_values(&["false"]).inc();
    }
}
