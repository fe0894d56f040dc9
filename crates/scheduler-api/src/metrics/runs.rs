//! What is counted about one run: its hosts, its time, its steps (document 60 section 11).

use std::{sync::Arc, time::Duration};

use berth_scheduler::{Answer, BuiltIn, Scheduler as _, StepEvent, StepTrace};
use berth_telemetry::metrics::{Metrics, MetricsError};
use prometheus::{HistogramVec, IntCounterVec};

use super::{
    HOSTS_IN, HOSTS_OUT, RUN_DURATION, RUNS, SECONDS, STEP_DURATION, STEP_EVENTS, STEP_IMPACT, STEP_ORIGIN,
    STEP_REMOVED, STEP_WEIGHTS, event_labels::EventLabels, weights::Weights,
};

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
