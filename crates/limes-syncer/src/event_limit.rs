//! How many events about created commitments a run publishes.

use parking_lot::Mutex;
use tokio::time::Instant;

/// More would take the places of other events in the queue, and the first run may create tens of thousands of commitments.
const MOST: usize = 100;

/// The events of the newest run.
#[derive(Debug, Default)]
pub(crate) struct EventLimit(Mutex<Option<(Instant, usize)>>);

impl EventLimit {
    /// Whether one more event about the run that began then is published.
    pub(crate) fn allows_another(&self, run: Instant) -> bool {
        let mut last = self.0.lock();
        let published = last.filter(|(began, _)| *began == run).map_or(0, |(_, published)| published);
        *last = Some((run, published + 1));
        published < MOST
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn each_run_has_a_hundred() {
        let (limit, first) = (EventLimit::default(), Instant::now());
        let published = |run| (0..150).filter(|_| limit.allows_another(run)).count();
        assert_eq!((published(first), published(first)), (100, 0));
        assert_eq!(published(first + Duration::from_secs(60)), 100);
    }
}
