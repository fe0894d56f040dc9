//! The capacity controller: keys of the top level.

use std::time::Duration;

use super::duration;
use super::section::{Section, Zero, seconds};
use super::settings::settings;

/// The pipeline that most defaults name.
const GENERAL_PURPOSE_PIPELINE: &str = "kvm-general-purpose-load-balancing";

settings! {
    /// Settings of the capacity controller, all on the top level.
    pub struct Capacity = read(s) check {
        /// Period in which capacity is measured. Longer than `capacityMinReconcileInterval`. Capacity that was not written for three periods is not reported.
        reconcile_interval: Duration = duration("capacityReconcileInterval", seconds(300), Zero::Default),
        /// Least time from the end of a measurement to the next one, also after a failure.
        min_reconcile_interval: Duration = duration("capacityMinReconcileInterval", seconds(30), Zero::Default),
        /// Pipeline that answers how much would fit if the data centre were empty.
        total_pipeline: String = text("capacityTotalPipeline", GENERAL_PURPOSE_PIPELINE),
        /// Pipeline that answers how much fits now.
        placeable_pipeline: String = text("capacityPlaceablePipeline", GENERAL_PURPOSE_PIPELINE),
    }
}

/// Periods without a write after which an object is outdated.
const PERIODS: u32 = 3;

impl Capacity {
    /// How old the object of a group and zone may be. Whoever writes it may have ended, whatever its condition says.
    pub fn max_age(&self) -> Duration {
        self.reconcile_interval.saturating_mul(PERIODS)
    }

    fn check(&self, s: &mut Section<'_>) {
        let keys = ["capacityReconcileInterval", "capacityMinReconcileInterval"];
        if s.are_sound(&keys) && self.reconcile_interval <= self.min_reconcile_interval {
            // The second half is what clients of the reference know.
            let text = format!(
                "raise it: capacityReconcileInterval ({}) must be greater than capacityMinReconcileInterval ({})",
                duration::format(self.reconcile_interval),
                duration::format(self.min_reconcile_interval)
            );
            s.error("capacityReconcileInterval", text);
        }
    }
}
