//! The conclusions of a campaign from the results of tests. A script replaces the test binary.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use berth_mutants::Error;
use berth_mutants::binaries::Built;
use berth_mutants::campaign::Campaign;
use berth_mutants::table::{Binary, Row, Test};

fn binary() -> Binary {
    Binary { package: "core".to_owned(), target: "script".to_owned() }
}

fn row(mutant: &str, tests: &[&str]) -> Row {
    let test = |name: &&str| Test { binary: binary(), name: (*name).to_owned() };
    Row { mutant: mutant.to_owned(), tests: tests.iter().map(test).collect() }
}

fn place() -> (PathBuf, Built) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    (here.join("../.."), [(binary(), here.join("tests/binary.sh"))].into())
}

#[test]
fn a_mutant_is_caught_when_every_test_that_is_named_for_it_fails() {
    let rows =
        [row("unit MB", &["watchful"]), row("unit MB", &["watchful", "good"]), row("zone ignored", &["watchful"])];
    let ((root, built), lines) = (place(), Mutex::new(Vec::new()));
    let reported = |line: &str| lines.lock().unwrap().push(line.to_owned());
    assert_eq!(Campaign { root: &root, rows: &rows, built: &built }.run(reported).unwrap(), 1);
    let lines = lines.into_inner().unwrap();
    let begins = |with: &str| lines.iter().filter(|line| line.starts_with(with)).count();
    assert_eq!((begins("caught"), begins("NOT CAUGHT")), (1, 2), "{lines:#?}");
    assert!(lines.iter().any(|line| line.trim() == "core script good says that all is well"), "{lines:#?}");
}

#[test]
fn a_test_that_fails_by_itself_or_is_not_there_ends_it_before_it_begins() {
    let (root, built) = place();
    let sound = |name: &str| {
        let rows = [row("unit MB", &["good", name])];
        Campaign { root: &root, rows: &rows, built: &built }.is_sound()
    };
    assert_eq!(sound("watchful").unwrap(), 2, "how many tests there are");
    for name in ["bad", "missing"] {
        assert!(matches!(sound(name), Err(Error::Unsound(test, _)) if test.name == name), "{name}");
    }
}
