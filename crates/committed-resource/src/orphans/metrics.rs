//! The number of slots without a commitment that Berth did not create.

use std::collections::BTreeSet;

use berth_cluster::Store;
use berth_crds::{CommittedResource, Reservation};
use berth_telemetry::metrics::{Kind, Metric, Metrics, MetricsError};

use super::slot::{is_marked, is_slot, uuid};

const ORPHANED: Metric = Metric {
    name: "berth_orphaned_slots",
    kind: Kind::Gauge,
    labels: &[],
    help: "Slots without a commitment that Berth did not create and therefore does not delete.",
};

/// Registers the metrics; once per process.
pub fn register(
    metrics: &Metrics,
    commitments: Store<CommittedResource>,
    reservations: Store<Reservation>,
) -> Result<(), MetricsError> {
    metrics.computed(&ORPHANED, move || vec![(vec![], count_foreign_slots(&commitments, &reservations))])
}

#[expect(clippy::cast_precision_loss, reason = "counts of objects are far below 2^53")]
fn count_foreign_slots(commitments: &Store<CommittedResource>, reservations: &Store<Reservation>) -> f64 {
    let commitments = commitments.all();
    let known: BTreeSet<_> = commitments.iter().map(|entry| entry.object.spec.commitment_uuid.as_str()).collect();
    let slots = reservations.all();
    let strange = |object: &Reservation| is_slot(object) && !is_marked(object) && !known.contains(uuid(object));
    slots.iter().filter(|entry| strange(&entry.object)).count() as f64
}
