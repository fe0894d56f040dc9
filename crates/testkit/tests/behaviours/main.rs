//! Checks that the double of the API server behaves like the real one: one list of behaviours runs on both, with the
//! same answers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::similar_names, missing_docs, reason = "tests")]

mod answer;
mod built_in;
mod context;
mod deletions;
mod discovery;
mod patches;
mod reads;
mod rules;
mod servers;
mod watches;
mod writes;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use futures::future::LocalBoxFuture;

use context::Context;
use servers::{Double, Real, Special};

/// One behaviour of an API server.
pub struct Behaviour {
    name: &'static str,
    run: fn(Context) -> LocalBoxFuture<'static, ()>,
}

/// The behaviours of a file, each an async function of its name.
macro_rules! behaviours {
    ($($name:ident),* $(,)?) => {
        pub const ALL: &[$crate::Behaviour] =
            &[$($crate::Behaviour { name: stringify!($name), run: |context| Box::pin($name(context)) }),*];
    };
}
pub(crate) use behaviours;

fn all() -> Vec<&'static Behaviour> {
    let files = [
        reads::ALL,
        writes::ALL,
        patches::ALL,
        deletions::ALL,
        rules::ALL,
        watches::ALL,
        built_in::ALL,
        discovery::ALL,
    ];
    files.into_iter().flatten().collect()
}

/// The result of one behaviour on one server: its answers in short, and whether all were as expected.
struct Checked {
    name: &'static str,
    answers: Vec<String>,
    failed: Option<String>,
}

async fn check(server: impl Special + Clone + 'static) -> Vec<Checked> {
    let mut checked = Vec::new();
    for Behaviour { name, run } in all() {
        let context = Context::new(server.client(), Box::new(server.clone()));
        context.clear().await;
        let ended = AssertUnwindSafe(run(context.clone())).catch_unwind().await;
        let failed =
            ended.err().map(|panic| panic.downcast_ref::<String>().cloned().unwrap_or_else(|| "it failed".to_owned()));
        checked.push(Checked { name, answers: context.answers(), failed });
    }
    checked
}

fn on_the_double() -> Vec<Checked> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async { check(Double::start()).await })
}

fn on_the_real_server() -> Vec<Checked> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async { check(Real::start().await).await })
}

fn failures(server: &str, checked: &[Checked]) -> Vec<String> {
    let failed = checked.iter().filter_map(|one| one.failed.as_ref().map(|why| (one.name, why)));
    failed.map(|(name, why)| format!("{name} on {server}: {why}")).collect()
}

fn differences(double: &Checked, real: &Checked) -> Option<String> {
    let (left, right) = (double.answers.join("\n    "), real.answers.join("\n    "));
    (left != right).then(|| format!("{}:\n  the double:\n    {left}\n  the real server:\n    {right}", double.name))
}

#[test]
fn the_double_behaves_like_the_real_server() {
    let double = on_the_double();
    let real = on_the_real_server();
    let mut problems = [failures("the double", &double), failures("the real server", &real)].concat();
    let names = |checked: &[Checked]| checked.iter().map(|one| one.name).collect::<Vec<_>>();
    assert_eq!(names(&double), names(&real), "both servers got the same requests");
    problems.extend(double.iter().zip(&real).filter_map(|(double, real)| differences(double, real)));
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
    assert!(double.iter().all(|one| !one.answers.is_empty()), "every behaviour makes requests");
    // Printed past the capture of the test harness, so that the number shows in every run.
    std::io::stderr().write_all(format!("{} behaviours checked on both\n", real.len()).as_bytes()).unwrap();
}

#[test]
fn two_runs_of_all_behaviours_make_the_same_calls() {
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let double = Double::start();
            check(double.clone()).await;
            double.server.calls()
        })
    };
    let (first, second) = (run(), run());
    assert!(first.len() > 300, "{}", first.len());
    assert_eq!(first, second);
}

#[test]
fn the_document_lists_every_behaviour() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/testing.md");
    let text = std::fs::read_to_string(path).unwrap();
    let reported = |name: &&str| name.replace('_', " ");
    let names: Vec<_> = all().iter().map(|one| one.name).collect();
    assert!(names.len() >= 60, "{}", names.len());
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "each once");
    let listed: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("- ")).map(str::to_owned).collect();
    let wanted: Vec<_> = names.iter().map(reported).collect();
    let missing: Vec<_> = wanted.iter().filter(|name| !listed.contains(name)).collect();
    assert!(
        missing.is_empty(),
        "docs/testing.md lacks:\n- {}",
        missing.iter().map(|s| s.as_str()).collect::<Vec<_>>().join("\n- ")
    );
    let section = text.split("### What is checked").nth(1).and_then(|rest| rest.split("\n### ").next()).unwrap();
    let stated = section.lines().filter(|line| line.starts_with("- ")).count();
    assert_eq!(stated, wanted.len(), "docs/testing.md lists a behaviour that is not checked");
}
