//! Bounds how often decisions are recorded: for each workload, and for all together. A client that repeats a request must not
//! fill the API server with objects and events.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

/// Decisions of one workload: so many at once, and later one in each interval.
const OF_ONE: Allowance = Allowance { at_once: 20, interval: Duration::from_secs(60) };
/// Decisions of all workloads together.
const OF_ALL: Allowance = Allowance { at_once: 2000, interval: Duration::from_millis(200) };
/// Workloads whose decisions are counted, at most: as many as can be recorded until the first one may have all at once again.
const MOST: usize = 9000;

/// A number of decisions that comes back one by one.
#[derive(Clone, Copy, Debug)]
struct Allowance {
    at_once: u32,
    interval: Duration,
}

/// When an allowance will be whole again.
#[derive(Clone, Copy, Debug)]
struct Spent {
    whole_at: Instant,
}

impl Spent {
    /// What is spent after one more, if there is one left.
    fn with_one_more(self, allowance: Allowance, now: Instant) -> Option<Self> {
        let whole_at = self.whole_at.max(now) + allowance.interval;
        (whole_at <= now + allowance.interval * allowance.at_once).then_some(Self { whole_at })
    }
}

/// The decisions that were recorded in the last time.
#[derive(Debug)]
pub(super) struct HistoryLimit {
    all: Spent,
    each: HashMap<String, Spent>,
}

impl HistoryLimit {
    pub(super) fn new(now: Instant) -> Self {
        Self { all: Spent { whole_at: now }, each: HashMap::new() }
    }

    /// Whether one more decision about the workload is recorded, which then counts.
    pub(super) fn admit(&mut self, workload: &str, now: Instant) -> bool {
        let spent = self.each.get(workload).copied().unwrap_or(Spent { whole_at: now });
        let (Some(one), Some(all)) = (spent.with_one_more(OF_ONE, now), self.all.with_one_more(OF_ALL, now)) else {
            return false;
        };
        if self.each.len() >= MOST && !self.each.contains_key(workload) {
            self.each.retain(|_, spent| spent.whole_at > now);
            if self.each.len() >= MOST {
                return false;
            }
        }
        self.each.insert(workload.to_owned(), one);
        self.all = all;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(limit: &mut HistoryLimit, workload: &str, tries: u32, now: Instant) -> u32 {
        (0..tries).map(|_| u32::from(limit.admit(workload, now))).sum()
    }

    #[test]
    fn a_workload_has_twenty_decisions_and_one_more_each_minute() {
        let now = Instant::now();
        let mut limit = HistoryLimit::new(now);
        assert_eq!(admitted(&mut limit, "vm", 1000, now), 20);
        assert_eq!(admitted(&mut limit, "other", 1000, now), 20, "each has its own");
        assert_eq!(admitted(&mut limit, "vm", 1000, now + Duration::from_secs(59)), 0);
        assert_eq!(admitted(&mut limit, "vm", 1000, now + Duration::from_secs(60)), 1);
        assert_eq!(admitted(&mut limit, "vm", 1000, now + Duration::from_secs(240)), 3);
        assert_eq!(admitted(&mut limit, "vm", 1000, now + Duration::from_secs(86_400)), 20);
    }

    #[test]
    fn all_workloads_together_have_two_thousand_and_five_more_each_second() {
        let now = Instant::now();
        let mut limit = HistoryLimit::new(now);
        let flood = |limit: &mut HistoryLimit, prefix: &str, now| {
            (0..3000).filter(|number| limit.admit(&format!("{prefix}-{number}"), now)).count()
        };
        assert_eq!(flood(&mut limit, "a", now), 2000);
        assert_eq!(flood(&mut limit, "b", now + Duration::from_secs(10)), 50);
        assert!(!limit.admit("vm", now + Duration::from_secs(10)), "what is refused does not count");
        assert_eq!(admitted(&mut limit, "vm", 30, now + Duration::from_secs(20)), 20);
    }

    #[test]
    fn a_flood_of_new_workloads_is_counted_in_bounded_memory() {
        let begin = Instant::now();
        let mut limit = HistoryLimit::new(begin);
        let mut recorded = 0;
        for second in 0..7200 {
            let now = begin + Duration::from_secs(second);
            recorded += (0..20).filter(|number| limit.admit(&format!("{second}-{number}"), now)).count();
            assert!(limit.each.len() <= MOST);
        }
        assert!((37_000..=38_000).contains(&recorded), "{recorded}");
    }
}
