//! The metrics of bookings.

use berth_telemetry::declare_metrics;
use prometheus::IntCounterVec;

declare_metrics! {
    /// The counters.
    pub struct BookingMetrics {
        bookings: IntCounterVec["outcome"], "berth_bookings_total",
            "VMs to be written into slots, by outcome: written, there_already, slot_gone, queue_full, not_leader or failed.";
        removals: IntCounterVec["outcome"], "berth_booking_removals_total",
            "VMs to be removed from the slot of an earlier booking, by outcome: written, not_needed or failed.";
    }
}

impl BookingMetrics {
    pub(super) fn booking(&self, outcome: &str) {
        self.bookings.with_label_values(&[outcome]).inc();
    }

    pub(super) fn removal(&self, outcome: &str) {
        self.removals.with_label_values(&[outcome]).inc();
    }
}
