//! Runs all mutants, two at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use crate::Error;
use crate::binaries::Built;
use crate::table::{Binary, Row, Test};
use crate::trial::{self, Outcome, TestOutcome};

/// The number of concurrent mutants.
const AT_ONCE: usize = 2;

/// The workspace, its table, and the test binaries.
pub struct Campaign<'a> {
    /// The directory of the workspace that the binaries were built from.
    pub root: &'a Path,
    pub rows: &'a [Row],
    pub built: &'a Built,
}

impl Campaign<'_> {
    /// Checks that every test passes without a mutant; returns their number.
    pub fn is_sound(&self) -> Result<usize, Error> {
        let tests: BTreeSet<&Test> = self.rows.iter().flat_map(|row| &row.tests).collect();
        let outcomes = self.run_patch(tests.iter().copied(), None)?;
        match tests.iter().find(|test| outcomes.get(**test) != Some(&TestOutcome::Passed)) {
            Some(test) => Err(Error::Unsound((*test).clone(), describe(outcomes.get(*test)))),
            None => Ok(tests.len()),
        }
    }

    /// Runs all mutants; reports each as soon as its result is known, and returns how many were caught.
    pub fn run(&self, reported: impl Fn(&str) + Sync) -> Result<usize, Error> {
        let next = AtomicUsize::new(0);
        let results = Mutex::new(Vec::new());
        let work = || {
            while let Some(row) = self.rows.get(next.fetch_add(1, Ordering::Relaxed)) {
                let tried = self.try_one(row, &reported);
                results.lock().unwrap_or_else(PoisonError::into_inner).push(tried);
            }
        };
        thread::scope(|scope| {
            for _ in 0..AT_ONCE {
                scope.spawn(work);
            }
        });
        let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        let caught = results.into_iter().collect::<Result<Vec<bool>, Error>>()?;
        Ok(caught.into_iter().filter(|caught| *caught).count())
    }

    fn try_one(&self, row: &Row, reported: &(impl Fn(&str) + Sync)) -> Result<bool, Error> {
        let begin = Instant::now();
        let outcomes = self.run_patch(&row.tests, Some(&row.mutant))?;
        let blind: Vec<_> = row.tests.iter().filter(|test| outcomes.get(*test) != Some(&TestOutcome::Failed)).collect();
        let (name, took) = (&row.mutant, begin.elapsed().as_secs_f64());
        if blind.is_empty() {
            reported(&format!("caught      {name}: {} failed, {took:.1} s", count(row.tests.len())));
        } else {
            reported(&format!("NOT CAUGHT  {name}: {} of {} failed", row.tests.len() - blind.len(), row.tests.len()));
        }
        for test in &blind {
            reported(&format!("            {test} says {}", describe(outcomes.get(*test))));
        }
        Ok(blind.is_empty())
    }

    fn run_patch<'t>(
        &self,
        tests: impl IntoIterator<Item = &'t Test>,
        mutant: Option<&str>,
    ) -> Result<BTreeMap<Test, TestOutcome>, Error> {
        let mut by_binary: BTreeMap<&Binary, Vec<&str>> = BTreeMap::new();
        for test in tests {
            by_binary.entry(&test.binary).or_default().push(&test.name);
        }
        let mut all = BTreeMap::new();
        for (binary, names) in by_binary {
            let outcome = self.outcome(binary, &names, mutant)?;
            all.extend(outcome.into_iter().map(|(name, reported)| (Test { binary: binary.clone(), name }, reported)));
        }
        Ok(all)
    }

    fn outcome(&self, binary: &Binary, tests: &[&str], mutant: Option<&str>) -> Result<Outcome, Error> {
        let path = self.built.get(binary).ok_or_else(|| Error::NoBinary(binary.to_string()))?;
        let folder: PathBuf = self.root.join("crates").join(&binary.package);
        trial::run(path, &folder, tests, mutant)
    }
}

fn describe(reported: Option<&TestOutcome>) -> &'static str {
    match reported {
        Some(TestOutcome::Passed) => "that all is well",
        Some(TestOutcome::Failed) => "that something is wrong",
        None => "nothing: it does not exist, or does not end",
    }
}

fn count(tests: usize) -> String {
    if tests == 1 { "1 test".to_owned() } else { format!("{tests} tests") }
}
