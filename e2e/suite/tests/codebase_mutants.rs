//! Checks the table of mutants in docs/testing.md: it has all of them, each is a patch that applies to the current
//! sources, and its tests exist. `make mutants` checks that they fail.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod codebase;

use std::path::Path;

use berth_mutants::patches;
use berth_mutants::table::{Row, Test, rows};

fn table() -> Vec<Row> {
    rows(&codebase::text("docs/testing.md")).unwrap()
}

/// The texts of the sources below a folder.
fn sources(folder: &str) -> Vec<String> {
    let files = codebase::files(folder).into_iter();
    let sources = files.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    sources.map(|path| codebase::text(path.to_str().unwrap())).collect()
}

#[test]
fn the_table_has_every_mutant_once_in_order() {
    let named: Vec<_> = table().into_iter().map(|row| row.mutant).collect();
    let patches = patches::all(&codebase::root()).unwrap();
    assert_eq!(named, patches.into_iter().filter_map(|patch| patch.name).collect::<Vec<_>>());
}

#[test]
fn every_patch_applies_and_asks_for_its_own_mutant() {
    let patches = patches::all(&codebase::root()).unwrap();
    let changed: String = patches::apply(&codebase::root(), &patches).unwrap().into_values().collect();
    let asked = |name: &String| changed.matches(&format!("mutants::is_on(\"{name}\")")).count();
    let wrong: Vec<_> =
        patches.iter().filter_map(|patch| patch.name.as_ref()).filter(|name| asked(name) != 1).collect();
    assert_eq!(wrong, Vec::<&String>::new());
}

/// The tests of a binary, in all its files.
fn tests_of(test: &Test) -> Vec<String> {
    let package = format!("crates/{}", test.binary.package);
    match test.binary.target.as_str() {
        "lib" => sources(&format!("{package}/src")),
        target if Path::new(&codebase::root()).join(format!("{package}/tests/{target}.rs")).exists() => {
            vec![codebase::text(&format!("{package}/tests/{target}.rs"))]
        }
        target => sources(&format!("{package}/tests/{target}")),
    }
}

#[test]
fn every_test_of_the_table_exists() {
    let exists = |test: &Test| {
        let head = format!("fn {}(", test.name.rsplit("::").next().unwrap());
        tests_of(test).iter().any(|text| text.contains(&head))
    };
    let missing: Vec<_> = table().into_iter().flat_map(|row| row.tests).filter(|test| !exists(test)).collect();
    assert_eq!(missing, Vec::<Test>::new());
}

#[test]
fn the_sources_that_are_shipped_have_no_mutants() {
    let wrong =
        sources("crates").into_iter().filter(|text| text.contains("BERTH_MUTANT") || text.contains("mutants::"));
    assert_eq!(wrong.count(), 0);
}
