//! How long a cluster has been synced, which is the clock for absences. It stops while the watch fails, because nothing
//! is observed then.

use std::time::Duration;

use tokio::time::Instant;

#[derive(Debug, Default)]
pub(super) struct SyncedTime {
    before: Duration,
    since: Option<Instant>,
}

impl SyncedTime {
    /// Whether the cluster is followed from now on.
    pub fn is(&mut self, synced: bool) {
        match (self.since, synced) {
            (None, true) => self.since = Some(Instant::now()),
            (Some(since), false) => {
                self.before += since.elapsed();
                self.since = None;
            }
            _ => {}
        }
    }

    pub fn time(&self) -> Duration {
        self.before + self.since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_stands_still_while_the_watch_fails() {
        let mut synced = SyncedTime::default();
        let mut times = Vec::new();
        for is in [false, true, true, false, true] {
            synced.is(is);
            tokio::time::sleep(Duration::from_secs(10)).await;
            times.push(synced.time().as_secs());
        }
        assert_eq!(times, [0, 10, 20, 20, 30]);
    }
}
