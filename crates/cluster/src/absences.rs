//! What is missing, and for how long: counted on the time in which one could look (U36, U49). While nobody can look nobody
//! knows whether it is missing, and a restart begins anew, because nobody watched in between.

use std::{collections::BTreeMap, time::Duration};

use parking_lot::Mutex;

/// Things that are missing, with the reading on the clock when that was first noticed.
#[derive(Debug)]
pub struct Absences<K> {
    noticed: Mutex<BTreeMap<K, Duration>>,
}

impl<K> Default for Absences<K> {
    fn default() -> Self {
        Self { noticed: Mutex::default() }
    }
}

impl<K: Ord + Clone> Absences<K> {
    /// It is missing now; for how long it has been. `clock` is the time in which its cluster was followed.
    pub fn missing(&self, what: &K, clock: Duration) -> Duration {
        clock.saturating_sub(*self.noticed.lock().entry(what.clone()).or_insert(clock))
    }

    /// It is there, or nobody asks for it any more.
    pub fn over(&self, what: &K) {
        self.noticed.lock().remove(what);
    }

    /// What was noticed and is not over, ascending.
    pub fn all(&self) -> Vec<K> {
        self.noticed.lock().keys().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absence_counts_from_the_first_notice_until_it_is_over() {
        let (absences, seconds) = (Absences::default(), Duration::from_secs);
        assert_eq!(absences.missing(&"h", seconds(100)), seconds(0));
        assert_eq!(absences.missing(&"h", seconds(130)), seconds(30));
        assert_eq!(absences.all(), ["h"]);
        absences.over(&"h");
        assert_eq!(absences.missing(&"h", seconds(140)), seconds(0));
    }
}
