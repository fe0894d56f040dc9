//! There is not enough capacity: a commitment that allows rejection is rejected as a whole, and the others wait.

use berth_crds::{CommitmentState, CommittedResource};
use berth_testkit::seeds;

use super::acts::{commit, hosts, once_accepted, resize};
use super::ends::{accepted, accepted_of, holds, is_reported};
use super::scenario::Scenario;

const TWO: [&str; 2] = ["uuid-1", "uuid-2"];
const THREE: [&str; 3] = ["uuid-1", "uuid-2", "uuid-3"];

pub fn alone() -> Vec<Scenario> {
    vec![reject_whole(), guaranteed_retry()]
}

pub fn together() -> Vec<Scenario> {
    vec![two_for_one_host(), three_for_two()]
}

/// A new one that does not fit gets nothing; an accepted one that has grown too large keeps its accepted amount.
fn reject_whole() -> Scenario {
    Scenario::new("reject-whole")
        .without_capacity()
        .with(hosts(&[("h1", 3)]))
        .at(1.0, commit(seeds::rejectable("uuid-1", 4)))
        .at(30.0, commit(seeds::rejectable("uuid-2", 2)))
        .at(60.0, once_accepted("uuid-2", resize("uuid-2", 4)))
        .ends(is_reported("uuid-1", "Rejected"))
        .ends(holds("uuid-1", 0))
        .ends(is_reported("uuid-2", "Rejected"))
        .ends(holds("uuid-2", 2))
}

fn guaranteed_retry() -> Scenario {
    Scenario::new("guaranteed-retry")
        .with(hosts(&[("h1", 2)]))
        .at(1.0, commit(guaranteed("uuid-1", 3)))
        .at(120.0, hosts(&[("h2", 2)]))
        .ends(accepted("uuid-1", 3))
}

fn guaranteed(uuid: &str, slots: u64) -> CommittedResource {
    let mut commitment = seeds::waiting_commitment(uuid, slots);
    commitment.spec.state = CommitmentState::Guaranteed;
    commitment
}

fn two_for_one_host() -> Scenario {
    let new = Scenario::new("two-for-one-host").without_capacity().with(hosts(&[("h1", 5)]));
    crowd(new, &TWO).ends(accepted_of(&TWO, 1))
}

fn three_for_two() -> Scenario {
    let new = Scenario::new("three-for-two").without_capacity().with(hosts(&[("h1", 4), ("h2", 4)]));
    crowd(new, &THREE).ends(accepted_of(&THREE, 2))
}

/// Commitments of four slots at the same time.
fn crowd(scenario: Scenario, uuids: &[&str]) -> Scenario {
    uuids.iter().fold(scenario, |scenario, uuid| scenario.at(1.0, commit(seeds::rejectable(uuid, 4))))
}
