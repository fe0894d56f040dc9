//! The running sums of what weighers gave each host. Thousands of numbers for each run: they are added up in a table of
//! our own, and become series only when somebody looks.

use std::collections::{BTreeMap, HashMap};

use berth_core::HostName;
use berth_scheduler::StepTrace;
use parking_lot::Mutex;

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
    /// Adds what the weighers of a run said about hosts that exist.
    pub(super) fn add(&self, pipeline: &str, steps: &[StepTrace], exists: impl Fn(&HostName) -> bool) {
        let mut table = self.table.lock();
        let mut last: Option<(&StepTrace, Vec<Option<usize>>)> = None;
        for step in steps.iter().filter(|step| !step.activations.is_empty()) {
            // Mostly all weighers of a run see the same hosts in the same order: they are looked up once.
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
