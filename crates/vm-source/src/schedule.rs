//! When the tables are read: a function of what happened before and of what is known.

use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

/// How often the tables are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Intervals {
    /// Least time from the begin of a complete read to the begin of the next one.
    pub least: Duration,
    /// Most time between them.
    pub most: Duration,
    /// Least time between two reads of single servers.
    pub rows: Duration,
}

fn seconds(least: u64, most: u64, rows: u64) -> Intervals {
    Intervals { least: Duration::from_secs(least), most: Duration::from_secs(most), rows: Duration::from_secs(rows) }
}

impl Default for Intervals {
    fn default() -> Self {
        seconds(30, 600, 10)
    }
}

impl Intervals {
    /// For a file: nothing says when it has changed, and reading it is cheap.
    pub fn of_file() -> Self {
        seconds(2, 2, 2)
    }
}

const FIRST_RETRY: Duration = Duration::from_secs(1);
const LAST_RETRY: Duration = Duration::from_secs(30);

/// What is known at the moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Known {
    /// When the tables were last copied.
    pub last_synced: Option<Timestamp>,
    /// Hosts list VMs that are not in the snapshot, or may do so.
    pub lacks_vms: bool,
}

/// The next thing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    ReadAll,
    ReadRows,
    WaitUntil(Instant),
}

/// What happened before.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    intervals: Intervals,
    /// The begin of the last complete read, and `last_synced` at that time.
    last_read: Option<(Instant, Option<Timestamp>)>,
    last_rows: Option<Instant>,
    /// After a failure. Nothing else is read until then.
    retry_at: Option<Instant>,
    failures: u32,
}

impl Schedule {
    pub fn new(intervals: Intervals) -> Self {
        Self { intervals, last_read: None, last_rows: None, retry_at: None, failures: 0 }
    }

    pub fn next(&self, now: Instant, known: Known) -> Next {
        let read_all = self.read_all_at(now, known.last_synced);
        if read_all <= now {
            return Next::ReadAll;
        }
        match self.read_rows_at(now, known) {
            Some(read_rows) if read_rows <= now => Next::ReadRows,
            Some(read_rows) => Next::WaitUntil(read_rows.min(read_all)),
            None => Next::WaitUntil(read_all),
        }
    }

    fn read_all_at(&self, now: Instant, last_synced: Option<Timestamp>) -> Instant {
        let Intervals { least, most, .. } = self.intervals;
        match (self.retry_at, self.last_read) {
            (Some(retry_at), _) => retry_at,
            (None, Some((began, synced))) => began + if synced == last_synced { most } else { least },
            (None, None) => now,
        }
    }

    fn read_rows_at(&self, now: Instant, known: Known) -> Option<Instant> {
        let may_read = known.lacks_vms && self.retry_at.is_none() && self.last_read.is_some();
        may_read.then(|| self.last_rows.map_or(now, |last| last + self.intervals.rows))
    }

    /// A complete read begins.
    pub fn begin_read(&mut self, now: Instant, last_synced: Option<Timestamp>) {
        self.last_read = Some((now, last_synced));
    }

    /// A read of single servers begins.
    pub fn begin_rows(&mut self, now: Instant) {
        self.last_rows = Some(now);
    }

    pub fn succeed(&mut self) {
        (self.retry_at, self.failures) = (None, 0);
    }

    /// The reason of the failures may be gone.
    pub fn retry_soon(&mut self) {
        self.retry_at = self.last_read.map(|(began, _)| began + self.intervals.least);
    }

    /// The read has failed. One that has asked the tables is not repeated sooner than a successful one.
    pub fn fail(&mut self, now: Instant, has_queried: bool) {
        let delay = FIRST_RETRY.saturating_mul(1 << self.failures.min(6)).min(LAST_RETRY);
        self.failures = self.failures.saturating_add(1);
        let earliest = self.last_read.filter(|_| has_queried).map(|(began, _)| began + self.intervals.least);
        let retry_at = now + delay;
        self.retry_at = Some(earliest.map_or(retry_at, |earliest| earliest.max(retry_at)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(start: Instant, seconds: u64) -> Instant {
        start + Duration::from_secs(seconds)
    }

    fn synced(second: i64) -> Known {
        Known { last_synced: Timestamp::from_second(second).ok(), lacks_vms: false }
    }

    fn read_at(second: i64) -> (Schedule, Instant) {
        let (mut schedule, start) = (Schedule::new(Intervals::default()), Instant::now());
        assert_eq!(schedule.next(start, synced(second)), Next::ReadAll);
        schedule.begin_read(start, synced(second).last_synced);
        schedule.succeed();
        (schedule, start)
    }

    #[test]
    fn unchanged_tables_are_read_every_ten_minutes() {
        let (schedule, start) = read_at(1);
        assert_eq!(schedule.next(start, synced(1)), Next::WaitUntil(after(start, 600)));
        assert_eq!(schedule.next(after(start, 600), synced(1)), Next::ReadAll);
    }

    #[test]
    fn copied_tables_are_read_at_once_but_every_30_seconds_at_most() {
        let (schedule, start) = read_at(1);
        assert_eq!(schedule.next(after(start, 5), synced(2)), Next::WaitUntil(after(start, 30)));
        assert_eq!(schedule.next(after(start, 45), synced(2)), Next::ReadAll);
        assert_eq!(schedule.next(after(start, 45), Known::default()), Next::ReadAll, "the time is gone");
    }

    #[test]
    fn lacking_vms_are_read_every_10_seconds_at_most() {
        let (mut schedule, start) = read_at(1);
        let lacking = Known { lacks_vms: true, ..synced(1) };
        assert_eq!(schedule.next(start, lacking), Next::ReadRows);
        schedule.begin_rows(start);
        assert_eq!(schedule.next(after(start, 1), lacking), Next::WaitUntil(after(start, 10)));
        assert_eq!(schedule.next(after(start, 10), lacking), Next::ReadRows);
        assert_eq!(schedule.next(after(start, 10), synced(1)), Next::WaitUntil(after(start, 600)));
        assert_eq!(schedule.next(after(start, 600), lacking), Next::ReadAll, "a complete read has them all");
        let unread = Schedule::new(Intervals::default());
        assert_eq!(unread.next(start, lacking), Next::ReadAll);
    }

    #[test]
    fn failures_back_off_and_nothing_is_read_meanwhile() {
        let (mut schedule, start) = read_at(1);
        let lacking = Known { lacks_vms: true, ..synced(2) };
        for (failure, delay) in [1, 2, 4, 8, 16, 30, 30].into_iter().enumerate() {
            schedule.fail(start, false);
            assert_eq!(schedule.next(start, lacking), Next::WaitUntil(after(start, delay)), "failure {failure}");
        }
        schedule.succeed();
        schedule.fail(start, false);
        assert_eq!(schedule.next(start, lacking), Next::WaitUntil(after(start, 1)));
    }

    #[test]
    fn a_failing_query_is_not_repeated_sooner_than_one_that_succeeds() {
        let (mut schedule, start) = read_at(1);
        schedule.fail(after(start, 2), true);
        assert_eq!(schedule.next(after(start, 2), synced(2)), Next::WaitUntil(after(start, 30)));
        schedule.fail(after(start, 31), true);
        assert_eq!(schedule.next(after(start, 31), synced(2)), Next::WaitUntil(after(start, 33)));
    }
}
