//! The three ways in which every scenario runs.

use berth_crds::commitment_change::ChangePhase;
use berth_testkit::Rule;

use crate::case::Case;
use crate::run::Run;

/// Orders of reconciliations without a fault.
const SEEDS: u64 = 200;
/// With faults as well.
const FAULTY_SEEDS: u64 = 50;
/// Of a thousand writes, this many have each of the faults.
const PER_MILLE: u32 = 30;

pub async fn run_without_a_fault(cases: &[Case]) {
    for (number, case) in cases.iter().enumerate() {
        assert_eq!(run_in_order(case, None).await, case.outcome, "case {number}");
    }
}

/// The seeds are divided among the cases of a scenario.
pub async fn run_seeds(cases: &[Case]) {
    for (seed, case) in (0..SEEDS).zip(cases.iter().cycle()) {
        assert_eq!(run_in_order(case, Some(seed)).await, case.outcome, "seed {seed}");
    }
    for (seed, case) in (0..FAULTY_SEEDS).zip(cases.iter().cycle()) {
        run_with_faults(case, seed).await;
    }
}

async fn run_in_order(case: &Case, seed: Option<u64>) -> ChangePhase {
    let mut run = Run::begin(case).await;
    if let Some(seed) = seed {
        run.stage.process.set_order(seed);
    }
    run.drive(seed.unwrap_or_default()).await;
    run.finish().await;
    run.check_message();
    run.check()
}

async fn run_with_faults(case: &Case, seed: u64) {
    let mut run = Run::begin(case).await;
    run.stage.process.set_order(seed);
    run.stage.server().seed(seed);
    for rule in Rule::faults_of_writes(PER_MILLE) {
        run.stage.server().rule(rule);
    }
    run.drive(seed).await;
    run.finish().await;
    run.check();
}

/// A write is not carried out, or its answer is lost.
#[derive(Clone, Copy)]
enum Stop {
    Before,
    After,
}

/// Prints the numbers of writes and of runs.
pub async fn end_at_every_write(name: &str, cases: &[Case]) {
    for (number, case) in cases.iter().enumerate() {
        let writes = count_writes(case).await;
        let mut accepted = 0;
        for write in 1..=writes {
            for stop in [Stop::Before, Stop::After] {
                let outcome = end_at_write(case, write, stop).await;
                accepted += usize::from(outcome == ChangePhase::Accepted);
            }
        }
        println!("{name} {number}: {writes} writes, {} runs, {accepted} accepted", 2 * writes);
        assert!(writes > 0, "{name} {number} writes nothing");
    }
}

async fn count_writes(case: &Case) -> usize {
    let mut run = Run::begin(case).await;
    let before = run.stage.server().effects().changed;
    run.drive(0).await;
    run.finish().await;
    run.stage.server().effects().changed - before
}

async fn end_at_write(case: &Case, write: usize, stop: Stop) -> ChangePhase {
    let mut run = Run::begin(case).await;
    let server = run.stage.server().clone();
    match stop {
        Stop::Before => server.stop_before(write),
        Stop::After => server.stop_after(write),
    }
    let seed = write as u64;
    tokio::select! {
        () = server.stopped() => {}
        () = run.drive(seed) => {}
    }
    run.end_process(seed);
    run.finish().await;
    run.check()
}
