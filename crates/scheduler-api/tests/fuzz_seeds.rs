//! Runs the seeds of `make fuzz TARGET=request`, and some thousand mutations of them.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

#[path = "../../../fuzz/changed.rs"]
mod changed;
#[path = "trials/request.rs"]
mod trial;

use berth_scheduler_api::wire;
use proptest::prelude::*;

use changed::{changed, seeds};

#[test]
fn every_seed_is_a_request() {
    let seeds = seeds("request");
    assert!(seeds.len() > 10);
    for seed in &seeds {
        wire::decode(seed).unwrap();
        trial::request(seed);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn changed_seeds_are_read_decided_and_answered_without_a_panic(body in changed("request")) {
        trial::request(&body);
    }
}
