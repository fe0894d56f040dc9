//! A wall clock that tests set ahead or back while time goes on.

use std::sync::Arc;

use berth_telemetry::clock::{Clock, TokioClock};
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;

/// A wall clock on tokio's time that can be stepped. Clones share the clock.
#[derive(Clone, Debug)]
pub struct SteppedClock {
    clock: TokioClock,
    off: Arc<Mutex<SignedDuration>>,
}

impl SteppedClock {
    pub fn new(start: Timestamp) -> Self {
        Self { clock: TokioClock::new(start), off: Arc::default() }
    }

    pub fn step(&self, by: SignedDuration) {
        *self.off.lock() += by;
    }
}

impl Clock for SteppedClock {
    fn now(&self) -> Timestamp {
        let off = *self.off.lock();
        let now = self.clock.now();
        now.checked_add(off).unwrap_or(now)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_step_moves_it_and_time_goes_on() {
        let start: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
        let clock = SteppedClock::new(start);
        clock.step(SignedDuration::from_hours(-1));
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(clock.now(), start - SignedDuration::from_mins(59));
    }
}
