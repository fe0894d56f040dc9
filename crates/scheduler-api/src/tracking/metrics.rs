//! What is counted about VMs that are written into slots.

use berth_telemetry::metrics::{Kind, Metric, Metrics, MetricsError};
use prometheus::IntCounterVec;

const BOOKINGS: Metric = Metric {
    name: "berth_bookings_total",
    kind: Kind::Counter,
    labels: &["outcome"],
    help: "VMs to be written into slots, by outcome: written, there_already, slot_gone, queue_full, not_leader or failed.",
};

const MOVES: Metric = Metric {
    name: "berth_booking_removals_total",
    kind: Kind::Counter,
    labels: &["outcome"],
    help: "VMs to be removed from the slot of an earlier booking, by outcome: written, not_needed or failed.",
};

/// The counters.
#[derive(Clone, Debug)]
pub struct BookingMetrics {
    bookings: IntCounterVec,
    removals: IntCounterVec,
}

impl BookingMetrics {
    /// Registers the counters.
    pub fn register(metrics: &Metrics) -> Result<Self, MetricsError> {
        Ok(Self { bookings: metrics.counter(&BOOKINGS)?, removals: metrics.counter(&MOVES)? })
    }

    pub(super) fn booking(&self, outcome: &str) {
        self.bookings.with_label_values(&[outcome]).inc();
    }

    pub(super) fn removal(&self, outcome: &str) {
        self.removals.with_label_values(&[outcome]).inc();
    }
}
