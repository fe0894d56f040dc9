//! The table of mutants in docs/testing.md says the truth: it has all of them, each is asked about at one line of the
//! code, and the tests that it names exist. That they fail is what `make mutants` shows.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod house;

use std::path::Path;

use berth_core::mutants::Mutant;
use berth_mutants::table::{Row, Test, rows};

fn table() -> Vec<Row> {
    rows(&house::text("docs/testing.md")).unwrap()
}

/// The texts of the sources below a folder.
fn sources(folder: &str) -> Vec<String> {
    let files = house::files(folder).into_iter();
    let sources = files.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    sources.map(|path| house::text(path.to_str().unwrap())).collect()
}

#[test]
fn the_table_has_every_mutant_once_in_order() {
    let named: Vec<_> = table().iter().map(|row| row.mutant.name()).collect();
    assert_eq!(named, Mutant::ALL.iter().map(|mutant| mutant.name()).collect::<Vec<_>>());
}

#[test]
fn every_mutant_is_asked_about_at_one_line_of_the_code() {
    let all = sources("crates").concat();
    let asked = |mutant: &Mutant| all.matches(&format!("Mutant::{mutant:?}.is_on()")).count();
    let wrong: Vec<_> = Mutant::ALL.iter().filter(|mutant| asked(mutant) != 1).collect();
    assert_eq!(wrong, Vec::<&Mutant>::new());
}

/// The tests of a binary, in whichever files they are.
fn tests_of(test: &Test) -> Vec<String> {
    let package = format!("crates/{}", test.binary.package);
    match test.binary.target.as_str() {
        "lib" => sources(&format!("{package}/src")),
        target if Path::new(&house::root()).join(format!("{package}/tests/{target}.rs")).exists() => {
            vec![house::text(&format!("{package}/tests/{target}.rs"))]
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

/// Every other build has to be free of them; that is checked where the question is answered, when it is compiled.
#[test]
fn nothing_but_their_own_command_builds_with_mutants() {
    let switch = "--cfg mutants";
    let places = ["Makefile", "hack/test.sh", "hack/setup.sh", ".ci/run", "Cargo.toml"];
    let wrong: Vec<_> = places.into_iter().filter(|path| house::text(path).contains(switch)).collect();
    assert_eq!(wrong, [""; 0]);
    assert!(house::text("hack/rustc-mutants.sh").contains(switch));
}
