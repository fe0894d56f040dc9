//! Named scenarios, each with a fixed end: without a fault, with a crash before and after every write, and in seeds
//! with every kind of fault. `docs/testing.md` says what is counted.

mod acts;
mod crash;
mod disturbance;
mod ending;
mod ends;
mod growing;
mod hands;
mod knowing;
mod leading;
mod moving;
mod places;
mod refusing;
mod run;
mod scenario;
mod seeded;
mod stage;
mod threads;
mod vms;

use std::time::Duration;

use berth_testkit::{Random, Stop};

use self::disturbance::disturbances;
use self::run::{Outcome, Run};
use self::scenario::Scenario;
use crate::{alone, faults};

const NAMES: [&str; 28] = [
    "create",
    "grow",
    "shrink",
    "resize-with-vms",
    "reject-whole",
    "guaranteed-retry",
    "expiry",
    "supersede",
    "back-to-planned",
    "delete",
    "delete-while-placing",
    "host-loss",
    "live-migration",
    "vm-ends",
    "flavor-groups-unreadable",
    "flavor-group-changed",
    "api-away",
    "two-for-one-host",
    "three-for-two",
    "slot-edited-by-hand",
    "slot-undecodable",
    "remote-cluster-away",
    "duplicate-in-two-clusters",
    "zone-change",
    "upgrade-from-old-objects",
    "take-over",
    "paused-leader",
    "clock-ahead-and-behind",
];

fn all() -> Vec<Scenario> {
    let families = [
        growing::scenarios(),
        refusing::alone(),
        ending::scenarios(),
        moving::scenarios(),
        knowing::scenarios(),
        refusing::together(),
        hands::edited(),
        places::scenarios(),
        hands::inherited(),
        leading::scenarios(),
    ];
    families.into_iter().flatten().collect()
}

/// All scenarios, or the one that the variable SCENARIO names.
fn chosen() -> Vec<Scenario> {
    let wanted = std::env::var("SCENARIO").ok();
    let chosen: Vec<_> =
        all().into_iter().filter(|one| wanted.as_deref().is_none_or(|name| name == one.name)).collect();
    assert!(!chosen.is_empty(), "there is no scenario {wanted:?}");
    chosen
}

/// Requests take time, so that writes are under way at every moment.
fn unhurried(scenario: &Scenario, seed: u64) -> Run<'_> {
    let millis = Duration::from_millis;
    let mut run = Run::new(scenario, seed);
    for (_, server) in run.world().servers() {
        server.latency(millis(1)..=millis(30), millis(1)..=millis(30));
        server.late_watches(Duration::ZERO..=millis(100));
    }
    run
}

fn fault_free(scenario: &Scenario) -> Outcome {
    alone(async {
        let mut run = unhurried(scenario, 1);
        let servers: Vec<_> = run.world().servers().into_iter().map(|(_, server)| server.clone()).collect();
        let outcome = run.goes().await;
        let no_ops: usize = servers.iter().map(berth_testkit::Server::no_op_writes).sum();
        assert_eq!(no_ops, 0, "no write without a difference");
        outcome
    })
}

/// The same run with a crash of the whole operator. Its clock begins inside of the runtime: outside of it real time would pass.
fn crashed(scenario: &Scenario, stop: Stop) -> Outcome {
    alone(async { unhurried(scenario, 1).with_crash(stop).goes().await })
}

/// A run with the faults of this seed, for a time.
fn plagued(scenario: &Scenario, seed: u64) -> Outcome {
    alone(async {
        let mut random = Random::new(seed);
        let mut run = Run::new(scenario, seed);
        run.world().servers().into_iter().for_each(|(_, server)| faults::everything(server, &mut random));
        let run = run.at_other_times(|pause| random.duration(&(Duration::ZERO..=2 * pause)));
        let span = run.last_act() + random.duration(&(Duration::from_secs(30)..=Duration::from_secs(150)));
        let replicas = run.replicas();
        run.with(disturbances(&mut random, span, replicas)).goes().await
    })
}

/// Checks that the number of writes is close to `least`.
fn not_too_many(writes: usize, least: usize) -> Result<(), String> {
    let most = 3 * least + 20;
    if writes <= most { Ok(()) } else { Err(format!("{writes} writes, {most} are allowed: {least} are enough")) }
}

#[test]
fn the_scenarios_are_these() {
    let names: Vec<_> = all().iter().map(|scenario| scenario.name).collect();
    assert_eq!(names, NAMES);
}
