//! Limits log lines that clients cause: one per key and minute, with the number of those that were left out.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

const PERIOD: Duration = Duration::from_secs(60);
/// Keys that are remembered. Without space for another one, it is not logged until others are a minute old.
const MOST_KEYS: usize = 4096;

/// When each key was last logged.
#[derive(Debug)]
pub struct LogLimit<K> {
    logged: BTreeMap<K, Logged>,
}

#[derive(Debug)]
struct Logged {
    at: Instant,
    left_out: u64,
}

impl<K: Ord> Default for LogLimit<K> {
    fn default() -> Self {
        Self { logged: BTreeMap::new() }
    }
}

impl<K: Ord> LogLimit<K> {
    /// Whether to log this now: if so, how many of the same key were left out since its last line.
    pub fn admit(&mut self, key: K, now: Instant) -> Option<u64> {
        if let Some(logged) = self.logged.get_mut(&key) {
            if now.saturating_duration_since(logged.at) < PERIOD {
                logged.left_out += 1;
                return None;
            }
        } else if self.logged.len() >= MOST_KEYS {
            self.logged.retain(|_, logged| now.saturating_duration_since(logged.at) < PERIOD);
            if self.logged.len() >= MOST_KEYS {
                return None;
            }
        }
        let before = self.logged.insert(key, Logged { at: now, left_out: 0 });
        Some(before.map_or(0, |before| before.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_is_logged_once_a_minute_with_the_number_of_those_between() {
        let (mut limit, start) = (LogLimit::default(), Instant::now());
        assert_eq!(limit.admit("a", start), Some(0));
        for second in 0..60 {
            assert_eq!(limit.admit("a", start + Duration::from_secs(second)), None);
        }
        assert_eq!(limit.admit("b", start), Some(0));
        assert_eq!(limit.admit("a", start + PERIOD), Some(60));
        assert_eq!(limit.admit("a", start + PERIOD * 2), Some(0));
    }

    #[test]
    fn the_number_of_keys_is_bounded() {
        let (mut limit, start) = (LogLimit::default(), Instant::now());
        for key in 0..MOST_KEYS {
            assert_eq!(limit.admit(key, start), Some(0));
        }
        assert_eq!(limit.admit(MOST_KEYS, start), None);
        assert_eq!(limit.logged.len(), MOST_KEYS);
        assert_eq!(limit.admit(MOST_KEYS, start + PERIOD), Some(0));
        assert_eq!(limit.logged.len(), 1);
    }
}
