//! Runs the seeds of `make fuzz TARGET=quantity` and `TARGET=capacity_body`, and some thousand mutations of them.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]
#![allow(clippy::disallowed_methods, reason = "the seeds are files")]

#[path = "trials/capacity_body.rs"]
mod capacity_body;
#[path = "../../../fuzz/changed.rs"]
mod changed;
#[path = "trials/quantity.rs"]
mod trial;

use berth_core::Quantity;
use proptest::prelude::*;

use changed::{changed, seeds};

#[test]
fn every_seed_is_a_quantity() {
    let seeds = seeds("quantity");
    assert!(seeds.len() > 10);
    for seed in &seeds {
        Quantity::parse(std::str::from_utf8(seed).unwrap()).unwrap();
        trial::quantity(seed);
    }
}

#[test]
fn every_seed_of_a_capacity_request_is_one() {
    let zones: Vec<usize> = seeds("capacity_body").iter().map(|seed| capacity_body::report(seed).unwrap()).collect();
    assert_eq!(zones.iter().sum::<usize>(), 2 + 3, "{zones:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn changed_seeds_are_read_rounded_and_written(text in changed("quantity")) {
        trial::quantity(&text);
    }

    #[test]
    fn changed_capacity_requests_are_refused_or_reported(body in changed("capacity_body")) {
        capacity_body::report(&body);
    }

    #[test]
    fn all_numbers_are_written_and_scaled(bytes in proptest::collection::vec(any::<u8>(), 24)) {
        trial::quantity(&bytes);
    }

    #[test]
    fn texts_that_reconciliation_like_quantities_are_read_rounded_and_written(
        text in "[-+]?[0-9]{0,20}(\\.[0-9]{0,20})?([numkMGTPE]|[KMGTPE]i|[eE][-+]?[0-9]{1,3})?"
    ) {
        trial::quantity(text.as_bytes());
    }
}
