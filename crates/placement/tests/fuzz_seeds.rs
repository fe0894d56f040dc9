//! Runs the seeds of `make fuzz TARGET=placement_query`, `placement_body` and `placement_head`, and some thousand
//! mutations of them.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

#[path = "trials/placement_body.rs"]
mod body;
#[path = "../../../fuzz/changed.rs"]
mod changed;
#[path = "trials/placement_head.rs"]
mod head;
#[path = "api/in_memory.rs"]
mod in_memory;
#[path = "trials/placement_query.rs"]
mod query;
#[path = "trials/placement_world.rs"]
mod world;

use axum::http::StatusCode;
use proptest::prelude::*;

use changed::{changed, seeds};

#[test]
fn every_seed_of_queries_has_candidates_or_providers() {
    let seeds = seeds("placement_query");
    assert!(seeds.len() > 8);
    for seed in &seeds {
        let (candidates, providers) = query::query(seed);
        assert!(candidates + providers > 0, "{}", String::from_utf8_lossy(seed));
    }
}

#[test]
fn every_seed_of_bodies_is_done() {
    let seeds = seeds("placement_body");
    assert!(seeds.len() > 8);
    for seed in &seeds {
        let answers = body::body(seed);
        let done = answers.iter().all(StatusCode::is_success);
        assert!(done && !answers.is_empty(), "{answers:?} {}", String::from_utf8_lossy(seed));
    }
}

#[test]
fn every_seed_of_heads_is_answered() {
    let seeds = seeds("placement_head");
    assert!(seeds.len() > 5);
    for seed in &seeds {
        assert!(head::head(seed).is_some(), "{}", String::from_utf8_lossy(seed));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn changed_queries_are_answered_or_refused(input in changed("placement_query")) {
        query::query(&input);
    }

    #[test]
    fn changed_bodies_are_done_or_change_nothing(input in changed("placement_body")) {
        body::body(&input);
    }

    #[test]
    fn changed_heads_are_answered(input in changed("placement_head")) {
        head::head(&input);
    }
}
