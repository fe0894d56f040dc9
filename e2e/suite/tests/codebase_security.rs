//! Every row of the threat model in SECURITY.md names tests that exist, or says which command proves it.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod codebase;

use regex::Regex;

const PAGE: &str = "SECURITY.md";
const HEAD: &str = "| Threat | What stops it | Test |";

/// The last cells of the rows.
fn proofs(page: &str) -> Vec<String> {
    let (_, rows) = page.split_once(HEAD).expect("the threat model has no table");
    let rows = rows.trim_start().lines().skip(1).take_while(|line| line.starts_with('|'));
    rows.map(|line| line.trim_end_matches(['|', ' ']).rsplit('|').next().unwrap().trim().to_owned()).collect()
}

/// The tests that a cell names, each with its file.
fn named(cell: &str) -> Vec<(String, String)> {
    let groups = Regex::new(r"((?:`[a-z0-9_]+`(?:, )?)+) \(([^)]+)\)").unwrap();
    let name = Regex::new(r"`([a-z0-9_]+)`").unwrap();
    let tests = groups.captures_iter(cell).flat_map(|group| {
        let file = group[2].to_owned();
        let names: Vec<String> = name.captures_iter(&group[1]).map(|found| found[1].to_owned()).collect();
        names.into_iter().map(move |name| (name, file.clone()))
    });
    tests.collect()
}

fn missing(cells: &[String]) -> Vec<String> {
    let mut missing = Vec::new();
    for cell in cells {
        let tests = named(cell);
        if tests.is_empty() && !cell.starts_with("none: `make ") {
            missing.push(format!("no test is named in: {cell}"));
        }
        let is_missing = |(name, file): &(String, String)| !codebase::text(file).contains(&format!("fn {name}("));
        missing.extend(tests.into_iter().filter(is_missing).map(|(name, file)| format!("{name} is not in {file}")));
    }
    missing
}

#[test]
fn every_threat_has_a_test_that_exists() {
    let cells = proofs(&codebase::text(PAGE));
    assert!(cells.len() > 15, "{cells:?}");
    assert_eq!(missing(&cells), Vec::<String>::new());
}

#[test]
fn a_row_without_a_test_is_found() {
    let cells = ["someday".to_owned(), "`no_such_test` (crates/core/src/text.rs)".to_owned()];
    assert_eq!(missing(&cells), ["no test is named in: someday", "no_such_test is not in crates/core/src/text.rs"]);
}
