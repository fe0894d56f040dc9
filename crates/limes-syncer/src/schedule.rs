//! When the next run begins.

use std::time::Duration;

const FIRST_RETRY: Duration = Duration::from_secs(30);

/// The times of runs. Failed runs are repeated earlier, with a delay that doubles up to the interval.
#[derive(Debug)]
pub(crate) struct Schedule {
    interval: Duration,
    failures: u32,
}

impl Schedule {
    pub(crate) fn new(interval: Duration) -> Self {
        Self { interval, failures: 0 }
    }

    /// How long to wait after a run that took so long. The times that have passed meanwhile are one.
    pub(crate) fn next(&mut self, has_failed: bool, took: Duration) -> Duration {
        if has_failed {
            let delay = FIRST_RETRY.saturating_mul(1 << self.failures.min(16));
            self.failures += 1;
            return delay.min(self.interval);
        }
        self.failures = 0;
        self.interval.saturating_sub(took)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn runs_begin_once_per_interval() {
        let mut schedule = Schedule::new(HOUR);
        assert_eq!(schedule.next(false, Duration::from_secs(600)), Duration::from_secs(3000));
        assert_eq!(schedule.next(false, 3 * HOUR), Duration::ZERO, "what was missed is one run");
    }

    #[test]
    fn a_failed_run_is_repeated_after_30_s_and_then_after_twice_as_long() {
        let mut schedule = Schedule::new(HOUR);
        let mut delays = || schedule.next(true, Duration::from_secs(7)).as_secs();
        assert_eq!((0..9).map(|_| delays()).collect::<Vec<_>>(), [30, 60, 120, 240, 480, 960, 1920, 3600, 3600]);
        schedule.next(false, HOUR);
        assert_eq!(schedule.next(true, HOUR), FIRST_RETRY);
        assert_eq!(Schedule::new(Duration::from_secs(20)).next(true, HOUR).as_secs(), 20);
    }
}
