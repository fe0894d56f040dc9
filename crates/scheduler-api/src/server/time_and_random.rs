//! Time and chance, which the scheduler itself does not have. Tests put their own in place.

use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use berth_scheduler::Stopwatch;
use berth_telemetry::clock::Clock;
use tokio::time::Instant;

/// Where the endpoint takes the time and random numbers from.
#[derive(Clone)]
pub struct TimeAndRandom {
    /// Monotonic time since the process began: the clock of [`berth_scheduler::BuiltIn::expire`].
    pub now: Arc<dyn Fn() -> Duration + Send + Sync>,
    /// For what ends and begins at a time of day.
    pub clock: Arc<dyn Clock>,
    /// A number that cannot be foretold, another one each time.
    pub chance: Arc<dyn Fn() -> u64 + Send + Sync>,
}

impl TimeAndRandom {
    /// Time counted from `began`, on tokio's clock; random numbers from the operating system's.
    pub fn since(began: Instant, clock: Arc<dyn Clock>) -> Self {
        Self { now: Arc::new(move || began.elapsed()), clock, chance: Arc::new(random) }
    }
}

impl fmt::Debug for TimeAndRandom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TimeAndRandom").field("now", &(self.now)()).finish_non_exhaustive()
    }
}

/// Each state of the standard hasher has keys that cannot be known, other than the one before.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Measures the steps of a run.
#[derive(Debug)]
pub(super) struct Watch(std::time::Instant);

impl Watch {
    pub(super) fn start() -> Self {
        Self(std::time::Instant::now())
    }
}

impl Stopwatch for Watch {
    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use berth_telemetry::clock::TokioClock;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn time_passes_and_numbers_differ() {
        let clock = TokioClock::new("2026-03-01T12:00:00Z".parse().unwrap());
        let surroundings = TimeAndRandom::since(Instant::now(), Arc::new(clock));
        tokio::time::advance(Duration::from_secs(3)).await;
        assert_eq!((surroundings.now)(), Duration::from_secs(3));
        assert_ne!((surroundings.chance)(), (surroundings.chance)());
    }
}
