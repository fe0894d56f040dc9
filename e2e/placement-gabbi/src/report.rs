//! The evaluation of all results: totals, failures, and whether everything is as required.

use std::fmt;

use crate::contradictions::Contradictions;
use crate::description::Description;
use crate::worker::{Outcome, Tested};

/// The results of a run, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The number of tests in the files that were run.
    pub expected: usize,
    pub passed: usize,
    /// The number of tests that skipped themselves.
    pub skipped: usize,
    /// The unexpected failures.
    pub failed: Vec<Tested>,
    /// The expected failures, with their reasons.
    pub contradicting: Vec<(Tested, String)>,
    /// The tests that should have failed and passed.
    pub stale: Vec<Tested>,
}

impl Report {
    /// Evaluates the results of the tests of these files.
    pub fn new(suite: &Description, tested: Vec<Tested>, contradictions: &Contradictions) -> Self {
        let mut report = Self {
            expected: suite.tests(),
            passed: 0,
            skipped: 0,
            failed: Vec::new(),
            contradicting: Vec::new(),
            stale: Vec::new(),
        };
        for test in tested {
            report.add(test, contradictions);
        }
        report
    }

    fn add(&mut self, test: Tested, contradictions: &Contradictions) {
        let reason = contradictions.reason(&test.file, &test.test);
        match (test.outcome, reason) {
            (Outcome::Passed, None) => self.passed += 1,
            (Outcome::Passed, Some(_)) => {
                self.passed += 1;
                self.stale.push(test);
            }
            (Outcome::Failed, None) => self.failed.push(test),
            (Outcome::Failed, Some(reason)) => {
                let reason = reason.to_owned();
                self.contradicting.push((test, reason));
            }
            (Outcome::Skipped, _) => self.skipped += 1,
        }
    }

    /// Whether every test was run, with the required result.
    pub fn is_good(&self) -> bool {
        let complete = self.passed + self.contradicting.len() == self.expected;
        complete && self.failed.is_empty() && self.stale.is_empty()
    }

    /// Every unexpected failure, with the request, the answer, and the expected answer.
    pub fn failures(&self) -> String {
        let failures = self.failed.iter().map(|test| format!("== {}: {}\n{}\n\n", test.file, test.test, test.detail));
        failures.collect::<Vec<_>>().concat()
    }
}

/// The totals, after lines for the listed tests.
impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (test, reason) in &self.contradicting {
            writeln!(formatter, "fails as listed: {}: {}: {reason}", test.file, test.test)?;
        }
        for test in &self.stale {
            writeln!(formatter, "passes, but is in contradictions.txt; remove it there: {}: {}", test.file, test.test)?;
        }
        let failed = self.failed.len() + self.contradicting.len();
        write!(formatter, "{} passed, {failed} failed, {} skipped of {}", self.passed, self.skipped, self.expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contradictions::tests::listed;
    use crate::description::File;

    fn suite(tests: &[&str]) -> Description {
        let tests = tests.iter().map(|&test| test.to_owned()).collect();
        let file = File { name: "file".to_owned(), fixture: "APIFixture".to_owned(), tests };
        Description { files: vec![file], rules: Vec::new() }
    }

    fn tested(test: &str, outcome: Outcome) -> Tested {
        Tested { file: "file".to_owned(), test: test.to_owned(), outcome, detail: "detail".to_owned() }
    }

    fn report(outcomes: &[(&str, Outcome)], contradictions: &str) -> Report {
        let names: Vec<&str> = outcomes.iter().map(|(test, _)| *test).collect();
        let tests = outcomes.iter().map(|(test, outcome)| tested(test, *outcome)).collect();
        Report::new(&suite(&names), tests, &listed(contradictions))
    }

    #[test]
    fn all_passed_is_good() {
        let report = report(&[("one", Outcome::Passed), ("two", Outcome::Passed)], "");
        assert!(report.is_good());
        assert_eq!(report.to_string(), "2 passed, 0 failed, 0 skipped of 2");
    }

    #[test]
    fn a_failure_and_a_skipped_test_are_not_good() {
        let failed = report(&[("one", Outcome::Failed), ("two", Outcome::Passed)], "");
        assert!(!failed.is_good());
        assert_eq!(failed.to_string(), "1 passed, 1 failed, 0 skipped of 2");
        assert_eq!(failed.failures(), "== file: one\ndetail\n\n");
        assert!(!report(&[("one", Outcome::Skipped)], "").is_good());
    }

    #[test]
    fn a_test_that_was_not_run_is_not_good() {
        let report = Report::new(&suite(&["one", "two"]), vec![tested("one", Outcome::Passed)], &listed(""));
        assert!(!report.is_good());
        assert_eq!(report.to_string(), "1 passed, 0 failed, 0 skipped of 2");
    }

    #[test]
    fn a_listed_test_must_fail() {
        let contradictions = "file | one | known: so it is decided";
        let good = report(&[("one", Outcome::Failed), ("two", Outcome::Passed)], contradictions);
        assert!(good.is_good());
        assert!(good.to_string().contains("fails as listed: file: one: known"), "{good}");

        let stale = report(&[("one", Outcome::Passed), ("two", Outcome::Passed)], contradictions);
        assert!(!stale.is_good());
        assert!(stale.to_string().contains("remove it there: file: one"), "{stale}");
    }
}
