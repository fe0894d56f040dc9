//! The window of the disruption limit: which slots of a zone were disturbed within the last ten minutes, and whether
//! more may be. A pure function of requests and times.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::ObjectKey;

pub(super) const LENGTH: Duration = Duration::from_secs(600);

/// The disturbances of one zone. Times are readings of a monotonic clock.
#[derive(Debug, Default)]
pub(super) struct Window {
    disturbed: BTreeMap<ObjectKey, Duration>,
}

impl Window {
    /// Lets a plan disrupt `slots`, or returns how many slots would be disrupted within the window: more than `limit`,
    /// and counted only until that was certain. `demand` are the slots that the same cause would disrupt next: a plan
    /// that would exceed the limit in the end does not begin. A slot counts once, so that a plan may be repeated.
    pub(super) fn ask(
        &mut self,
        slots: &[ObjectKey],
        demand: impl IntoIterator<Item = ObjectKey>,
        limit: usize,
        now: Duration,
    ) -> Result<(), usize> {
        self.disturbed.retain(|_, at| now.saturating_sub(*at) < LENGTH);
        let mut more = BTreeSet::new();
        for slot in slots.iter().cloned().chain(demand) {
            if !self.disturbed.contains_key(&slot) {
                more.insert(slot);
            }
            let count = self.disturbed.len() + more.len();
            if count > limit {
                return Err(count);
            }
        }
        self.disturbed.extend(slots.iter().map(|slot| (slot.clone(), now)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use berth_core::ClusterName;

    use super::*;

    fn slots(numbers: std::ops::Range<u32>) -> Vec<ObjectKey> {
        numbers.map(|number| ObjectKey::new(ClusterName::home(), format!("s{number:05}"))).collect()
    }

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn the_sum_of_plans_within_ten_minutes_may_reach_the_limit_and_not_more() {
        let mut window = Window::default();
        assert_eq!(window.ask(&slots(0..12), [], 20, at(0)), Ok(()));
        assert_eq!(window.ask(&slots(12..20), [], 20, at(60)), Ok(()));
        assert_eq!(window.ask(&slots(20..21), [], 20, at(599)), Err(21));
        assert_eq!(window.ask(&slots(20..21), [], 20, at(600)), Ok(()), "the first twelve have left the window");
        assert_eq!(window.ask(&slots(21..33), [], 20, at(659)), Err(21), "eight of the second plan are still in it");
        assert_eq!(window.ask(&slots(21..33), [], 20, at(660)), Ok(()));
    }

    #[test]
    fn nothing_begins_that_would_be_too_much_in_the_end() {
        let mut window = Window::default();
        assert_eq!(window.ask(&slots(0..1), slots(0..5000), 20, at(0)), Err(21), "counted no further");
        assert_eq!(window.ask(&slots(0..1), slots(0..20), 20, at(0)), Ok(()));
        assert_eq!(window.ask(&slots(1..2), slots(0..20), 20, at(1)), Ok(()), "each needs its own check");
        assert_eq!(window.ask(&slots(50..52), slots(0..19), 20, at(1)), Err(21));
    }

    #[test]
    fn a_plan_that_stopped_leaves_no_trace_and_one_that_is_repeated_counts_once() {
        let mut window = Window::default();
        assert_eq!(window.ask(&slots(0..30), [], 20, at(0)), Err(21));
        assert_eq!(window.ask(&slots(0..20), [], 20, at(1)), Ok(()));
        assert_eq!(window.ask(&slots(0..20), [], 20, at(300)), Ok(()));
        assert_eq!(window.ask(&slots(20..21), [], 20, at(601)), Err(21), "a repeated disruption counts from then on");
    }

    #[test]
    fn a_limit_of_zero_always_stops() {
        assert_eq!(Window::default().ask(&slots(0..1), [], 0, at(0)), Err(1));
        assert_eq!(Window::default().ask(&[], [], 0, at(0)), Ok(()));
    }
}
