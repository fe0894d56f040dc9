//! Runs the seeds of `make fuzz TARGET=quota_body`, and some hundred mutations of them.

use proptest::prelude::*;

use crate::body;
use crate::changed::{changed, seeds};

#[test]
fn every_seed_of_bodies_is_stored() {
    let seeds = seeds("quota_body");
    assert!(seeds.len() > 3);
    for seed in &seeds {
        let answers = body::set(seed);
        let are_stored = answers.iter().all(|status| *status == 204);
        assert!(are_stored && !answers.is_empty(), "{answers:?} {}", String::from_utf8_lossy(seed));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn changed_bodies_are_stored_or_refused(input in changed("quota_body")) {
        body::set(&input);
    }
}
