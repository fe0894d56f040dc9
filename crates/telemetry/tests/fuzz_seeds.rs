//! Runs the seeds of `make fuzz TARGET=configuration`, and some thousand mutations of them.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

#[path = "../../../fuzz/changed.rs"]
mod changed;
#[path = "trials/configuration.rs"]
mod trial;

use berth_telemetry::config::{decode, keys};
use proptest::prelude::*;
use serde_json::Value;

use changed::{changed, seeds};

#[test]
fn every_seed_is_a_configuration_and_together_they_have_every_key() {
    let seeds = seeds("configuration");
    assert!(seeds.len() > 5);
    let all: String = seeds.iter().map(|seed| String::from_utf8(seed.clone()).unwrap()).collect();
    for seed in &seeds {
        let Value::Object(values) = serde_json::from_slice(seed).unwrap() else { panic!("not an object") };
        decode(&values, false).unwrap();
        trial::configuration(seed);
    }
    let missing: Vec<_> = keys()
        .into_iter()
        .filter(|key| !all.contains(&format!("{:?}", key.path.rsplit('.').next().unwrap())))
        .map(|key| key.path)
        .collect();
    assert_eq!(missing, [""; 0]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6000))]

    #[test]
    fn changed_configurations_are_read_and_printed_or_refused_in_lines(file in changed("configuration")) {
        trial::configuration(&file);
    }
}
