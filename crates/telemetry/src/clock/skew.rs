//! The difference between the wall clock of this machine and that of the API server, from the `Date` of its answers. While it
//! is large, or not known yet, no decision may depend on the wall clock.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp, Unit};
use parking_lot::Mutex;
use thiserror::Error;

/// The answers whose median counts.
const ANSWERS: usize = 10;

/// The largest difference with which the clock is trusted.
const TOLERANCE: SignedDuration = SignedDuration::from_secs(60);

/// Why no decision may depend on the wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum UntrustedClock {
    #[error("the clock of this process has not been compared with that of the API server yet")]
    NotCompared,
    #[error("the clock of this process is {} that of the API server: correct the clock of one of the two machines", describe(*.0))]
    Skewed(SignedDuration),
}

fn describe(skew: SignedDuration) -> String {
    let side = if skew.is_negative() { "behind" } else { "ahead of" };
    format!("{:#} {side}", skew.abs())
}

/// What the API server said about the time. Clones share it.
///
/// It remembers the server's time by the monotonic clock, so a step of our wall clock is noticed at once.
#[derive(Clone, Debug)]
pub struct ClockSkew {
    origin: Instant,
    /// The server's time at `origin`, by each of the last answers.
    origins: Arc<Mutex<VecDeque<Timestamp>>>,
}

impl Default for ClockSkew {
    fn default() -> Self {
        Self { origin: Instant::now(), origins: Arc::default() }
    }
}

impl ClockSkew {
    /// Remembers the time in an answer that has just arrived.
    pub fn add(&self, server: Timestamp) {
        self.add_after(server, self.origin.elapsed());
    }

    fn add_after(&self, server: Timestamp, elapsed: Duration) {
        let Ok(origin) = server.checked_sub(elapsed) else { return };
        let mut origins = self.origins.lock();
        if origins.len() >= ANSWERS {
            origins.pop_front();
        }
        origins.push_back(origin);
    }

    /// By how much `now`, which was read just now, is ahead of the server's time.
    pub fn of(&self, now: Timestamp) -> Option<SignedDuration> {
        self.after(now, self.origin.elapsed())
    }

    /// `now`, which was read just now, if the server agrees.
    pub fn trust(&self, now: Timestamp) -> Result<Timestamp, UntrustedClock> {
        trust(now, self.of(now))
    }

    fn after(&self, now: Timestamp, elapsed: Duration) -> Option<SignedDuration> {
        let mut origins: Vec<_> = self.origins.lock().iter().copied().collect();
        origins.sort_unstable();
        let median = *origins.get(origins.len() / 2)?;
        Some(now.duration_since(median).saturating_sub(SignedDuration::try_from(elapsed).ok()?))
    }
}

fn trust(now: Timestamp, skew: Option<SignedDuration>) -> Result<Timestamp, UntrustedClock> {
    match skew {
        None => Err(UntrustedClock::NotCompared),
        Some(skew) if skew.unsigned_abs() > TOLERANCE.unsigned_abs() => {
            // The text of a condition must not change with every second.
            Err(UntrustedClock::Skewed(skew.round(Unit::Minute).unwrap_or(skew)))
        }
        Some(_) => Ok(now),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).unwrap()
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// An hour after the server said that it is `at(0)`.
    fn an_hour_later(now: i64) -> Option<i64> {
        let skew = ClockSkew::default();
        skew.add_after(at(0), seconds(7));
        skew.after(at(now), seconds(7 + 3600)).map(|skew| skew.as_secs())
    }

    #[test]
    fn a_clock_that_goes_on_as_the_monotonic_one_does_is_right() {
        assert_eq!(an_hour_later(3600), Some(0));
        assert_eq!(an_hour_later(7200), Some(3600), "it was set forward in between");
        assert_eq!(an_hour_later(0), Some(-3600), "it was set back in between");
    }

    #[test]
    fn the_median_of_the_last_ten_answers_counts() {
        let skew = ClockSkew::default();
        assert_eq!(skew.after(at(0), seconds(0)), None);
        for answer in [0, 0, 0, 0, 0, 500, 500, 500, 500] {
            skew.add_after(at(answer), seconds(0));
        }
        assert_eq!(skew.after(at(0), seconds(0)).unwrap().as_secs(), 0);
        for _ in 0..3 {
            skew.add_after(at(500), seconds(0));
        }
        assert_eq!(skew.after(at(0), seconds(0)).unwrap().as_secs(), -500, "the first two have been dropped");
        assert_eq!(skew.origins.lock().len(), ANSWERS);
    }

    #[test]
    fn up_to_a_minute_is_trusted() {
        let secs = SignedDuration::from_secs;
        for (skew, expected) in [
            (None, Err(UntrustedClock::NotCompared)),
            (Some(secs(60)), Ok(at(0))),
            (Some(secs(-60)), Ok(at(0))),
            (Some(secs(61)), Err(UntrustedClock::Skewed(secs(60)))),
            (Some(secs(-61)), Err(UntrustedClock::Skewed(secs(-60)))),
        ] {
            assert_eq!(trust(at(0), skew), expected, "{skew:?}");
        }
    }

    #[test]
    fn the_text_says_which_clock_is_ahead() {
        let text = |seconds| UntrustedClock::Skewed(SignedDuration::from_secs(seconds)).to_string();
        assert!(text(7200).starts_with("the clock of this process is 2h ahead of that of the API server: "));
        assert!(text(-120).starts_with("the clock of this process is 2m behind that of the API server: "));
    }
}
