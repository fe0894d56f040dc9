//! Runs the seeds of `make fuzz TARGET=liquid_body`, and some hundred mutations of them.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

#[path = "trials/bodies.rs"]
mod bodies;
#[path = "trials/liquid_body.rs"]
mod body;
#[path = "../../../fuzz/changed.rs"]
mod changed;
mod support;

use axum::http::StatusCode;
use proptest::prelude::*;

use changed::{changed, seeds};

#[test]
fn every_seed_of_bodies_is_answered() {
    let seeds = seeds("liquid_body");
    assert!(seeds.len() > 5);
    for seed in &seeds {
        let answers = body::change(seed);
        let answered = answers.iter().all(|status| *status == StatusCode::OK);
        assert!(answered && !answers.is_empty(), "{answers:?} {}", String::from_utf8_lossy(seed));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn changed_bodies_are_answered_or_refused(input in changed("liquid_body")) {
        body::change(&input);
    }
}
