//! The capacity that was reported last, as a metric.

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_core::Zone;
use berth_core::liquid::info::ServiceInfo;
use berth_core::liquid::names::{ResourceKind, parse_resource};
use berth_telemetry::metrics::{Kind, Metric, Metrics, MetricsError};
use parking_lot::Mutex;

use crate::capacity::{CapacityLine, MadeReport};

const REPORTED: Metric = Metric {
    name: "cortex_committed_resource_reported_capacity",
    kind: Kind::Gauge,
    labels: &["resource", "az", "unit_size"],
    help: "Capacity of a resource in a zone in the last report that succeeded, in units of the resource; `unit_size` is the \
           GiB of a unit of RAM, else 1.",
};

/// The lines of the last report. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct ReportedCapacity(Arc<Mutex<Vec<ShownLine>>>);

#[derive(Debug)]
struct ShownLine {
    line: CapacityLine,
    unit_size: u64,
}

impl ReportedCapacity {
    pub(super) fn register(metrics: &Metrics) -> Result<Self, MetricsError> {
        let reported = Self::default();
        let shown = reported.clone();
        metrics.computed(&REPORTED, move || shown.0.lock().iter().map(ShownLine::series).collect())?;
        Ok(reported)
    }

    /// Replaces the lines. Zones are named by the client, so only those that have or had an object become labels; those
    /// that had one stay, because a capacity that falls to 0 must be seen.
    pub(super) fn show(&self, report: &MadeReport, info: &ServiceInfo) {
        let mut shown = self.0.lock();
        let former: BTreeSet<Zone> = shown.iter().map(|shown| shown.line.zone.clone()).collect();
        let is_known = |line: &&CapacityLine| report.known_zones.contains(&line.zone) || former.contains(&line.zone);
        let lines = report.lines.iter().filter(is_known);
        *shown =
            lines.map(|line| ShownLine { line: line.clone(), unit_size: unit_size(&line.resource, info) }).collect();
    }
}

impl ShownLine {
    fn series(&self) -> (Vec<String>, f64) {
        let CapacityLine { resource, zone, capacity } = &self.line;
        (vec![resource.clone(), zone.to_string(), self.unit_size.to_string()], as_float(*capacity))
    }
}

fn unit_size(resource: &str, info: &ServiceInfo) -> u64 {
    match parse_resource(resource) {
        Some((group, ResourceKind::Ram)) => info.ram_unit(&group).in_gib(),
        _ => 1,
    }
}

#[expect(clippy::cast_precision_loss, reason = "capacities are far below 2^53")]
fn as_float(capacity: u64) -> f64 {
    capacity as f64
}
