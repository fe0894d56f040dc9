//! How many slots without a commitment wait for a person.

use std::collections::BTreeSet;

use berth_cluster::Store;
use berth_crds::{CommittedResource, Reservation};
use berth_telemetry::metrics::{Kind, Metric, Metrics, MetricsError};

use super::slot::{is_marked, is_slot, uuid};

const ORPHANED: Metric = Metric {
    name: "berth_orphaned_slots",
    kind: Kind::Gauge,
    labels: &[],
    help: "Slots that hold room for no commitment and were not made by Berth, which therefore does not delete them.",
};

/// Registers the metrics; once per process.
pub fn register(
    metrics: &Metrics,
    commitments: Store<CommittedResource>,
    reservations: Store<Reservation>,
) -> Result<(), MetricsError> {
    metrics.computed(&ORPHANED, move || vec![(vec![], strangers(&commitments, &reservations))])
}

#[expect(clippy::cast_precision_loss, reason = "counts of objects are far below 2^53")]
fn strangers(commitments: &Store<CommittedResource>, reservations: &Store<Reservation>) -> f64 {
    let commitments = commitments.all();
    let known: BTreeSet<_> = commitments.iter().map(|entry| entry.object.spec.commitment_uuid.as_str()).collect();
    let slots = reservations.all();
    let strange = |object: &Reservation| is_slot(object) && !is_marked(object) && !known.contains(uuid(object));
    slots.iter().filter(|entry| strange(&entry.object)).count() as f64
}
