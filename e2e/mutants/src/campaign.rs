//! All mutants, one after the other, two at a time. It decides that a mutant is caught when every test that the table
//! names has failed; a test that would have failed anyway, or that does not exist, ends the campaign before it begins.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use crate::Error;
use crate::binaries::Built;
use crate::table::{Binary, Row, Test};
use crate::trial::{self, Outcome, Said};

/// Mutants that are tried at the same time.
const AT_ONCE: usize = 2;

/// The workspace, its table, and the binaries of tests.
pub struct Campaign<'a> {
    /// The folder of the workspace that the binaries were built from.
    pub root: &'a Path,
    /// The table.
    pub rows: &'a [Row],
    /// Where the binaries lie.
    pub built: &'a Built,
}

impl Campaign<'_> {
    /// Checks that every test passes without a mutant; gives how many there are.
    pub fn is_sound(&self) -> Result<usize, Error> {
        let tests: BTreeSet<&Test> = self.rows.iter().flat_map(|row| &row.tests).collect();
        let outcomes = self.said(tests.iter().copied(), None)?;
        match tests.iter().find(|test| outcomes.get(**test) != Some(&Said::Passed)) {
            Some(test) => Err(Error::Unsound((*test).clone(), words(outcomes.get(*test)))),
            None => Ok(tests.len()),
        }
    }

    /// Tries all mutants; tells of each as soon as it is known, and gives how many were caught.
    pub fn run(&self, told: impl Fn(&str) + Sync) -> Result<usize, Error> {
        let next = AtomicUsize::new(0);
        let results = Mutex::new(Vec::new());
        let work = || {
            while let Some(row) = self.rows.get(next.fetch_add(1, Ordering::Relaxed)) {
                let tried = self.try_one(row, &told);
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

    fn try_one(&self, row: &Row, told: &(impl Fn(&str) + Sync)) -> Result<bool, Error> {
        let begin = Instant::now();
        let outcomes = self.said(&row.tests, Some(&row.mutant))?;
        let blind: Vec<_> = row.tests.iter().filter(|test| outcomes.get(*test) != Some(&Said::Failed)).collect();
        let (name, took) = (&row.mutant, begin.elapsed().as_secs_f64());
        if blind.is_empty() {
            told(&format!("caught      {name}: {} failed, {took:.1} s", count(row.tests.len())));
        } else {
            told(&format!("NOT CAUGHT  {name}: {} of {} failed", row.tests.len() - blind.len(), row.tests.len()));
        }
        for test in &blind {
            told(&format!("            {test} says {}", words(outcomes.get(*test))));
        }
        Ok(blind.is_empty())
    }

    /// What these tests say.
    fn said<'t>(
        &self,
        tests: impl IntoIterator<Item = &'t Test>,
        mutant: Option<&str>,
    ) -> Result<BTreeMap<Test, Said>, Error> {
        let mut by_binary: BTreeMap<&Binary, Vec<&str>> = BTreeMap::new();
        for test in tests {
            by_binary.entry(&test.binary).or_default().push(&test.name);
        }
        let mut all = BTreeMap::new();
        for (binary, names) in by_binary {
            let outcome = self.outcome(binary, &names, mutant)?;
            all.extend(outcome.into_iter().map(|(name, said)| (Test { binary: binary.clone(), name }, said)));
        }
        Ok(all)
    }

    fn outcome(&self, binary: &Binary, tests: &[&str], mutant: Option<&str>) -> Result<Outcome, Error> {
        let path = self.built.get(binary).ok_or_else(|| Error::NoBinary(binary.to_string()))?;
        let folder: PathBuf = self.root.join("crates").join(&binary.package);
        trial::run(path, &folder, tests, mutant)
    }
}

fn words(said: Option<&Said>) -> &'static str {
    match said {
        Some(Said::Passed) => "that all is well",
        Some(Said::Failed) => "that something is wrong",
        None => "nothing: it does not exist, or does not end",
    }
}

fn count(tests: usize) -> String {
    if tests == 1 { "1 test".to_owned() } else { format!("{tests} tests") }
}
