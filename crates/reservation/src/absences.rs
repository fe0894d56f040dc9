//! Which hosts are missing, and for how long: counted on the time in which the hosts could be read (U36). While they cannot
//! be read nobody knows whether one is missing, and a restart begins anew, because nobody watched in between.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use berth_core::HostName;

/// Hosts that are missing, with the reading on the clock when that was first noticed.
#[derive(Debug, Default)]
pub(crate) struct Absences {
    noticed: Mutex<BTreeMap<HostName, Duration>>,
}

impl Absences {
    /// The host is missing now; for how long it has been. `clock` is the time in which its cluster was followed.
    pub(crate) fn missing(&self, host: &HostName, clock: Duration) -> Duration {
        clock.saturating_sub(*self.lock().entry(host.clone()).or_insert(clock))
    }

    /// The host is there, or nobody asks for it any more.
    pub(crate) fn over(&self, host: &HostName) {
        self.lock().remove(host);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<HostName, Duration>> {
        self.noticed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absence_counts_from_the_first_notice_until_it_is_over() {
        let (absences, host, seconds) = (Absences::default(), HostName::from("h"), Duration::from_secs);
        assert_eq!(absences.missing(&host, seconds(100)), seconds(0));
        assert_eq!(absences.missing(&host, seconds(130)), seconds(30));
        absences.over(&host);
        assert_eq!(absences.missing(&host, seconds(140)), seconds(0));
    }
}
