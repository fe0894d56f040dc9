//! What we build upon: every package comes from crates.io under a licence that deny.toml allows. The same is checked by
//! cargo-deny, with advisories; this test needs no tool.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod house;

use std::collections::BTreeSet;

use cargo_metadata::MetadataCommand;

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// The texts in the first list called `name` in deny.toml.
fn list(name: &str) -> BTreeSet<String> {
    let text = house::text("deny.toml");
    let begin = format!("\n{name} = [");
    let rest = text.split(&begin).nth(1).unwrap_or_else(|| panic!("deny.toml: no list {name}"));
    let body = rest.split("\n]").next().unwrap();
    body.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Whether an SPDX expression can be fulfilled by the allowed licences. The old form `A/B` means `A OR B`.
fn fulfilled(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let (result, rest) = any_of(&words, allowed);
    assert!(rest.is_empty(), "{expression}: cannot be read");
    result
}

fn any_of<'a>(words: &'a [&'a str], allowed: &BTreeSet<String>) -> (bool, &'a [&'a str]) {
    let (mut result, mut rest) = all_of(words, allowed);
    while rest.first() == Some(&"OR") {
        let (next, after) = all_of(&rest[1..], allowed);
        (result, rest) = (result | next, after);
    }
    (result, rest)
}

fn all_of<'a>(words: &'a [&'a str], allowed: &BTreeSet<String>) -> (bool, &'a [&'a str]) {
    let (mut result, mut rest) = one(words, allowed);
    while rest.first() == Some(&"AND") {
        let (next, after) = one(&rest[1..], allowed);
        (result, rest) = (result & next, after);
    }
    (result, rest)
}

fn one<'a>(words: &'a [&'a str], allowed: &BTreeSet<String>) -> (bool, &'a [&'a str]) {
    match words {
        ["(", rest @ ..] => {
            let (result, rest) = any_of(rest, allowed);
            assert_eq!(rest.first(), Some(&")"));
            (result, &rest[1..])
        }
        [licence, "WITH", exception, rest @ ..] => (allowed.contains(&format!("{licence} WITH {exception}")), rest),
        [licence, rest @ ..] => (allowed.contains(*licence), rest),
        [] => panic!("a licence is missing"),
    }
}

#[test]
fn expressions_are_read_as_they_are_meant() {
    let allowed = BTreeSet::from(["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned));
    for good in ["MIT", "GPL-3.0 OR MIT", "MIT/GPL-3.0", "MIT AND (GPL-3.0 OR ISC)", "Apache-2.0 WITH LLVM-exception"] {
        assert!(fulfilled(good, &allowed), "{good}");
    }
    for bad in ["GPL-3.0", "MIT AND GPL-3.0", "Apache-2.0", "(GPL-3.0 OR Apache-2.0) AND MIT"] {
        assert!(!fulfilled(bad, &allowed), "{bad}");
    }
}

#[test]
fn all_packages_are_under_licences_that_are_allowed() {
    let allowed = list("allow");
    assert!(allowed.contains("Apache-2.0") && allowed.len() < 20, "{allowed:?}");
    let mut wrong = Vec::new();
    for package in house::metadata().packages {
        match &package.license {
            Some(licence) if fulfilled(licence, &allowed) => {}
            other => wrong.push(format!("{} {}: {other:?}", package.name, package.version)),
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn all_packages_come_from_crates_io_or_from_here() {
    let (metadata, root) = (house::metadata(), house::root());
    for package in metadata.packages {
        match &package.source {
            Some(source) => assert_eq!(source.repr, CRATES_IO, "{}", package.name),
            None => assert!(package.manifest_path.as_std_path().starts_with(&root), "{}", package.name),
        }
    }
}

#[test]
fn what_is_banned_is_not_there() {
    let banned: BTreeSet<String> = list("deny").into_iter().collect();
    assert!(banned.contains("openssl-sys"), "{banned:?}");
    let found: Vec<String> = house::metadata()
        .packages
        .iter()
        .map(|package| package.name.to_string())
        .filter(|name| banned.contains(name))
        .collect();
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn the_lock_file_of_fuzzing_is_up_to_date() {
    let manifest = house::root().join("fuzz/Cargo.toml");
    let described = MetadataCommand::new().manifest_path(manifest).other_options(["--locked".to_owned()]).exec();
    assert!(described.is_ok(), "run `cargo metadata` in fuzz/ and commit Cargo.lock: {}", described.unwrap_err());
}
