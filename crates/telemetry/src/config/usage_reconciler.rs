//! `committedResourceUsageReconciler`: how often the usage of commitments is computed (document 11 section 5.4).

use std::time::Duration;

use super::section::{Section, Zero};

/// Settings of the usage reconciler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageReconciler {
    /// `cooldownInterval`: least time between two runs for a commitment, and period of the run without a cause.
    pub cooldown_interval: Duration,
}

impl UsageReconciler {
    pub(super) fn read(s: &mut Section<'_>) -> Self {
        const MEANING: &str = "Least time between two runs for a commitment, and the period of runs without a cause.";
        Self { cooldown_interval: s.duration("cooldownInterval", Duration::from_secs(300), Zero::Default, MEANING) }
    }
}
