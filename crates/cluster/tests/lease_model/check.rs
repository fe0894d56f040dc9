//! The check itself, and that it can fail.

use std::io::Write as _;
use std::time::{Duration, Instant};

use stateright::{Checker, HasDiscoveries, Model};

use crate::{Rules, TIMING, Timing, WatchErrors};

fn production() -> Rules {
    Rules { timing: TIMING, last_moment: true, wall_clocks: None, errors: TROUBLES }
}

/// A run has one of these. All three kinds at once are ten times as many states; they were checked by hand.
const TROUBLES: &[WatchErrors] = &[
    WatchErrors { pauses: 2, slow_calls: 0, clock_changes: 0 },
    WatchErrors { pauses: 1, slow_calls: 1, clock_changes: 0 },
    WatchErrors { pauses: 1, slow_calls: 0, clock_changes: 1 },
    WatchErrors { pauses: 0, slow_calls: 1, clock_changes: 1 },
];

/// The property that does not hold under these rules.
fn invalid(rules: Rules) -> Option<&'static str> {
    let checker = rules.checker().finish_when(HasDiscoveries::AnyFailures).threads(2).spawn_bfs().join();
    let found = checker.discoveries();
    let (property, story) = [LATE, TWO].into_iter().find_map(|name| Some((name, found.get(name)?.clone())))?;
    eprintln!("{property}: not after {:?}", story.into_actions());
    Some(property)
}

#[test]
fn no_write_of_an_old_leader_lands_in_the_time_of_a_new_one() {
    let started_at = Instant::now();
    let checker = production().checker().threads(2).spawn_bfs().join();
    let states = checker.unique_state_count();
    // Prints past the capture of the test harness, so that the number shows in every run; a write error is harmless.
    let line =
        format!("lease: {states} unique states visited, {} deep, in {:?}\n", checker.max_depth(), started_at.elapsed());
    drop(std::io::stderr().write_all(line.as_bytes()));
    checker.assert_properties();
    assert!(states > 10_000, "{states}");
}

const LATE: &str = "no write lands when a later leader has begun";
const TWO: &str = "at most one may write";

#[test]
fn the_model_fails_without_the_margin() {
    let timing = Timing { margin: Duration::ZERO, ..TIMING };
    assert!(invalid(Rules { timing, ..production() }).is_some());
}

#[test]
fn the_model_fails_if_the_fence_is_not_asked_in_the_last_moment() {
    assert_eq!(invalid(Rules { last_moment: false, ..production() }), Some(LATE));
}

#[test]
fn the_model_fails_if_the_age_of_a_lease_is_taken_from_wall_clocks() {
    let wall_clocks = Some([Duration::ZERO, Duration::from_secs(20), Duration::ZERO]);
    assert!(invalid(Rules { wall_clocks, ..production() }).is_some());
}
