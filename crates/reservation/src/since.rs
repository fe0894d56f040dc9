//! Since when something is so, on the monotonic clock, from when this process first noticed. A restart begins anew,
//! because nobody watched in between (U36).

use std::{collections::BTreeMap, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;

/// What is so, and since when. Whoever notes something also forgets it, so the map stays as small as its subject.
#[derive(Debug)]
pub(crate) struct Since<K> {
    noticed: Mutex<BTreeMap<K, Instant>>,
}

impl<K> Default for Since<K> {
    fn default() -> Self {
        Self { noticed: Mutex::default() }
    }
}

impl<K: Ord + Clone> Since<K> {
    /// It is so now; for how long it has been.
    pub(crate) fn noticed(&self, key: &K) -> Duration {
        self.noticed.lock().entry(key.clone()).or_insert_with(Instant::now).elapsed()
    }

    /// For how long it has been, if it is.
    pub(crate) fn so_for(&self, key: &K) -> Option<Duration> {
        self.noticed.lock().get(key).map(Instant::elapsed)
    }

    /// It is so from now on, whatever was before.
    pub(crate) fn begin(&self, key: &K) {
        self.noticed.lock().insert(key.clone(), Instant::now());
    }

    /// What does not pass is not so any more.
    pub(crate) fn retain(&self, passes: impl Fn(&K) -> bool) {
        self.noticed.lock().retain(|key, _| passes(key));
    }

    /// It is not so any more; whether it was.
    pub(crate) fn forget(&self, key: &K) -> bool {
        self.noticed.lock().remove(key).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn time_counts_from_the_first_notice_until_it_is_forgotten() {
        let missing = Since::default();
        assert_eq!(missing.noticed(&"h"), Duration::ZERO);
        tokio::time::sleep(Duration::from_secs(30)).await;
        assert_eq!(missing.noticed(&"h"), Duration::from_secs(30));
        assert_eq!(missing.so_for(&"h"), Some(Duration::from_secs(30)));
        missing.begin(&"h");
        assert_eq!(missing.so_for(&"h"), Some(Duration::ZERO));
        assert!(missing.forget(&"h") && !missing.forget(&"h"));
        assert_eq!(missing.so_for(&"h"), None);
        assert_eq!(missing.noticed(&"h"), Duration::ZERO);
    }
}
