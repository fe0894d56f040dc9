//! Runs the seeds of `make fuzz TARGET=token_answer`, and some thousand mutations of them.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

#[path = "../../../fuzz/changed.rs"]
mod changed;
#[path = "trials/token_answer.rs"]
mod trial;

use proptest::prelude::*;

use changed::{changed, seeds};

#[test]
fn every_seed_is_a_valid_token() {
    let seeds = seeds("token_answer");
    assert!(seeds.len() > 3);
    for seed in &seeds {
        assert!(trial::token(seed), "{}", String::from_utf8_lossy(seed));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn changed_answers_are_refused_or_read_as_they_are(input in changed("token_answer")) {
        trial::token(&input);
    }
}
