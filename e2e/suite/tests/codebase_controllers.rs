//! The structure of controllers: one module runs them, each declares its watches, and each watched kind is listed once.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod codebase;

use std::collections::BTreeMap;
use std::path::PathBuf;

/// The production sources below `crates/`, without their unit tests, by path.
fn production() -> BTreeMap<String, String> {
    let is_rust = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "rs");
    let paths = codebase::files("crates").into_iter().filter(is_rust).map(|path| path.to_str().unwrap().to_owned());
    let is_production = |path: &String| {
        let is_test = path.starts_with("crates/testkit/") || path.contains("/tests/") || path.ends_with("/tests.rs");
        path.contains("/src/") && !is_test
    };
    let without_tests = |path: &str| {
        let text = codebase::text(path);
        text.split("#[cfg(test)]\nmod ").next().unwrap_or_default().to_owned()
    };
    paths.filter(is_production).map(|path| (path.clone(), without_tests(&path))).collect()
}

/// The places of these texts in the code, besides the allowed files.
fn elsewhere(sources: &BTreeMap<String, String>, texts: &[&str], allowed: &[&str]) -> Vec<String> {
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    let mut found = Vec::new();
    for (path, text) in sources.iter().filter(|(path, _)| !allowed.contains(&path.as_str())) {
        let lines = text.lines().filter(is_code).filter(|line| texts.iter().any(|text| line.contains(text)));
        found.extend(lines.map(|line| format!("{path}: {}", line.trim())));
    }
    found
}

#[test]
fn the_controller_of_kube_is_run_in_one_module() {
    let sources = production();
    let (module, calls) = ("crates/cluster/src/manager/kube_queue.rs", ["for_stream_with", "kube_runtime::controller"]);
    assert_eq!(elsewhere(&sources, &calls, &[module]), [""; 0]);
    assert_eq!(
        elsewhere(&sources, &["runtime::{controller", "runtime::Controller", "runtime::controller"], &[module]),
        [""; 0]
    );
    let text = &sources[module];
    for call in ["Controller::for_stream_with(", ".graceful_shutdown_on(", ".run(run, "] {
        assert_eq!(text.matches(call).count(), 1, "{call} in {module}");
    }
}

/// What several reconcilers watch in the same way.
const SHARED: &str = "crates/projects/src/watches.rs";

/// A reconciler is in the crate, and in the directory or the file beside the directory, of its `watches.rs`.
#[test]
fn mapping_functions_are_declared_beside_their_reconcilers_only() {
    let sources = production();
    let is_reconciler = |text: &String| text.contains("Reconciler for ");
    let declares = |text: &String| {
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        code.filter(|line| {
            ["watches.changes(", "watches.resynced(", "watches.stream("].iter().any(|call| line.contains(call))
        })
        .count()
            > 0
    };
    let is_elsewhere = |path: &str| !path.starts_with("crates/cluster/") && path != SHARED;
    let mut wrong = Vec::new();
    for (path, text) in sources.iter().filter(|(path, text)| declares(text) && is_elsewhere(path)) {
        let (folder, file) = path.rsplit_once('/').unwrap();
        let beside = format!("{folder}.rs");
        let is_beside_one = sources.iter().any(|(other, text)| {
            let in_folder = other.rsplit_once('/').is_some_and(|(other_folder, _)| other_folder == folder);
            is_reconciler(text) && (in_folder || *other == beside)
        });
        let is_declared_beside = file == "watches.rs" && is_beside_one;
        if !is_declared_beside && !is_reconciler(text) {
            wrong.push(path.clone());
        }
    }
    assert_eq!(wrong, [""; 0], "watches are declared in `watches.rs` beside the reconciler, or in its own file");
    let enqueue = [".on_requests(", ".on_resynced("];
    assert_eq!(elsewhere(&sources, &enqueue, &["crates/cluster/src/manager/watches.rs"]), [""; 0]);
    let reconcilers = sources.values().filter(|text| is_reconciler(text)).count();
    assert!(reconcilers >= 6, "{reconcilers} reconcilers: the test does not find them all");
}

#[test]
fn kinds_that_are_watched_are_listed_once() {
    let sources = production();
    let set = "crates/cluster/src/stores.rs";
    let of_watch = "crates/cluster/src/watch.rs";
    let calls = ["feed(", "feed_optional(", ".relist()", ".wait_until_synced()"];
    // A single object is followed by its name, and is no kind.
    let is_single = |line: &String| line.contains("map.feed(");
    let is_watch = |line: &String| !line.contains("fn ") && !line.contains(".stores.feed(") && !is_single(line);
    let mut wrong = elsewhere(&sources, &calls, &[set, of_watch, "crates/cluster/src/store.rs"]);
    wrong.retain(is_watch);
    assert_eq!(wrong, [""; 0], "operations on all kinds go through the set in {set}");
    // Writers without a watch have their own store, which stays empty.
    let empty = ["crates/cluster/src/write.rs", "crates/berth/src/wiring/nova.rs"];
    let mut stores =
        elsewhere(&sources, &["Store::new("], &[&[set, "crates/cluster/src/testing.rs"], &empty[..]].concat());
    stores.retain(|line| !line.contains("CompleteStore::new("));
    assert_eq!(stores, [""; 0], "the set in {set} creates stores");
    let kinds = sources[set].matches("watch: \"the watch of ").count();
    assert!(kinds >= 6, "{kinds} kinds: the test does not find them all");
}

/// The controllers that plan.
const PLANNING: [&str; 5] = [
    "committed-resource/src",
    "committed-resource/src/orphans",
    "reservation/src",
    "reservation/src/in_flight",
    "reservation/src/oversubscription",
];

#[test]
fn every_controller_has_the_same_files_and_is_made_of_one_context() {
    for folder in PLANNING {
        for file in ["reconcile", "watches", "read", "plan", "apply"] {
            let path = format!("crates/{folder}/{file}.rs");
            assert!(codebase::root().join(&path).is_file(), "{path} is missing");
        }
        let text = codebase::text(&format!("crates/{folder}/reconcile.rs"));
        assert!(text.contains("pub struct Context"), "{folder}");
        assert!(text.contains("pub fn new(context: Context"), "{folder}");
    }
}
