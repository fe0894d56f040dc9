//! The settings of the controller.

use std::time::Duration;

/// The settings of the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `capacityReconcileInterval`: the period of cycles without a cause. A cycle may take no longer.
    pub interval: Duration,
    /// `capacityMinReconcileInterval`: the least time from the end of a cycle to the next one.
    pub least_interval: Duration,
    /// `capacityTotalPipeline`.
    pub total_pipeline: String,
    /// `capacityPlaceablePipeline`.
    pub placeable_pipeline: String,
}
