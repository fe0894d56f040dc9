//! How long a cluster has been followed: the clock by which an absence is timed. It stands still while the watch does not
//! get through, because nobody looked then.

use std::time::Duration;

use tokio::time::Instant;

#[derive(Debug, Default)]
pub(super) struct Followed {
    before: Duration,
    since: Option<Instant>,
}

impl Followed {
    /// Whether the cluster is followed from now on.
    pub fn is(&mut self, followed: bool) {
        match (self.since, followed) {
            (None, true) => self.since = Some(Instant::now()),
            (Some(since), false) => {
                self.before += since.elapsed();
                self.since = None;
            }
            _ => {}
        }
    }

    /// So long in all.
    pub fn time(&self) -> Duration {
        self.before + self.since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_stands_still_while_nobody_looks() {
        let mut followed = Followed::default();
        let mut times = Vec::new();
        for is in [false, true, true, false, true] {
            followed.is(is);
            tokio::time::sleep(Duration::from_secs(10)).await;
            times.push(followed.time().as_secs());
        }
        assert_eq!(times, [0, 10, 20, 20, 30]);
    }
}
