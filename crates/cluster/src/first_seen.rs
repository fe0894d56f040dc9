//! Tracks since when a condition has held for each of many keys, as far as this process has observed it. After a
//! restart the time starts again.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// A reading of a clock.
pub trait Reading: Copy {
    /// The time from an earlier reading to this one.
    fn since(self, earlier: Self) -> Duration;
}

impl Reading for Instant {
    fn since(self, earlier: Self) -> Duration {
        self.saturating_duration_since(earlier)
    }
}

/// A clock that stops at times, such as [`crate::CompleteStore::synced_time`].
impl Reading for Duration {
    fn since(self, earlier: Self) -> Duration {
        self.saturating_sub(earlier)
    }
}

/// The keys for which a condition holds, with the reading of the clock when it was first seen. Callers also remove the
/// keys that they add, so the map stays as small as its subject.
#[derive(Debug)]
pub struct FirstSeen<K, T = Instant> {
    since: Mutex<BTreeMap<K, T>>,
}

impl<K, T> Default for FirstSeen<K, T> {
    fn default() -> Self {
        Self { since: Mutex::default() }
    }
}

impl<K: Ord + Clone, T: Reading> FirstSeen<K, T> {
    /// The condition holds now; for how long it has held.
    pub fn note(&self, key: &K, now: T) -> Duration {
        now.since(*self.since.lock().entry(key.clone()).or_insert(now))
    }

    /// For how long it has held, if it does.
    pub fn held_for(&self, key: &K, now: T) -> Option<Duration> {
        self.since.lock().get(key).map(|since| now.since(*since))
    }

    /// It holds from now on, whatever was before; whether it held before.
    pub fn restart(&self, key: &K, now: T) -> bool {
        self.since.lock().insert(key.clone(), now).is_some()
    }

    /// It does not hold any more; whether it did.
    pub fn forget(&self, key: &K) -> bool {
        self.since.lock().remove(key).is_some()
    }

    /// It does not hold any more for keys that do not pass.
    pub fn retain(&self, passes: impl Fn(&K) -> bool) {
        self.since.lock().retain(|key, _| passes(key));
    }

    pub fn keys(&self) -> Vec<K> {
        self.since.lock().keys().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_counts_from_the_first_notice_until_it_is_forgotten() {
        let (missing, at) = (FirstSeen::default(), Duration::from_secs);
        assert_eq!(missing.note(&"h", at(100)), at(0));
        assert_eq!(missing.note(&"h", at(130)), at(30));
        assert_eq!(missing.held_for(&"h", at(140)), Some(at(40)));
        assert_eq!(missing.keys(), ["h"]);
        assert!(missing.forget(&"h") && !missing.forget(&"h"));
        assert_eq!(missing.held_for(&"h", at(150)), None);
        assert_eq!(missing.note(&"h", at(150)), at(0));
    }

    #[test]
    fn a_restart_reports_whether_it_held_before() {
        let (reported, at) = (FirstSeen::default(), Duration::from_secs);
        assert!(!reported.restart(&1, at(10)));
        assert!(reported.restart(&1, at(20)));
        assert_eq!(reported.held_for(&1, at(25)), Some(at(5)));
        reported.retain(|key| *key != 1);
        assert_eq!(reported.keys(), [0; 0]);
    }

    #[tokio::test(start_paused = true)]
    async fn instants_are_readings_too() {
        let seen = FirstSeen::default();
        seen.note(&"h", Instant::now());
        tokio::time::sleep(Duration::from_secs(30)).await;
        assert_eq!(seen.note(&"h", Instant::now()), Duration::from_secs(30));
    }
}
