//! What a judge goes by.

use std::sync::Arc;
use std::time::Duration;

use berth_laws::Frozen;
use berth_telemetry::clock::{Clock, SystemClock};

/// What a judge goes by.
#[derive(Clone)]
pub struct Rules {
    /// The wall clock of the operators.
    pub clock: Arc<dyn Clock>,
    /// `brake.slots`, if it is configured.
    pub brake: Option<usize>,
    /// What the configuration freezes.
    pub frozen: Frozen,
    /// How long a slot may stay on a host that has gone, or without its commitment: the grace of the operator, and as long
    /// as anything may take.
    pub overdue: Duration,
}

impl Default for Rules {
    /// Those of an operator without configuration: a grace of one minute, and half an hour for everything else.
    fn default() -> Self {
        let overdue = Duration::from_secs(31 * 60);
        Self { clock: Arc::new(SystemClock), brake: None, frozen: Frozen::default(), overdue }
    }
}
