//! The times at which requests to Limes begin: so many in a second, each a little earlier or later than due.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};

/// Numbers from 0 to `u32::MAX`.
pub type Jitter = Box<dyn FnMut() -> u32 + Send>;

/// Lets one request begin after the other. Those that wait begin in the order in which they came.
pub(crate) struct Pace {
    state: Mutex<State>,
    gap: Duration,
}

struct State {
    next: Option<Instant>,
    jitter: Jitter,
}

impl Pace {
    pub(crate) fn new(per_second: usize, jitter: Jitter) -> Self {
        let per_second = u32::try_from(per_second.max(1)).unwrap_or(u32::MAX);
        Self { state: Mutex::new(State { next: None, jitter }), gap: Duration::from_secs(1) / per_second }
    }

    pub(crate) async fn wait(&self) {
        let mut state = self.state.lock().await;
        if let Some(next) = state.next {
            sleep_until(next).await;
        }
        let share = f64::from((state.jitter)()) / f64::from(u32::MAX);
        state.next = Some(Instant::now() + self.gap.mul_f64(0.9 + 0.2 * share));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn starts(per_second: usize, jitter: Jitter, count: usize) -> Vec<Duration> {
        let (pace, began, mut starts) = (Pace::new(per_second, jitter), Instant::now(), Vec::new());
        for _ in 0..count {
            pace.wait().await;
            starts.push(began.elapsed());
        }
        starts
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_begins_45_to_55_ms_after_the_one_before() {
        let mut random = fastrand::Rng::with_seed(1);
        let starts = starts(20, Box::new(move || random.u32(..)), 200).await;
        assert_eq!(starts[0], Duration::ZERO);
        let gaps: Vec<_> = starts.windows(2).map(|pair| pair[1].saturating_sub(pair[0]).as_millis()).collect();
        assert!(gaps.iter().all(|gap| (45..=56).contains(gap)), "{gaps:?}");
        assert!(gaps.iter().any(|gap| *gap < 48) && gaps.iter().any(|gap| *gap > 52), "{gaps:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn the_rate_is_configured() {
        let starts = starts(2, Box::new(|| u32::MAX / 2), 5).await;
        assert!((1.9..2.1).contains(&starts[4].as_secs_f64()), "{starts:?}");
    }
}
