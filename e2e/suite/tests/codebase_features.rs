//! `make run` and `make test` use the same features of every third-party package, so that nothing is built twice.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod codebase;

use std::collections::BTreeSet;
use std::process::Command;

const RUN: &str = "-p berth -p berth-demo -p berth-control-plane";

/// Each third-party package with its features, as this selection of our packages builds it.
fn features(edges: &str, selection: &str) -> BTreeSet<String> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["tree", "--locked", "--prefix", "none", "--edges", edges, "--format", "{p} [{f}]"]);
    let output = cargo.args(selection.split(' ')).current_dir(codebase::root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    let others = lines.lines().filter(|line| !line.is_empty() && !line.contains("(/"));
    others.map(|line| line.trim_end_matches(" (*)").replace(" (proc-macro)", "")).collect()
}

#[test]
fn make_run_asks_no_features_of_a_package_that_make_test_does_not_ask() {
    let (run, test) = (features("normal,build", RUN), features("normal,build,dev", "--workspace"));
    assert!(run.len() > 200, "{}", run.len());
    assert_eq!(run.difference(&test).collect::<Vec<_>>(), Vec::<&String>::new(), "add them to e2e/demo/Cargo.toml");
}

#[test]
fn make_run_builds_everything_at_once() {
    let makefile = codebase::text("Makefile");
    let run = makefile.split("\nrun: ").nth(1).unwrap().split("\n\n").next().unwrap();
    assert!(run.contains(&format!("build --locked {RUN}\n")), "{run}");
}
