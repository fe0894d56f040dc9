//! Every scenario with a crash before and after every write of the operator: another process continues, and the end is
//! the same as without the crash.

use berth_testkit::Stop;

use super::scenario::Scenario;
use super::threads::spread;
use super::{Outcome, chosen, crashed, fault_free, not_too_many};
use crate::reported;

/// The point of the crash.
#[derive(Clone, Copy, Debug)]
enum At {
    Before(usize),
    After(usize),
}

impl At {
    fn stop(self) -> Stop {
        match self {
            Self::Before(write) => Stop::before(write),
            Self::After(write) => Stop::after(write),
        }
    }
}

/// Before and after each of this many writes.
fn everywhere(writes: usize) -> impl Iterator<Item = At> {
    (1..=writes).flat_map(|write| [At::Before(write), At::After(write)])
}

/// Runs with a crash at this point; returns what is wrong with the end.
fn goes_on(scenario: &Scenario, at: At, writes: usize) -> Result<(), String> {
    let Outcome { asked, .. } = crashed(scenario, at.stop());
    not_too_many(asked, writes)
}

#[test]
fn every_scenario_ends_as_it_should_after_a_crash_before_and_after_every_write() {
    let scenarios = chosen();
    let free = spread(&scenarios, fault_free);
    let mut wrong: Vec<String> = Vec::new();
    let mut jobs = Vec::new();
    for (scenario, outcome) in scenarios.iter().zip(&free) {
        match outcome {
            Ok(Outcome { changed, .. }) => jobs.extend(everywhere(*changed).map(|at| (scenario, at, *changed))),
            Err(text) => wrong.push(format!("{} without a crash: {text}", scenario.name)),
        }
    }
    let ended = spread(&jobs, |(scenario, at, writes)| goes_on(scenario, *at, *writes));
    for (scenario, outcome) in scenarios.iter().zip(&free) {
        let own = jobs.iter().zip(&ended).filter(|((of, ..), _)| of.name == scenario.name);
        let (writes, mut runs) = (outcome.as_ref().map_or(0, |outcome| outcome.changed), 1);
        for ((_, at, _), ended) in own {
            runs += 1;
            let problem = ended.clone().and_then(|ended| ended).err();
            wrong.extend(problem.map(|text| format!("{}, {at:?}: {text}", scenario.name)));
        }
        reported(&format!("crash: {}: {writes} writes, {runs} runs", scenario.name));
        if writes == 0 || runs != 2 * writes + 1 {
            wrong.push(format!("{}: {runs} runs for {writes} writes", scenario.name));
        }
    }
    let again = "SCENARIO=<name> cargo test -p berth --test simulation every_scenario_ends";
    assert!(wrong.is_empty(), "{} runs; one more with\n{again}\n{}", wrong.len(), wrong.join("\n\n"));
}
