//! The metrics of quota. There may be thousands of projects, so the series of usage are made while the page is read.

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
    help: "What all VMs of a project with a quota use, RAM in GiB.",
};
const PAYG: Metric = Metric {
    name: "cortex_quota_payg_usage",
    kind: Kind::Gauge,
    labels: LABELS,
    help: "The part of this usage that no commitment pays for.",
};
const COMMITTED: Metric = Metric {
    name: "cortex_quota_cr_usage",
    kind: Kind::Gauge,
    labels: LABELS,
    help: "What commitments pay for where the project has VMs.",
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
    help: "Runs for a project with a quota, by result: success or failure (something could not be read or written). A run that another \
           client was faster than is repeated and does not count.",
};

const BUCKETS: [f64; 10] = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2];

/// Projects whose series are read at once.
const PROJECTS_IN_PIECE: usize = 100;

/// The usage of the projects that are shown.
type Shown = Arc<Mutex<BTreeMap<ProjectId, ProjectUsage>>>;
/// What a gauge shows of a zone.
type Values = fn(&ZoneUsage) -> ByResource;

/// Counts what the quota controller does. Clones share their values.
#[derive(Clone, Debug)]
pub struct QuotaMetrics {
    duration: HistogramVec,
    runs: IntCounterVec,
    shown: Shown,
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
        let shown = Shown::default();
        add_gauge(metrics, &TOTAL, &shown, |usage| usage.total(&ByResource::new()))?;
        add_gauge(metrics, &PAYG, &shown, |usage| usage.payg(&ByResource::new()))?;
        add_gauge(metrics, &COMMITTED, &shown, ZoneUsage::committed)?;
        Ok(Self { duration, runs, shown })
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
        let mut shown = self.shown.lock();
        if usage.is_empty() {
            shown.remove(project);
        } else {
            shown.insert(project.clone(), usage.clone());
        }
    }
}

fn add_gauge(metrics: &Metrics, metric: &'static Metric, shown: &Shown, values: Values) -> Result<(), MetricsError> {
    let shown = shown.clone();
    metrics.computed_in_pieces(metric, move |after| next_piece(&shown.lock(), after, values))
}

/// The series of the projects that follow.
fn next_piece(all: &BTreeMap<ProjectId, ProjectUsage>, after: Option<&str>, values: Values) -> SeriesPiece {
    let begin = after.map_or(Bound::Unbounded, |after| Bound::Excluded(ProjectId::from(after)));
    let projects: Vec<_> = all.range((begin, Bound::Unbounded)).take(PROJECTS_IN_PIECE).collect();
    let series = projects.iter().flat_map(|(project, usage)| series_of(project, usage, values));
    let is_full = projects.len() == PROJECTS_IN_PIECE;
    let end = projects.last().filter(|_| is_full).map(|(project, _)| project.to_string());
    SeriesPiece { series: series.collect(), end }
}

fn series_of(project: &ProjectId, usage: &ProjectUsage, values: Values) -> impl Iterator<Item = (Vec<String>, f64)> {
    usage.iter().flat_map(move |(zone, usage)| {
        let of_resource =
            move |(resource, value)| (vec![project.to_string(), zone.to_string(), resource], as_float(value));
        values(usage).into_iter().map(of_resource)
    })
}

#[expect(clippy::cast_precision_loss, reason = "amounts of a project are far below 2^53")]
fn as_float(value: i64) -> f64 {
    value as f64
}
