//! A wall clock that may be wrong, and that the process may not trust.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use berth_telemetry::clock::{Clock, TrustedTime, UntrustedClock};
use berth_testkit::SteppedClock;
use jiff::{SignedDuration, Timestamp};

/// Clones share the clock.
#[derive(Clone)]
pub struct TestClock {
    stepped: SteppedClock,
    is_untrusted: Arc<AtomicBool>,
}

impl Default for TestClock {
    fn default() -> Self {
        Self { stepped: SteppedClock::new("2026-03-01T12:00:00Z".parse().unwrap()), is_untrusted: Arc::default() }
    }
}

impl TestClock {
    pub fn step(&self, by: SignedDuration) {
        self.stepped.step(by);
    }

    pub fn trust(&self, is_trusted: bool) {
        self.is_untrusted.store(!is_trusted, Ordering::Relaxed);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        self.stepped.now()
    }

    fn trusted_now(&self) -> TrustedTime {
        if self.is_untrusted.load(Ordering::Relaxed) { Err(UntrustedClock::NotCompared) } else { Ok(self.now()) }
    }
}
