//! The metrics of the controller of in-flight reservations. `cortex_reservation_state` has their number.

use berth_telemetry::declare_metrics;
use prometheus::IntCounterVec;

declare_metrics! {
    /// Counts. Clones count the same.
    pub struct InFlightMetrics {
        pub deleted: IntCounterVec["cause"], "berth_in_flight_deleted_total",
            "In-flight reservations that were deleted, by cause: landed, end_time, age.";
    }
}
