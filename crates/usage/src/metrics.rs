//! The metrics of the usage of commitments.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use berth_core::ProjectId;
use berth_telemetry::metrics::{Kind, Metric, Metrics, MetricsError};
use parking_lot::Mutex;
use prometheus::HistogramVec;

const DURATION: Metric = Metric {
    name: "cortex_committed_resource_usage_reconcile_duration_seconds",
    kind: Kind::Histogram,
    labels: &["result"],
    help: "How long a run for a project with active commitments has taken, by result: success or error (something could \
           not be read or written).",
};
const STATUS_AGE: Metric = Metric {
    name: "cortex_committed_resource_usage_status_age_seconds",
    kind: Kind::Histogram,
    labels: &[],
    help: "How long before a successful run the usage of its project was computed for the last time.",
};
const ASSIGNED: Metric = Metric {
    name: "cortex_committed_resource_usage_assigned_vms_total",
    kind: Kind::Gauge,
    labels: &["project_id"],
    help: "VMs of a project that count in one of its memory commitments. Projects without such a VM have no series.",
};

const DURATION_BUCKETS: [f64; 8] = [0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];
const AGE_BUCKETS: [f64; 7] = [30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0];

/// Counts what the usage controller does. Clones share their values.
#[derive(Clone, Debug)]
pub struct UsageMetrics {
    duration: HistogramVec,
    status_age: HistogramVec,
    assigned: Arc<Mutex<BTreeMap<ProjectId, usize>>>,
}

impl UsageMetrics {
    /// Registers them; once per process.
    pub fn register(metrics: &Metrics) -> Result<Self, MetricsError> {
        let assigned: Arc<Mutex<BTreeMap<ProjectId, usize>>> = Arc::default();
        let shown = assigned.clone();
        metrics.computed(&ASSIGNED, move || {
            shown.lock().iter().map(|(project, count)| (vec![project.to_string()], as_float(*count))).collect()
        })?;
        let duration = metrics.histogram(&DURATION, &DURATION_BUCKETS)?;
        for result in ["success", "error"] {
            duration.with_label_values(&[result]);
        }
        let status_age = metrics.histogram(&STATUS_AGE, &AGE_BUCKETS)?;
        Ok(Self { duration, status_age, assigned })
    }

    pub(crate) fn succeeded(&self, took: Duration, former_run: Option<Duration>) {
        self.duration.with_label_values(&["success"]).observe(took.as_secs_f64());
        if let Some(age) = former_run {
            self.status_age.with_label_values(&[""; 0]).observe(age.as_secs_f64());
        }
    }

    pub(crate) fn failed(&self, took: Duration) {
        self.duration.with_label_values(&["error"]).observe(took.as_secs_f64());
    }

    pub(crate) fn show_assigned(&self, project: &ProjectId, count: usize) {
        let mut assigned = self.assigned.lock();
        if count == 0 {
            assigned.remove(project);
        } else {
            assigned.insert(project.clone(), count);
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of VMs are far below 2^53")]
fn as_float(count: usize) -> f64 {
    count as f64
}
