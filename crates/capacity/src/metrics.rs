//! The metrics of capacity. What the objects say is read from them when the metrics are read.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use berth_cluster::indexes::rank_in_place;
use berth_cluster::{Entry, Store};
use berth_core::Quantity as Amount;
use berth_crds::facts::is_up_to_date;
use berth_crds::{FlavorCapacity, FlavorGroupCapacity, FlavorGroupCapacityStatus, Quantity, resources};
use berth_telemetry::clock::Clock;
use berth_telemetry::metrics::{Kind, Metric, Metrics, MetricsError};
use prometheus::{HistogramVec, IntCounterVec};

const OF_FLAVOR: &[&str] = &["flavor_group", "az", "flavor_name"];
const OF_GROUP: &[&str] = &["flavor_group", "az"];

/// A gauge that is read from the objects.
const fn gauge(name: &'static str, labels: &'static [&'static str], help: &'static str) -> Metric {
    Metric { name, kind: Kind::Gauge, labels, help }
}

const TOTAL_SLOTS: Metric = gauge(
    "cortex_committed_resource_capacity_vm_slots_empty_datacenter",
    OF_FLAVOR,
    "VMs of the flavor that would fit if all hosts were empty.",
);
const PLACEABLE_SLOTS: Metric = gauge(
    "cortex_committed_resource_capacity_vm_slots_placeable",
    OF_FLAVOR,
    "VMs of the flavor that fit now, without regard to other flavors.",
);
const TOTAL_HOSTS: Metric = gauge(
    "cortex_committed_resource_capacity_hosts_empty_datacenter",
    OF_FLAVOR,
    "Hosts that would take a VM of the flavor if they were empty.",
);
const PLACEABLE_HOSTS: Metric =
    gauge("cortex_committed_resource_capacity_hosts_placeable", OF_FLAVOR, "Hosts that take a VM of the flavor now.");
const RUNNING: Metric =
    gauge("cortex_committed_resource_running_instances", OF_FLAVOR, "VMs of the group that hosts list.");
const FREE: Metric = gauge(
    "cortex_committed_resource_free_capacity_gib",
    OF_FLAVOR,
    "Free memory in whole slots of the smallest flavor, also for other groups on the same hosts.",
);
const EXCLUSIVE: Metric = gauge(
    "cortex_committed_resource_exclusively_free_capacity_gib",
    OF_FLAVOR,
    "The part of this memory that no other group gets.",
);
const EXCLUSIVE_SLOTS: Metric = gauge(
    "cortex_committed_resource_exclusively_free_slots",
    OF_FLAVOR,
    "Slots of the smallest flavor that no other group gets.",
);
const COMMITTED: Metric =
    gauge("cortex_committed_resource_committed_gib", OF_GROUP, "Memory that commitments have, in whole slots.");
const COMMITTED_SLOTS: Metric = gauge(
    "cortex_committed_resource_committed_reservations",
    OF_GROUP,
    "Slots of the smallest flavor that commitments have.",
);
const READY: Metric = gauge(
    "cortex_committed_resource_capacity_ready",
    OF_GROUP,
    "Whether the capacity is up to date: its condition is Ready, and it was written within three reconcile intervals.",
);
const RUNNING_OUTDATED: Metric = gauge(
    "berth_capacity_running_outdated",
    &[],
    "Whether the last cycle did not know the VMs, so that what runs stays as it was.",
);
const CYCLES: Metric = Metric {
    name: "berth_capacity_cycles_total",
    kind: Kind::Counter,
    labels: &["result"],
    help: "Cycles of the capacity controller, by result: success or failure (nothing could be computed, or something not written).",
};
const DURATION: Metric = Metric {
    name: "berth_capacity_cycle_duration_seconds",
    kind: Kind::Histogram,
    labels: &[],
    help: "How long cycles of the capacity controller have taken.",
};
const FAILED_PROBES: Metric = Metric {
    name: "berth_capacity_probe_failures_total",
    kind: Kind::Counter,
    labels: &["pipeline"],
    help: "Probes that the scheduler did not answer, by pipeline. The capacity of their groups stays as it was.",
};

const BUCKETS: [f64; 9] = [0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 120.0];

/// Counts what the capacity controller does. Clones share their values.
#[derive(Clone, Debug)]
pub struct CapacityMetrics {
    cycles: IntCounterVec,
    duration: HistogramVec,
    failed_probes: IntCounterVec,
    running_outdated: Arc<AtomicBool>,
}

type Value = fn(&FlavorGroupCapacityStatus) -> Option<f64>;

impl CapacityMetrics {
    /// Registers them; once per process. Objects that were not written for `max_age` are not ready.
    pub fn register(
        metrics: &Metrics,
        capacities: &Store<FlavorGroupCapacity>,
        (clock, max_age): (Arc<dyn Clock>, Duration),
    ) -> Result<Self, MetricsError> {
        register_flavors(metrics, capacities)?;
        register_groups(metrics, capacities)?;
        let store = capacities.clone();
        metrics.computed(&READY, move || {
            let now = clock.now();
            let ready = |object: &FlavorGroupCapacity| f64::from(u8::from(is_up_to_date(object, now, max_age)));
            first_of_each_place(&store).iter().map(|entry| (place(entry), ready(&entry.object))).collect()
        })?;
        let running_outdated = Arc::new(AtomicBool::new(false));
        let read = running_outdated.clone();
        metrics
            .computed(&RUNNING_OUTDATED, move || vec![(vec![], f64::from(u8::from(read.load(Ordering::Relaxed))))])?;
        let (cycles, duration) = (metrics.counter(&CYCLES)?, metrics.histogram(&DURATION, &BUCKETS)?);
        for result in ["success", "failure"] {
            cycles.with_label_values(&[result]).inc_by(0);
        }
        duration.with_label_values(&[""; 0]);
        Ok(Self { cycles, duration, failed_probes: metrics.counter(&FAILED_PROBES)?, running_outdated })
    }

    pub(crate) fn end_cycle(&self, is_success: bool, took: Duration) {
        self.cycles.with_label_values(&[if is_success { "success" } else { "failure" }]).inc();
        self.duration.with_label_values(&[""; 0]).observe(took.as_secs_f64());
    }

    pub(crate) fn count_failed_probe(&self, pipeline: &str) {
        self.failed_probes.with_label_values(&[pipeline]).inc();
    }

    pub(crate) fn show_running(&self, is_known: bool) {
        self.running_outdated.store(!is_known, Ordering::Relaxed);
    }
}

fn register_flavors(metrics: &Metrics, capacities: &Store<FlavorGroupCapacity>) -> Result<(), MetricsError> {
    type OfFlavor = fn(&FlavorCapacity) -> i64;
    let of_each: [(&Metric, OfFlavor); 4] = [
        (&TOTAL_SLOTS, |flavor| flavor.total_capacity_vm_slots),
        (&PLACEABLE_SLOTS, |flavor| flavor.placeable_vms),
        (&TOTAL_HOSTS, |flavor| flavor.total_capacity_hosts),
        (&PLACEABLE_HOSTS, |flavor| flavor.placeable_hosts),
    ];
    for (metric, value) in of_each {
        let store = capacities.clone();
        metrics.computed(metric, move || {
            let entries = first_of_each_place(&store);
            let flavors = entries.iter().flat_map(|entry| {
                let flavors = entry.object.status.iter().flat_map(|status| &status.flavors);
                flavors.map(move |flavor| (labels(entry, &flavor.flavor_name), as_float(value(flavor))))
            });
            flavors.collect()
        })?;
    }
    let of_smallest: [(&Metric, Value); 4] = [
        (&RUNNING, |status| Some(as_float(status.running_instances.unwrap_or(0)))),
        (&FREE, |status| status.free_capacity.get(resources::MEMORY).and_then(gib)),
        (&EXCLUSIVE, |status| status.exclusively_free_capacity.get(resources::MEMORY).and_then(gib)),
        (&EXCLUSIVE_SLOTS, |status| Some(as_float(status.exclusively_free_slots.unwrap_or(0)))),
    ];
    for (metric, value) in of_smallest {
        register(metrics, metric, capacities, value, |entry| {
            let smallest = entry.object.status.as_ref().and_then(|status| status.smallest_flavor_name.as_deref());
            labels(entry, smallest.unwrap_or_default())
        })?;
    }
    Ok(())
}

fn register_groups(metrics: &Metrics, capacities: &Store<FlavorGroupCapacity>) -> Result<(), MetricsError> {
    let of_group: [(&Metric, Value); 2] = [
        (&COMMITTED, |status| Some(as_float(status.committed_capacity_bytes.unwrap_or(0)) / GIB)),
        (&COMMITTED_SLOTS, |status| Some(as_float(status.committed_capacity.unwrap_or(0)))),
    ];
    for (metric, value) in of_group {
        register(metrics, metric, capacities, value, place)?;
    }
    Ok(())
}

fn register(
    metrics: &Metrics,
    metric: &'static Metric,
    capacities: &Store<FlavorGroupCapacity>,
    value: Value,
    labels: fn(&Entry<FlavorGroupCapacity>) -> Vec<String>,
) -> Result<(), MetricsError> {
    let store = capacities.clone();
    metrics.computed(metric, move || {
        let entries = first_of_each_place(&store);
        let known = entries.iter().filter_map(|entry| Some((labels(entry), value(entry.object.status.as_ref()?)?)));
        known.collect()
    })
}

const GIB: f64 = 1_073_741_824.0;

fn gib(amount: &Quantity) -> Option<f64> {
    let bytes = Amount::parse(amount.as_str()).ok()?.round_down();
    Some(as_float(bytes) / GIB)
}

fn first_of_each_place(capacities: &Store<FlavorGroupCapacity>) -> Vec<Entry<FlavorGroupCapacity>> {
    let mut entries = capacities.all();
    entries.sort_by(|a, b| rank_in_place(&a.key).cmp(&rank_in_place(&b.key)));
    let mut seen = BTreeSet::new();
    entries.retain(|entry| seen.insert(place(entry)));
    entries
}

fn place(entry: &Entry<FlavorGroupCapacity>) -> Vec<String> {
    let spec = &entry.object.spec;
    vec![spec.flavor_group.clone(), spec.availability_zone.clone()]
}

fn labels(entry: &Entry<FlavorGroupCapacity>, flavor: &str) -> Vec<String> {
    [place(entry), vec![flavor.to_owned()]].concat()
}

#[expect(clippy::cast_precision_loss, reason = "amounts are far below 2^53 of their unit, or need not be exact")]
fn as_float(value: i64) -> f64 {
    value as f64
}
