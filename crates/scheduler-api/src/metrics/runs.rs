//! The metrics of one run: its hosts, its time, its steps.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use berth_core::HostName;
use berth_scheduler::{Answer, BuiltIn, Scheduler as _, StepEvent, StepTrace};
use berth_telemetry::declare_metrics;
use berth_telemetry::metrics::{Kind, Metric, Metrics, MetricsError};
use parking_lot::Mutex;
use prometheus::{HistogramVec, IntCounterVec};

const STEP_WEIGHTS: Metric = Metric {
    name: "cortex_filter_weigher_pipeline_step_weight_modification",
    kind: Kind::Gauge,
    labels: &["pipeline", "host", "step"],
    help: "Sum of what a weigher gave a host in all runs, before tanh and multiplier.",
};
/// The default buckets of the reference's client library, in seconds.
pub(super) const SECONDS: [f64; 11] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

const PLACES: [&str; 5] = ["0", "1", "2", "3", "4"];

declare_metrics! {
    /// The metrics of each run.
    pub(super) struct RunSeries {
        runs: IntCounterVec["pipeline"], "cortex_filter_weigher_pipeline_requests_total",
            "Runs of a pipeline over HTTP that produced a result.";
        hosts_in: HistogramVec["pipeline"] in &counts(), "cortex_filter_weigher_pipeline_host_number_in",
            "Candidates of a run.";
        hosts_out: HistogramVec["pipeline"] in &counts(), "cortex_filter_weigher_pipeline_host_number_out",
            "Hosts that were answered.";
        duration: HistogramVec["pipeline"] in &SECONDS, "cortex_filter_weigher_pipeline_run_duration_seconds",
            "Seconds that a run took.";
        step_duration: HistogramVec["pipeline", "step"] in &SECONDS, "cortex_filter_weigher_pipeline_step_run_duration_seconds",
            "Seconds that a step of a run took.";
        step_removed: HistogramVec["pipeline", "step"] in &counts(), "cortex_filter_weigher_pipeline_step_removed_hosts",
            "Hosts that a step removed.";
        step_origin: HistogramVec["pipeline", "step", "outidx"] in &origins(), "cortex_filter_weigher_pipeline_step_shift_origin",
            "The place before a step of the host that is at place outidx after it, for the first five.";
        step_impact: HistogramVec["pipeline", "step", "stat", "unit"] in &exponential(0.01, 1000.0, 20), "cortex_filter_weigher_pipeline_step_impact",
            "How much a weigher changed the order of the first five hosts, in its own statistic.";
        step_events: IntCounterVec["pipeline", "step", "event", "intent", "hypervisor_type"], "cortex_filter_weigher_pipeline_step_events_total",
            "What steps have reported; the last two labels are empty for events that do not have them.";
    }
}

/// The metrics of runs.
#[derive(Clone)]
pub(super) struct RunMetrics {
    scheduler: Arc<BuiltIn>,
    series: RunSeries,
    labels: EventLabels,
    weights: Arc<Weights>,
}

impl RunMetrics {
    pub(super) fn register(metrics: &Metrics, scheduler: &Arc<BuiltIn>) -> Result<Self, MetricsError> {
        let weights = Arc::new(Weights::default());
        let (shown, fleet) = (weights.clone(), scheduler.clone());
        metrics.computed(&STEP_WEIGHTS, move || shown.series(|host| fleet.free_capacity(host).is_some()))?;
        let series = RunSeries::register(metrics)?;
        Ok(Self { scheduler: scheduler.clone(), series, labels: EventLabels::default(), weights })
    }

    pub(super) fn ran(&self, pipeline: &str, answer: &Answer, took: Duration) {
        let decision = &answer.decision;
        self.series.runs.with_label_values(&[pipeline]).inc();
        self.series.hosts_in.with_label_values(&[pipeline]).observe(count(decision.removed.hosts));
        self.series.hosts_out.with_label_values(&[pipeline]).observe(count(answer.hosts.len()));
        self.series.duration.with_label_values(&[pipeline]).observe(took.as_secs_f64());
        decision.steps.iter().for_each(|step| self.step(pipeline, step));
        decision.events.iter().for_each(|event| self.event(pipeline, event));
        self.weights.add(pipeline, &decision.steps, |host| self.scheduler.free_capacity(host).is_some());
    }

    fn step(&self, pipeline: &str, step: &StepTrace) {
        let labels = [pipeline, step.step];
        self.series.step_duration.with_label_values(&labels).observe(step.took.as_secs_f64());
        let removed = step.hosts_in.saturating_sub(step.hosts_out);
        self.series.step_removed.with_label_values(&labels).observe(count(removed));
        for (place, origin) in PLACES.iter().zip(&step.origins) {
            self.series.step_origin.with_label_values(&[pipeline, step.step, place]).observe(count(*origin));
        }
        if let Some((stat, impact)) = step.impact {
            self.series.step_impact.with_label_values(&[pipeline, step.step, stat, "float"]).observe(impact);
        }
    }

    fn event(&self, pipeline: &str, event: &StepEvent) {
        let (intent, hypervisor) = self.labels.of(event);
        self.series.step_events.with_label_values(&[pipeline, event.step, event.event, &intent, &hypervisor]).inc();
    }
}

#[expect(clippy::cast_precision_loss, reason = "numbers of hosts")]
fn count(number: usize) -> f64 {
    number as f64
}

fn counts() -> Vec<f64> {
    exponential(1.0, 1000.0, 10)
}

/// Exponential buckets from the first to the last value.
pub(super) fn exponential(first: f64, last: f64, buckets: u8) -> Vec<f64> {
    let steps = f64::from(buckets - 1);
    (0..buckets).map(|place| first * (last / first).powf(f64::from(place) / steps)).collect()
}

/// 0 to 9 by ones, 10 to 40 by tens, 50 to 300 by fifties.
fn origins() -> Vec<f64> {
    let (ones, tens, fifties) = (0..10_u16, (10..50).step_by(10), (50..=300).step_by(50));
    ones.chain(tens).chain(fifties).map(f64::from).collect()
}

// The labels of step events. Bounds the labels whose values come from objects of other writers.

/// The bound of the distinct types of hypervisors.
const MOST_TYPES: usize = 32;
const LONGEST: usize = 64;

/// The types that have been seen. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct EventLabels {
    types: Arc<Mutex<BTreeSet<String>>>,
}

impl EventLabels {
    /// The values of `intent` and `hypervisor_type`; empty where the event has no such label. Other labels are dropped.
    pub(super) fn of(&self, event: &StepEvent) -> (String, String) {
        match &event.label {
            Some(("intent", value)) => (value.clone(), String::new()),
            Some(("hypervisor_type", value)) => (String::new(), self.bounded(value)),
            _ => (String::new(), String::new()),
        }
    }

    fn bounded(&self, value: &str) -> String {
        let mut types = self.types.lock();
        let fits = || value.len() <= LONGEST && types.len() < MOST_TYPES;
        if types.contains(value) {
            return value.to_owned();
        }
        if !fits() {
            return "other".to_owned();
        }
        types.insert(value.to_owned());
        value.to_owned()
    }
}

// The running sums of what weighers gave each host. Thousands of numbers for each run: they are added up in a table of
// our own, and become series only when they are read.

/// The table.
#[derive(Debug, Default)]
pub(super) struct Weights {
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    /// The place of each host in the columns.
    places: HashMap<HostName, usize>,
    /// One column for each weigher of each pipeline; a host without a number has none yet.
    columns: BTreeMap<String, BTreeMap<&'static str, Vec<Option<f64>>>>,
}

impl Weights {
    /// Adds the values of the weighers of a run for existing hosts.
    pub(super) fn add(&self, pipeline: &str, steps: &[StepTrace], exists: impl Fn(&HostName) -> bool) {
        let mut table = self.table.lock();
        let mut last: Option<(&StepTrace, Vec<Option<usize>>)> = None;
        for step in steps.iter().filter(|step| !step.activations.is_empty()) {
            // Mostly all weighers of a run see the same hosts in the same order: they are read again once.
            let places = match last.take() {
                Some((before, places)) if same_hosts(before, step) => places,
                _ => step.activations.iter().map(|(host, _)| table.place(host, &exists)).collect(),
            };
            table.add(pipeline, step, &places);
            last = Some((step, places));
        }
    }

    /// All sums with their labels. Hosts that exist no more are forgotten.
    pub(super) fn series(&self, exists: impl Fn(&HostName) -> bool) -> Vec<(Vec<String>, f64)> {
        let mut table = self.table.lock();
        if !table.places.keys().all(&exists) {
            table.forget(exists);
        }
        table.series()
    }
}

fn same_hosts(one: &StepTrace, other: &StepTrace) -> bool {
    one.activations.iter().map(|(host, _)| host).eq(other.activations.iter().map(|(host, _)| host))
}

impl Table {
    /// The place of a host; one that is new gets a place if it exists.
    fn place(&mut self, host: &HostName, exists: impl Fn(&HostName) -> bool) -> Option<usize> {
        if let Some(place) = self.places.get(host) {
            return Some(*place);
        }
        let place = self.places.len();
        exists(host).then(|| {
            self.places.insert(host.clone(), place);
            place
        })
    }

    fn add(&mut self, pipeline: &str, step: &StepTrace, places: &[Option<usize>]) {
        let length = self.places.len();
        if !self.columns.contains_key(pipeline) {
            self.columns.insert(pipeline.to_owned(), BTreeMap::new());
        }
        let Some(columns) = self.columns.get_mut(pipeline) else { return };
        let column = columns.entry(step.step).or_default();
        column.resize(length.max(column.len()), None);
        for ((_, activation), place) in step.activations.iter().zip(places) {
            if let Some(sum) = place.and_then(|place| column.get_mut(place)) {
                *sum = Some(sum.unwrap_or(0.0) + activation);
            }
        }
    }

    fn forget(&mut self, exists: impl Fn(&HostName) -> bool) {
        let mut left: Vec<(HostName, usize)> = self.places.drain().filter(|(host, _)| exists(host)).collect();
        left.sort_by_key(|(_, place)| *place);
        for column in self.columns.values_mut().flat_map(BTreeMap::values_mut) {
            *column = left.iter().map(|(_, place)| column.get(*place).copied().flatten()).collect();
        }
        self.places = left.into_iter().enumerate().map(|(place, (host, _))| (host, place)).collect();
    }

    fn series(&self) -> Vec<(Vec<String>, f64)> {
        let mut series = Vec::new();
        for (pipeline, columns) in &self.columns {
            for (step, column) in columns {
                let sum = |place: usize| column.get(place).copied().flatten();
                let labels = |host: &HostName| vec![pipeline.clone(), host.to_string(), (*step).to_owned()];
                let hosts = self.places.iter();
                series.extend(hosts.filter_map(|(host, place)| Some((labels(host), sum(*place)?))));
            }
        }
        series
    }
}
