//! Runs the seeds of `make fuzz TARGET=vm_rows`, and some thousand mutations of them.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

#[path = "../../../fuzz/changed.rs"]
mod changed;
#[path = "trials/vm_rows.rs"]
mod trial;

use proptest::prelude::*;

use changed::{changed, seeds};

#[test]
fn every_seed_has_vms() {
    let seeds = seeds("vm_rows");
    assert!(seeds.len() > 3);
    for seed in &seeds {
        assert!(trial::vms(seed) > 0, "{}", String::from_utf8_lossy(seed));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    #[test]
    fn changed_rows_are_rows(input in changed("vm_rows")) {
        trial::vms(&input);
    }
}
