//! Decides which violations count. Stores of several kinds are not read at one instant, so a violation must be seen
//! twice, and one of an invariant at rest must last.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use berth_invariants::{Invariant, Key, Violation};

/// A violation of an invariant of rest counts when it has been the same for longer than this.
const REST: Duration = Duration::from_secs(300);

/// The violations that were seen at the last check.
#[derive(Debug, Default)]
pub(super) struct OpenViolations {
    known: BTreeMap<(Invariant, Key), OpenViolation>,
}

#[derive(Debug)]
struct OpenViolation {
    text: String,
    since: Duration,
    counted: bool,
}

/// The changes since the previous check.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ViolationChanges {
    pub(super) started: Vec<Violation>,
    pub(super) ended: Vec<Violation>,
}

impl OpenViolations {
    /// A check at `now` has found this. A violation counts once, from the check on that finds it for the second time with
    /// the same text, one of rest when it has read the same for longer than [`REST`].
    pub(super) fn check(&mut self, now: Duration, always: Vec<Violation>, at_rest: Vec<Violation>) -> ViolationChanges {
        let found: BTreeSet<_> = always.iter().chain(&at_rest).map(identity).collect();
        let (staying, gone) = std::mem::take(&mut self.known).into_iter().partition(|(key, _)| found.contains(key));
        self.known = staying;
        let started = always.into_iter().filter(|one| self.counts(now, one, Duration::ZERO)).collect::<Vec<_>>();
        let rested = at_rest.into_iter().filter(|one| self.counts(now, one, REST)).collect::<Vec<_>>();
        ViolationChanges { started: started.into_iter().chain(rested).collect(), ended: list_ended(gone) }
    }

    /// A check was skipped: violations that do not count yet must again be seen twice.
    pub(super) fn interrupted(&mut self) {
        self.known.retain(|_, known| known.counted);
    }

    /// Whether a violation that was found begins to count.
    fn counts(&mut self, now: Duration, violation: &Violation, after: Duration) -> bool {
        let fresh = OpenViolation { text: violation.text.clone(), since: now, counted: false };
        let known = self.known.entry(identity(violation)).or_insert(fresh);
        if known.counted {
            known.text.clone_from(&violation.text);
            return false;
        }
        if known.text != violation.text {
            known.text.clone_from(&violation.text);
            known.since = now;
        }
        known.counted = now.saturating_sub(known.since) > after;
        known.counted
    }
}

fn identity(violation: &Violation) -> (Invariant, Key) {
    (violation.invariant, violation.object.clone())
}

fn list_ended(gone: BTreeMap<(Invariant, Key), OpenViolation>) -> Vec<Violation> {
    let counted = gone.into_iter().filter(|(_, known)| known.counted);
    counted.map(|((invariant, object), known)| Violation { invariant, object, text: known.text }).collect()
}

#[cfg(test)]
mod tests {
    use berth_core::ClusterName;

    use super::*;

    fn violation(invariant: Invariant, name: &str, text: &str) -> Violation {
        Violation { invariant, object: Key::new(ClusterName::home(), name), text: text.to_owned() }
    }

    fn overbooked(text: &str) -> Vec<Violation> {
        vec![violation(Invariant::HostOverbooked, "node1", text)]
    }

    fn wrong_sum(text: &str) -> Vec<Violation> {
        vec![violation(Invariant::SlotSum, "commitment-a", text)]
    }

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn none() -> Vec<Violation> {
        Vec::new()
    }

    #[test]
    fn a_violation_counts_when_it_is_seen_twice_and_then_once() {
        let mut standing = OpenViolations::default();
        assert_eq!(standing.check(at(0), overbooked("a"), none()), ViolationChanges::default());
        assert_eq!(standing.check(at(10), overbooked("a"), none()).started, overbooked("a"));
        assert_eq!(standing.check(at(20), overbooked("a"), none()), ViolationChanges::default());
        assert_eq!(
            standing.check(at(30), overbooked("worse"), none()),
            ViolationChanges::default(),
            "it has begun already"
        );
        let over = standing.check(at(40), none(), none());
        assert_eq!(over, ViolationChanges { started: none(), ended: overbooked("worse") });
        assert_eq!(standing.check(at(50), none(), none()), ViolationChanges::default());
    }

    #[test]
    fn what_is_seen_once_is_never_reported() {
        let mut standing = OpenViolations::default();
        standing.check(at(0), overbooked("a"), none());
        assert_eq!(standing.check(at(10), none(), none()), ViolationChanges::default());
        assert_eq!(standing.check(at(20), overbooked("a"), none()), ViolationChanges::default(), "not in succession");
    }

    #[test]
    fn what_reads_differently_has_to_be_seen_twice_anew() {
        let mut standing = OpenViolations::default();
        standing.check(at(0), overbooked("a"), none());
        assert_eq!(standing.check(at(10), overbooked("b"), none()), ViolationChanges::default());
        assert_eq!(standing.check(at(20), overbooked("b"), none()).started.len(), 1);
    }

    #[test]
    fn a_violation_of_rest_counts_when_nothing_has_changed_for_long() {
        let mut standing = OpenViolations::default();
        for second in (0..=300).step_by(10) {
            assert_eq!(standing.check(at(second), none(), wrong_sum("1 MiB")), ViolationChanges::default(), "{second}");
        }
        assert_eq!(standing.check(at(310), none(), wrong_sum("1 MiB")).started, wrong_sum("1 MiB"));
        assert_eq!(standing.check(at(320), none(), none()).ended, wrong_sum("1 MiB"));
    }

    #[test]
    fn a_sum_that_changes_is_not_at_rest() {
        let mut standing = OpenViolations::default();
        for second in (0..=1200).step_by(10) {
            let text = format!("{} slots", second / 200);
            assert_eq!(standing.check(at(second), none(), wrong_sum(&text)), ViolationChanges::default(), "{second}");
        }
    }

    #[test]
    fn a_check_that_is_left_out_begins_the_time_anew_and_forgets_nothing_that_counted() {
        let mut standing = OpenViolations::default();
        standing.check(at(0), overbooked("a"), wrong_sum("1 MiB"));
        standing.interrupted();
        assert_eq!(standing.check(at(400), overbooked("a"), wrong_sum("1 MiB")), ViolationChanges::default());
        assert_eq!(standing.check(at(410), overbooked("a"), wrong_sum("1 MiB")).started, overbooked("a"));
        standing.interrupted();
        assert_eq!(standing.check(at(500), overbooked("a"), none()), ViolationChanges::default());
        assert_eq!(standing.check(at(510), none(), none()).ended, overbooked("a"));
    }
}
