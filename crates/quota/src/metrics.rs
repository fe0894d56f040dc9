//! The metrics of quota. Only series that are not 0 exist: there may be thousands of projects.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use berth_core::ProjectId;
use berth_core::quota::{ByResource, ProjectUsage, ZoneUsage};
use berth_telemetry::metrics::{Kind, Metric, Metrics, MetricsError, SeriesPiece};
use parking_lot::Mutex;
use prometheus::{HistogramVec, IntCounterVec};

const LABELS: &[&str] = &["project_id", "availability_zone", "resource"];
const TOTAL: Metric = Metric {
    name: "cortex_quota_total_usage",
    kind: Kind::Gauge,
    labels: LABELS,
    help: "What all VMs of a project with a quota use, RAM in GiB. What is 0 has no series.",
};
const PAYG: Metric = Metric {
    name: "cortex_quota_payg_usage",
    kind: Kind::Gauge,
    labels: LABELS,
    help: "The part of this usage that no commitment pays for. What is 0 has no series.",
};
const COMMITTED: Metric = Metric {
    name: "cortex_quota_cr_usage",
    kind: Kind::Gauge,
    labels: LABELS,
    help: "What commitments pay for where the project has VMs. What is 0 has no series.",
};
const DURATION: Metric = Metric {
    name: "cortex_quota_reconcile_duration_seconds",
    kind: Kind::Histogram,
    labels: &[],
    help: "How long a successful run for a project with a quota has taken.",
};
const RUNS: Metric = Metric {
    name: "cortex_quota_reconcile_total",
    kind: Kind::Counter,
    labels: &["result"],
    help: "Runs for a project with a quota, by result: success or failure (something could not be read or written).",
};

const BUCKETS: [f64; 10] = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2];

/// Projects whose series are read at once.
const PROJECTS_IN_PIECE: usize = 100;

/// The values of one project, which are few, in the order of zones and resources.
type Series = Vec<([String; 2], i64)>;
type Shown = Arc<Mutex<BTreeMap<ProjectId, Series>>>;

/// Counts what the quota controller does. Clones share their values.
#[derive(Clone, Debug)]
pub struct QuotaMetrics {
    duration: HistogramVec,
    runs: IntCounterVec,
    /// All usage, the part that is not paid for, and what is paid for.
    gauges: [Shown; 3],
}

impl QuotaMetrics {
    /// Registers them; once per process.
    pub fn register(metrics: &Metrics) -> Result<Self, MetricsError> {
        let duration = metrics.histogram(&DURATION, &BUCKETS)?;
        duration.with_label_values(&[""; 0]);
        let runs = metrics.counter(&RUNS)?;
        for result in ["success", "failure"] {
            runs.with_label_values(&[result]).inc_by(0);
        }
        let gauges = [gauge(metrics, &TOTAL)?, gauge(metrics, &PAYG)?, gauge(metrics, &COMMITTED)?];
        Ok(Self { duration, runs, gauges })
    }

    pub(crate) fn succeeded(&self, took: Duration) {
        self.runs.with_label_values(&["success"]).inc();
        self.duration.with_label_values(&[""; 0]).observe(took.as_secs_f64());
    }

    pub(crate) fn failed(&self) {
        self.runs.with_label_values(&["failure"]).inc();
    }

    /// The usage of a project is this, in all of its zones.
    pub(crate) fn show(&self, project: &ProjectId, usage: &ProjectUsage) {
        let none = ByResource::new();
        let values = |of: &dyn Fn(&ZoneUsage) -> ByResource| -> Series {
            let zones = usage.iter().flat_map(|(zone, usage)| {
                of(usage).into_iter().map(|(resource, value)| ([zone.to_string(), resource], value))
            });
            zones.filter(|(_, value)| *value != 0).collect()
        };
        let all =
            [values(&|usage| usage.total(&none)), values(&|usage| usage.payg(&none)), values(&ZoneUsage::committed)];
        for (gauge, series) in self.gauges.iter().zip(all) {
            let mut shown = gauge.lock();
            if series.is_empty() {
                shown.remove(project);
            } else {
                shown.insert(project.clone(), series);
            }
        }
    }
}

fn gauge(metrics: &Metrics, metric: &'static Metric) -> Result<Shown, MetricsError> {
    let shown = Shown::default();
    let read = shown.clone();
    metrics.computed_in_pieces(metric, move |after| next_piece(&read.lock(), after))?;
    Ok(shown)
}

/// The series of the projects that follow.
fn next_piece(all: &BTreeMap<ProjectId, Series>, after: Option<&str>) -> SeriesPiece {
    let begin = after.map_or(Bound::Unbounded, |after| Bound::Excluded(ProjectId::from(after)));
    let projects: Vec<_> = all.range((begin, Bound::Unbounded)).take(PROJECTS_IN_PIECE).collect();
    let series = projects.iter().flat_map(|(project, series)| {
        series.iter().map(|([zone, resource], value)| {
            (vec![project.to_string(), zone.clone(), resource.clone()], as_float(*value))
        })
    });
    let is_full = projects.len() == PROJECTS_IN_PIECE;
    let end = projects.last().filter(|_| is_full).map(|(project, _)| project.to_string());
    SeriesPiece { series: series.collect(), end }
}

#[expect(clippy::cast_precision_loss, reason = "amounts of a project are far below 2^53")]
fn as_float(value: i64) -> f64 {
    value as f64
}
