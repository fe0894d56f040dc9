//! What the controller of in-flight reservations counts. How many there are is in `cortex_reservation_state`.

use berth_telemetry::declare_metrics;
use prometheus::IntCounterVec;

declare_metrics! {
    /// Counts. Clones count the same.
    pub struct InFlightMetrics {
        /// Those that were deleted, by cause.
        pub deleted: IntCounterVec["cause"], "berth_in_flight_deleted_total",
            "In-flight reservations that were deleted, by cause: landed, end_time, age.";
    }
}
