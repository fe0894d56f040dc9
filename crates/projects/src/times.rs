//! The time of a run, and what it may be used for.

use berth_telemetry::clock::Clock;
use jiff::Timestamp;

/// The time of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// For what is only recorded.
    pub now: Timestamp,
    /// The clock may decide what starts, ends and is refreshed.
    pub is_trusted: bool,
}

impl Times {
    pub fn of(clock: &dyn Clock) -> Self {
        let trusted = clock.trusted_now().ok();
        Self { now: trusted.unwrap_or_else(|| clock.now()), is_trusted: trusted.is_some() }
    }
}
