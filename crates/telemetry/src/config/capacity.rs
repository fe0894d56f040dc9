//! The capacity controller (document 11 section 5.7).

use std::time::Duration;

use super::{
    duration,
    section::{Section, Zero},
};

/// The pipeline that most defaults name.
const GENERAL_PURPOSE_PIPELINE: &str = "kvm-general-purpose-load-balancing";

/// Settings of the capacity controller, all on the top level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capacity {
    /// `capacityReconcileInterval`: period.
    pub reconcile_interval: Duration,
    /// `capacityMinReconcileInterval`: least time between successful runs.
    pub min_reconcile_interval: Duration,
    /// `capacityTotalPipeline`: pipeline of the probe of an empty data centre.
    pub total_pipeline: String,
    /// `capacityPlaceablePipeline`: pipeline of the probe of the present state.
    pub placeable_pipeline: String,
}

impl Capacity {
    pub(super) fn read(s: &mut Section<'_>) -> Self {
        const TOTAL: &str = "Pipeline that answers how much would fit if the data centre were empty.";
        const PLACEABLE: &str = "Pipeline that answers how much fits now.";
        let (five_minutes, half_a_minute) = (Duration::from_secs(300), Duration::from_secs(30));
        let this = Self {
            reconcile_interval: s.duration(
                "capacityReconcileInterval",
                five_minutes,
                Zero::Default,
                "Period in which capacity is measured. Longer than `capacityMinReconcileInterval`.",
            ),
            min_reconcile_interval: s.duration(
                "capacityMinReconcileInterval",
                half_a_minute,
                Zero::Default,
                "Least time between two successful measurements.",
            ),
            total_pipeline: s.text("capacityTotalPipeline", GENERAL_PURPOSE_PIPELINE, TOTAL),
            placeable_pipeline: s.text("capacityPlaceablePipeline", GENERAL_PURPOSE_PIPELINE, PLACEABLE),
        };
        this.check(s);
        this
    }

    fn check(&self, s: &mut Section<'_>) {
        if self.reconcile_interval <= self.min_reconcile_interval {
            // The second half is what clients of the reference know (document 11 section 5.7).
            let text = format!(
                "raise it: capacityReconcileInterval ({}) must be greater than capacityMinReconcileInterval ({})",
                duration::format(self.reconcile_interval),
                duration::format(self.min_reconcile_interval)
            );
            s.error("capacityReconcileInterval", text);
        }
    }
}
