//! Runs the seeds of `make fuzz TARGET=limes_body`, and some hundred mutations of them.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

#[path = "trials/limes_body.rs"]
mod body;
#[path = "../../../fuzz/changed.rs"]
mod changed;

use proptest::prelude::*;

use changed::{changed, seeds};

#[test]
fn every_seed_is_read_and_some_have_usable_commitments() {
    let read: Vec<_> = seeds("limes_body").iter().map(|seed| body::read(seed)).collect();
    assert!(read.len() > 4 && read.iter().all(Option::is_some), "{read:?}");
    assert!(read.iter().flatten().sum::<usize>() > 4, "{read:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn changed_answers_never_panic(input in changed("limes_body")) {
        body::read(&input);
    }
}
