//! `committedResourceUsageReconciler`: how often the usage of commitments is computed.

use std::time::Duration;

use super::section::{Zero, seconds};
use super::settings::settings;

settings! {
    /// Settings of the usage reconciler.
    pub struct UsageReconciler = read(s) {
        /// Least time between two runs for a commitment, and the period of runs without a cause.
        cooldown_interval: Duration = duration("cooldownInterval", seconds(300), Zero::Default),
    }
}
