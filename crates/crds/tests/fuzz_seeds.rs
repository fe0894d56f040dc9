//! Runs the seeds of `make fuzz TARGET=names` and `TARGET=flavor_groups`, and some thousand mutations of them.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

#[path = "../../../fuzz/changed.rs"]
mod changed;
#[path = "trials/flavor_groups.rs"]
mod flavor_groups;
#[path = "trials/names.rs"]
mod names;

use berth_core::flavor::FlavorGroups;
use proptest::prelude::*;

use changed::{changed, seeds};

#[test]
fn every_seed_of_names_is_tried() {
    let seeds = seeds("names");
    assert!(seeds.len() > 5);
    for seed in &seeds {
        names::names(seed);
    }
}

#[test]
fn every_seed_of_flavor_groups_has_groups() {
    let seeds = seeds("flavor_groups");
    assert!(seeds.len() > 5);
    for seed in &seeds {
        let parsed = FlavorGroups::parse(&serde_json::from_slice(seed).unwrap()).unwrap();
        assert!(!parsed.groups.is_empty() || !parsed.skipped.is_empty());
        flavor_groups::flavor_groups(seed);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn changed_names_are_names_and_are_read_again(texts in changed("names")) {
        names::names(&texts);
    }

    #[test]
    fn names_of_any_text_are_names(text in "\\PC{0,60}\n\\PC{0,60}\n[0-9]{0,22}") {
        names::names(text.as_bytes());
    }

    #[test]
    fn changed_flavor_groups_are_sorted_and_planned_with_or_refused_in_a_line(raw in changed("flavor_groups")) {
        flavor_groups::flavor_groups(&raw);
    }
}
