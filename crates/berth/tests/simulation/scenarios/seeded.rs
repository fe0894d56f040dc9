//! Every scenario in many seeds, each with every kind of fault for a time: the end is the same as without them.

use std::collections::BTreeMap;

use super::scenario::Scenario;
use super::threads::spread;
use super::{chosen, fault_free, not_too_many, plagued};
use crate::{number, reported};

/// The number of seeds of each scenario; the variables SEEDS and FROM override the number and the first seed.
const SEEDS: u64 = 200;

/// From this many runs on, every kind of fault must have occurred.
const MANY: usize = 200;

const KINDS: [&str; 23] = [
    "401",
    "403",
    "409",
    "410",
    "429",
    "500",
    "503",
    "504",
    "504 afterwards",
    "answer lost",
    "away",
    "clock step",
    "compaction",
    "crash",
    "cut before",
    "hang",
    "latency",
    "pause",
    "slow",
    "stale",
    "watch broken",
    "watch ended",
    "watch late",
];

#[test]
fn every_scenario_ends_as_it_should_in_every_seed() {
    let scenarios = chosen();
    let (from, seeds) = (number("FROM").unwrap_or(0), number("SEEDS").unwrap_or(SEEDS));
    let writes = spread(&scenarios, |scenario| fault_free(scenario).changed);
    let jobs: Vec<(&Scenario, u64, usize)> = scenarios
        .iter()
        .zip(&writes)
        .flat_map(|(scenario, writes)| {
            (from..from + seeds).map(move |seed| (scenario, seed, writes.clone().unwrap_or_default()))
        })
        .collect();
    let outcomes = spread(&jobs, |(scenario, seed, _)| plagued(scenario, *seed));
    let (mut hit, mut wrong) = (BTreeMap::<_, u64>::new(), Vec::new());
    for ((scenario, seed, writes), outcome) in jobs.iter().zip(outcomes) {
        let ended = outcome.and_then(|outcome| {
            outcome.hit.iter().for_each(|(kind, count)| *hit.entry(*kind).or_default() += count);
            not_too_many(outcome.changed, *writes)
        });
        wrong.extend(ended.err().map(|text| format!("{}\n{text}", again(scenario, *seed))));
    }
    reported(&format!("seeds: {} scenarios, {} runs; what hit: {hit:?}", scenarios.len(), jobs.len()));
    assert!(wrong.is_empty(), "{} of {} runs:\n{}", wrong.len(), jobs.len(), wrong.join("\n\n"));
    let missing: Vec<_> = KINDS.into_iter().filter(|kind| !hit.contains_key(kind)).collect();
    assert!(jobs.len() < MANY || missing.is_empty(), "these never occurred: {missing:?}");
}

fn again(scenario: &Scenario, seed: u64) -> String {
    format!("SCENARIO={} FROM={seed} SEEDS=1 cargo test -p berth --test simulation in_every_seed", scenario.name)
}
