//! The settings of a checker.

use std::sync::Arc;
use std::time::Duration;

use berth_invariants::PausedScope;
use berth_telemetry::clock::{Clock, SystemClock};

#[derive(Clone)]
pub struct CheckerSettings {
    /// The wall clock of the operators.
    pub clock: Arc<dyn Clock>,
    /// `disruptionLimit.slots`, if it is configured.
    pub disruption_limit: Option<usize>,
    /// What the configuration pauses.
    pub paused: PausedScope,
    /// How long a slot may stay on a host that is gone, or without its commitment: the grace of the operator, and the
    /// time limit for any change.
    pub overdue: Duration,
}

impl Default for CheckerSettings {
    /// The settings of an operator without configuration: a grace of one minute, and half an hour for everything else.
    fn default() -> Self {
        let overdue = Duration::from_secs(31 * 60);
        Self { clock: Arc::new(SystemClock), disruption_limit: None, paused: PausedScope::default(), overdue }
    }
}
