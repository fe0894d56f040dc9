//! What every step of a run did, for the metrics of document 60 section 11. Made only for runs with a stopwatch.

use std::time::Duration;

use berth_core::HostName;

/// What one step did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepTrace {
    /// The step.
    pub step: &'static str,
    /// How long it took.
    pub took: Duration,
    /// Hosts before it.
    pub hosts_in: usize,
    /// Hosts after it.
    pub hosts_out: usize,
    /// The first five hosts after the step: which place each had before it.
    pub origins: Vec<usize>,
    /// For weighers with a statistic: its name and how much the step changed the order (section 11, impact).
    pub impact: Option<(&'static str, f64)>,
    /// For weighers with an effect: the raw activation of each host.
    pub activations: Vec<(HostName, f64)>,
}
