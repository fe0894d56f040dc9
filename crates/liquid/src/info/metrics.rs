//! The gauges about the service info, computed when they are read.

use berth_telemetry::metrics::{Kind, Metric, Metrics, MetricsError};

use super::{InfoSource, PublishedInfo};

const UNIT_MISMATCH: Metric = Metric {
    name: "berth_declared_unit_mismatch",
    kind: Kind::Gauge,
    labels: &["flavor_group"],
    help: "1 if the configured unit of memory does not divide the smallest flavor of the group, or is not published because \
           amounts of commitments would not be whole; else 0.",
};

const WITHOUT_CAPACITY: Metric = Metric {
    name: "berth_announced_without_capacity",
    kind: Kind::Gauge,
    labels: &["resource"],
    help: "1 for each announced resource without hasCapacity. Behind a delegating liquid, Limes rejects the report of the \
           whole service.",
};

/// Registers them; once per process.
pub fn register(metrics: &Metrics, source: &InfoSource, published: &PublishedInfo) -> Result<(), MetricsError> {
    let (units, shown) = (source.clone(), published.clone());
    metrics.computed(&UNIT_MISMATCH, move || {
        let mismatches = units.unit_mismatches(&shown).into_iter();
        mismatches.map(|(group, is_mismatch)| (vec![group.to_string()], f64::from(u8::from(is_mismatch)))).collect()
    })?;
    let shown = published.clone();
    metrics.computed(&WITHOUT_CAPACITY, move || {
        let Some(published) = shown.get() else { return Vec::new() };
        published.without_capacity().map(|resource| (vec![resource.to_owned()], 1.0)).collect()
    })
}
