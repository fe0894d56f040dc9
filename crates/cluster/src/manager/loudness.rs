//! How many lines a controller logs about failures. When something that all objects need does not answer, every reconciliation
//! fails; a few lines say that as well as thousands, and the state of a single object is in its condition and in the metrics.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::Class;

/// At most so many failures are logged ...
const LINES: u32 = 5;
/// ... in so much time.
const PERIOD: Duration = Duration::from_secs(10);
/// A decision on an old state is repeated at once; only when that happens again and again it is worth a line.
const CONFLICTS: u32 = 3;

#[derive(Default)]
pub(super) struct Loudness {
    logged: Mutex<Option<(Instant, u32)>>,
}

impl Loudness {
    /// Whether the `count`th failure in a row of a key is logged, one of this class.
    pub fn allows(&self, class: Class, count: u32) -> bool {
        (class != Class::Soon || count == CONFLICTS) && self.has_a_line_left()
    }

    fn has_a_line_left(&self) -> bool {
        let mut logged = self.logged.lock();
        let (since, lines) = logged.filter(|(since, _)| since.elapsed() < PERIOD).unwrap_or((Instant::now(), 0));
        *logged = Some((since, lines + 1));
        lines < LINES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn many_failures_are_logged_by_a_few_lines_per_period() {
        let loudness = Loudness::default();
        let logged = |n: usize| (0..n).filter(|_| loudness.allows(Class::Later, 1)).count();
        assert_eq!(logged(1000), 5);
        tokio::time::sleep(PERIOD).await;
        assert_eq!(logged(1000), 5);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stale_decision_is_logged_only_when_it_repeats() {
        let loudness = Loudness::default();
        let logged: Vec<_> = (1..=5).filter(|count| loudness.allows(Class::Soon, *count)).collect();
        assert_eq!(logged, [3]);
    }
}
