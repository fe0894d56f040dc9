//! The wall clock. Code that compares times takes the time as an argument or asks this trait, so that tests can move
//! it.

use std::sync::Arc;

mod skew;

use jiff::{SignedDuration, Timestamp};
pub use skew::{ClockSkew, UntrustedClock};

/// The present moment, or why no decision may depend on the clock.
pub type TrustedTime = Result<Timestamp, UntrustedClock>;

/// Tells the time of day.
pub trait Clock: Send + Sync + 'static {
    /// The present moment, UTC.
    fn now(&self) -> Timestamp;

    /// The same, if decisions may depend on it. [`Clock::now`] is for what is only recorded.
    fn trusted_now(&self) -> TrustedTime {
        Ok(self.now())
    }
}

impl<C: Clock + ?Sized> Clock for Arc<C> {
    fn now(&self) -> Timestamp {
        (**self).now()
    }

    fn trusted_now(&self) -> TrustedTime {
        (**self).trusted_now()
    }
}

/// The clock of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// The clock of the machine, as far as the API server agrees.
#[derive(Clone, Debug)]
pub struct ComparedClock(pub ClockSkew);

impl Clock for ComparedClock {
    fn now(&self) -> Timestamp {
        SystemClock.now()
    }

    fn trusted_now(&self) -> TrustedTime {
        self.0.trust(self.now())
    }
}

/// A wall clock that begins at a chosen moment and advances with tokio's timers.
///
/// When a test pauses tokio's time and lets it jump from timer to timer, end times of commitments, transition times and
/// back-offs advance together.
#[derive(Debug, Clone, Copy)]
pub struct TokioClock {
    start: Timestamp,
    origin: tokio::time::Instant,
}

impl TokioClock {
    pub fn new(start: Timestamp) -> Self {
        Self { start, origin: tokio::time::Instant::now() }
    }
}

impl Clock for TokioClock {
    fn now(&self) -> Timestamp {
        let passed = SignedDuration::try_from(self.origin.elapsed()).unwrap_or(SignedDuration::MAX);
        // Beyond the end of the calendar the clock stands still rather than failing.
        self.start.checked_add(passed).unwrap_or(Timestamp::MAX)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_paused_tokio_clock_moves_the_wall_clock_with_its_timers() {
        let start: Timestamp = "2026-03-01T08:00:00Z".parse().unwrap();
        let clock: Arc<dyn Clock> = Arc::new(TokioClock::new(start));
        assert_eq!(clock.now(), start);
        tokio::time::sleep(Duration::from_secs(90)).await;
        assert_eq!(clock.now().to_string(), "2026-03-01T08:01:30Z");
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_of_the_calendar_is_not_passed() {
        let clock = TokioClock::new(Timestamp::MAX);
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(clock.now(), Timestamp::MAX);
    }

    #[test]
    fn the_clock_of_this_machine_is_trusted_once_a_server_agrees() {
        let skew = ClockSkew::default();
        let clock = ComparedClock(skew.clone());
        assert_eq!(clock.trusted_now(), Err(UntrustedClock::NotCompared));
        skew.add(clock.now());
        assert!(clock.trusted_now().is_ok());
    }

    #[test]
    fn the_system_clock_does_not_stand_still() {
        let (clock, before) = (SystemClock, Timestamp::now());
        assert!(clock.now() >= before);
    }
}
