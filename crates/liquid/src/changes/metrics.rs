//! The metrics of changes.

use std::collections::BTreeMap;
use std::time::Duration;

use berth_cluster::Store;
use berth_crds::{CommitmentChange, facts};
use berth_telemetry::metrics::{Kind, Metric, Metrics, MetricsError};
use jiff::Timestamp;
use prometheus::{HistogramVec, IntCounterVec};
use strum::IntoStaticStr;

use super::RollBackReason;

const CHANGES: Metric = Metric {
    name: "berth_commitment_changes_total",
    kind: Kind::Counter,
    labels: &["zone", "outcome"],
    help: "Decided changes of commitments, by outcome: accepted, rejected, timeout, abandoned or failed.",
};

const SECONDS: Metric = Metric {
    name: "berth_commitment_change_seconds",
    kind: Kind::Histogram,
    labels: &["zone", "phase"],
    help: "Time from the admission of a change until it was accepted or its undoing began.",
};

const OPEN: Metric = Metric {
    name: "berth_commitment_changes_open",
    kind: Kind::Gauge,
    labels: &["zone", "phase"],
    help: "Changes of commitments for which something is left to do.",
};

const PENDING_ROLLBACKS: Metric = Metric {
    name: "cortex_committed_resource_change_api_pending_rollbacks",
    kind: Kind::Gauge,
    labels: &[],
    help: "Changes of commitments that are being undone.",
};

const BUCKETS: [f64; 9] = [0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0];

/// What became of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub(super) enum ChangeResult {
    Accepted,
    Rejected,
    Timeout,
    Abandoned,
    Failed,
}

impl ChangeResult {
    pub(super) fn of(reason: &RollBackReason) -> Self {
        match reason {
            RollBackReason::Rejected(_) => Self::Rejected,
            RollBackReason::Timeout => Self::Timeout,
            RollBackReason::Abandoned | RollBackReason::Interrupted | RollBackReason::Deleted => Self::Abandoned,
            RollBackReason::Conflict | RollBackReason::Refused(_) => Self::Failed,
        }
    }
}

/// The metrics that the controller writes; the others are computed when they are read.
#[derive(Clone, Debug)]
pub struct ChangeMetrics {
    changes: IntCounterVec,
    seconds: HistogramVec,
}

impl ChangeMetrics {
    pub fn register(metrics: &Metrics, changes: Store<CommitmentChange>) -> Result<Self, MetricsError> {
        let store = changes.clone();
        metrics.computed(&OPEN, move || open(&store))?;
        metrics.computed(&PENDING_ROLLBACKS, move || vec![(Vec::new(), undoing(&changes))])?;
        Ok(Self { changes: metrics.counter(&CHANGES)?, seconds: metrics.histogram(&SECONDS, &BUCKETS)? })
    }

    pub(super) fn decided(&self, change: &CommitmentChange, result: ChangeResult, now: Timestamp) {
        let zone = change.spec.availability_zone.as_str();
        self.changes.with_label_values(&[zone, result.into()]).inc();
        let created = change.metadata.creation_timestamp.as_ref().map_or(now, |time| time.0);
        let took: Duration = now.duration_since(created).try_into().unwrap_or_default();
        let phase = if result == ChangeResult::Accepted { "Accepted" } else { "RollingBack" };
        self.seconds.with_label_values(&[zone, phase]).observe(took.as_secs_f64());
    }
}

fn open(changes: &Store<CommitmentChange>) -> Vec<(Vec<String>, f64)> {
    let mut counts: BTreeMap<Vec<String>, f64> = BTreeMap::new();
    for entry in changes.all().iter().filter(|entry| facts::is_open(&entry.object)) {
        let phase = entry.object.phase().as_str().to_owned();
        *counts.entry(vec![entry.object.spec.availability_zone.clone(), phase]).or_default() += 1.0;
    }
    counts.into_iter().collect()
}

fn undoing(changes: &Store<CommitmentChange>) -> f64 {
    let all = changes.all();
    let undoing = all.iter().filter(|entry| facts::is_open(&entry.object) && entry.object.phase().is_undoing());
    undoing.fold(0.0, |count, _| count + 1.0)
}
