//! Commitments are created and resized.

use berth_testkit::seeds;

use super::acts::{commit, hosts, resize};
use super::ends::{accepted, covered};
use super::scenario::Scenario;
use super::vms;

pub fn scenarios() -> Vec<Scenario> {
    vec![create(), grow(), shrink(), resize_with_vms()]
}

fn create() -> Scenario {
    Scenario::new("create")
        .with(hosts(&[("h1", 2), ("h2", 2)]))
        .at(1.0, commit(seeds::waiting_commitment("uuid-1", 3)))
        .ends(accepted("uuid-1", 3))
}

fn grow() -> Scenario {
    Scenario::new("grow")
        .with(hosts(&[("h1", 4), ("h2", 4)]))
        .at(1.0, commit(seeds::waiting_commitment("uuid-1", 2)))
        .at(60.0, resize("uuid-1", 5))
        .ends(accepted("uuid-1", 5))
}

fn shrink() -> Scenario {
    Scenario::new("shrink")
        .with(hosts(&[("h1", 4), ("h2", 4)]))
        .at(1.0, commit(seeds::waiting_commitment("uuid-1", 5)))
        .at(60.0, resize("uuid-1", 2))
        .ends(accepted("uuid-1", 2))
}

fn resize_with_vms() -> Scenario {
    Scenario::new("resize-with-vms")
        .with(hosts(&[("h1", 4), ("h2", 4)]))
        .at(1.0, commit(seeds::waiting_commitment("uuid-1", 4)))
        .at(60.0, vms::starts_in("uuid-1", "vm-1"))
        .at(62.0, vms::starts_in("uuid-1", "vm-2"))
        .at(120.0, resize("uuid-1", 2))
        .at(180.0, resize("uuid-1", 5))
        .ends(accepted("uuid-1", 5))
        .ends(covered("uuid-1", "vm-1"))
        .ends(covered("uuid-1", "vm-2"))
}
