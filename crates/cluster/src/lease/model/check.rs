//! The check itself, and that it can fail.

use std::time::{Duration, Instant};

use stateright::{Checker, HasDiscoveries, Model};

use super::{Rules, TIMING};

fn production() -> Rules {
    Rules { timing: TIMING, last_moment: true, wall_clocks: None, pauses: 1, slow_calls: 1, clock_changes: 1 }
}

/// The property that does not hold under these rules, with the shortest story of how it breaks.
fn broken(rules: Rules) -> Option<(&'static str, usize)> {
    let checker = rules.checker().finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    let failures = ["no write lands when a later leader has begun", "at most one may write"];
    let found = checker.discoveries();
    failures.into_iter().find_map(|name| found.get(name).map(|path| (name, path.clone().into_actions().len())))
}

#[test]
fn no_write_of_an_old_leader_lands_in_the_time_of_a_new_one() {
    let began = Instant::now();
    let checker = production().checker().threads(2).spawn_bfs().join();
    let states = checker.unique_state_count();
    eprintln!("lease: {states} unique states visited, {} deep, in {:?}", checker.max_depth(), began.elapsed());
    checker.assert_properties();
    assert!(states > 10_000, "{states}");
}

#[test]
fn the_model_fails_without_the_margin() {
    let timing = super::Timing { margin: Duration::ZERO, ..TIMING };
    eprintln!("{:?}", broken(Rules { timing, ..production() }));
}

#[test]
fn the_model_fails_if_the_fence_is_not_asked_in_the_last_moment() {
    eprintln!("{:?}", broken(Rules { last_moment: false, ..production() }));
}

#[test]
fn the_model_fails_if_the_age_of_a_lease_is_taken_from_wall_clocks() {
    let wall_clocks = Some([Duration::ZERO, Duration::from_secs(20), Duration::ZERO]);
    eprintln!("{:?}", broken(Rules { wall_clocks, ..production() }));
}
