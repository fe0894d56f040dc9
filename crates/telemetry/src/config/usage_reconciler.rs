//! `committedResourceUsageReconciler`: how often the usage of commitments is computed.

use std::time::Duration;

use super::section::{Zero, seconds};
use super::settings::settings;

settings! {
    /// Settings of the usage reconciler.
    pub struct UsageReconciler = read(s) {
        /// After which time the usage of a project is computed again although nothing has changed. Changes do not wait for it.
        cooldown_interval: Duration = duration("cooldownInterval", seconds(300), Zero::Default),
    }
}
