//! What is counted about one run: its hosts, its time, its steps (document 60 section 11).

use std::{sync::Arc, time::Duration};

use berth_scheduler::{Answer, BuiltIn, Scheduler as _, StepEvent, StepTrace};
use berth_telemetry::metrics::{Kind, Metric, Metrics, MetricsError};
use prometheus::{HistogramVec, IntCounterVec};

use super::{event_labels::EventLabels, weights::Weights};

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
/// The default buckets of the reference's client library, in seconds.
pub(super) const SECONDS: [f64; 11] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

const PLACES: [&str; 5] = ["0", "1", "2", "3", "4"];

/// The metrics of runs.
#[derive(Clone)]
pub(super) struct RunMetrics {
    scheduler: Arc<BuiltIn>,
    runs: IntCounterVec,
    hosts_in: HistogramVec,
    hosts_out: HistogramVec,
    duration: HistogramVec,
    step_duration: HistogramVec,
    step_removed: HistogramVec,
    step_origin: HistogramVec,
    step_impact: HistogramVec,
    step_events: IntCounterVec,
    labels: EventLabels,
    weights: Arc<Weights>,
}

impl RunMetrics {
    pub(super) fn register(metrics: &Metrics, scheduler: &Arc<BuiltIn>) -> Result<Self, MetricsError> {
        let (counts, weights) = (exponential(1.0, 1000.0, 10), Arc::new(Weights::default()));
        let (shown, fleet) = (weights.clone(), scheduler.clone());
        metrics.computed(&STEP_WEIGHTS, move || shown.series(|host| fleet.room(host).is_some()))?;
        Ok(Self {
            scheduler: scheduler.clone(),
            runs: metrics.counter(&RUNS)?,
            hosts_in: metrics.histogram(&HOSTS_IN, &counts)?,
            hosts_out: metrics.histogram(&HOSTS_OUT, &counts)?,
            duration: metrics.histogram(&RUN_DURATION, &SECONDS)?,
            step_duration: metrics.histogram(&STEP_DURATION, &SECONDS)?,
            step_removed: metrics.histogram(&STEP_REMOVED, &counts)?,
            step_origin: metrics.histogram(&STEP_ORIGIN, &origins())?,
            step_impact: metrics.histogram(&STEP_IMPACT, &exponential(0.01, 1000.0, 20))?,
            step_events: metrics.counter(&STEP_EVENTS)?,
            labels: EventLabels::default(),
            weights,
        })
    }

    pub(super) fn ran(&self, pipeline: &str, answer: &Answer, took: Duration) {
        let decision = &answer.decision;
        self.runs.with_label_values(&[pipeline]).inc();
        self.hosts_in.with_label_values(&[pipeline]).observe(count(decision.removed.hosts));
        self.hosts_out.with_label_values(&[pipeline]).observe(count(answer.hosts.len()));
        self.duration.with_label_values(&[pipeline]).observe(took.as_secs_f64());
        decision.steps.iter().for_each(|step| self.step(pipeline, step));
        decision.events.iter().for_each(|event| self.event(pipeline, event));
        self.weights.add(pipeline, &decision.steps, |host| self.scheduler.room(host).is_some());
    }

    fn step(&self, pipeline: &str, step: &StepTrace) {
        let labels = [pipeline, step.step];
        self.step_duration.with_label_values(&labels).observe(step.took.as_secs_f64());
        let removed = step.hosts_in.saturating_sub(step.hosts_out);
        self.step_removed.with_label_values(&labels).observe(count(removed));
        for (place, origin) in PLACES.iter().zip(&step.origins) {
            self.step_origin.with_label_values(&[pipeline, step.step, place]).observe(count(*origin));
        }
        if let Some((stat, impact)) = step.impact {
            self.step_impact.with_label_values(&[pipeline, step.step, stat, "float"]).observe(impact);
        }
    }

    fn event(&self, pipeline: &str, event: &StepEvent) {
        let (intent, hypervisor) = self.labels.of(event);
        self.step_events.with_label_values(&[pipeline, event.step, event.event, &intent, &hypervisor]).inc();
    }
}

#[expect(clippy::cast_precision_loss, reason = "numbers of hosts")]
fn count(number: usize) -> f64 {
    number as f64
}

/// So many buckets from the first to the last, each the same number of times the one before.
pub(super) fn exponential(first: f64, last: f64, buckets: u8) -> Vec<f64> {
    let steps = f64::from(buckets - 1);
    (0..buckets).map(|place| first * (last / first).powf(f64::from(place) / steps)).collect()
}

/// 0 to 9 by ones, 10 to 40 by tens, 50 to 300 by fifties.
fn origins() -> Vec<f64> {
    let (ones, tens, fifties) = (0..10_u16, (10..50).step_by(10), (50..=300).step_by(50));
    ones.chain(tens).chain(fifties).map(f64::from).collect()
}
