//! What the controller of in-flight reservations counts. How many there are is in `cortex_reservation_state`.

use berth_telemetry::metrics::{Kind, Metric, Metrics, MetricsError};
use prometheus::IntCounterVec;

const DELETED: Metric = Metric {
    name: "berth_in_flight_deleted_total",
    kind: Kind::Counter,
    labels: &["cause"],
    help: "In-flight reservations that were deleted, by cause: landed, end_time, age.",
};

/// Counts. Clones count the same.
#[derive(Clone, Debug)]
pub struct InFlightMetrics {
    /// Those that were deleted, by cause.
    pub deleted: IntCounterVec,
}

impl InFlightMetrics {
    /// Registers them; once per process.
    pub fn register(metrics: &Metrics) -> Result<Self, MetricsError> {
        Ok(Self { deleted: metrics.counter(&DELETED)? })
    }
}
