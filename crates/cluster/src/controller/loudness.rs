//! How much a controller says about failures. When something that all objects need does not answer, every look fails; a
//! few lines tell that as well as thousands, and what a single object is in is in its condition and in the metrics.

use std::{sync::Mutex, time::Duration};

use tokio::time::Instant;

use crate::{Class, lock::lock};

/// At most so many failures are told ...
const LINES: u32 = 5;
/// ... in so much time.
const PERIOD: Duration = Duration::from_secs(10);
/// A decision on old facts is taken anew at once; only when that happens again and again it is worth a line.
const STALE_LOOKS: u32 = 3;

#[derive(Default)]
pub(super) struct Loudness {
    told: Mutex<Option<(Instant, u32)>>,
}

impl Loudness {
    /// Whether the `count`th failure in a row of an object is told, one of this class.
    pub fn tells(&self, class: Class, count: u32) -> bool {
        (class != Class::Soon || count == STALE_LOOKS) && self.has_a_line_left()
    }

    fn has_a_line_left(&self) -> bool {
        let mut told = lock(&self.told);
        let (since, lines) = told.filter(|(since, _)| since.elapsed() < PERIOD).unwrap_or((Instant::now(), 0));
        *told = Some((since, lines + 1));
        lines < LINES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn many_failures_are_told_by_a_few_lines_per_period() {
        let loudness = Loudness::default();
        let told = |n: usize| (0..n).filter(|_| loudness.tells(Class::Later, 1)).count();
        assert_eq!(told(1000), 5);
        tokio::time::sleep(PERIOD).await;
        assert_eq!(told(1000), 5);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stale_decision_is_told_only_when_it_repeats() {
        let loudness = Loudness::default();
        let told: Vec<_> = (1..=5).filter(|count| loudness.tells(Class::Soon, *count)).collect();
        assert_eq!(told, [3]);
    }
}
