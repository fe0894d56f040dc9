//! Needed data is missing for a time, or changes.

use berth_testkit::seeds;
use serde_json::json;

use super::acts::{commit, flavor_groups, home_comes_back, home_goes_away, hosts, resize};
use super::ends::accepted;
use super::scenario::Scenario;

pub fn scenarios() -> Vec<Scenario> {
    vec![flavor_groups_unreadable(), flavor_group_changed(), api_away()]
}

/// Commitments that have their slots or shrink need no flavors; a new commitment waits for them.
fn flavor_groups_unreadable() -> Scenario {
    Scenario::new("flavor-groups-unreadable")
        .with(hosts(&[("h1", 4)]))
        .at(1.0, commit(seeds::waiting_commitment("uuid-1", 2)))
        .at(30.0, flavor_groups(&json!("nonsense")))
        .at(60.0, commit(seeds::waiting_commitment("uuid-2", 2)))
        .at(90.0, resize("uuid-1", 1))
        .at(150.0, flavor_groups(&seeds::group(&[1, 2])))
        .ends(accepted("uuid-1", 1))
        .ends(accepted("uuid-2", 2))
}

/// The flavor of the slots leaves the group: placed slots stay, and missing ones are created with the other flavor.
fn flavor_group_changed() -> Scenario {
    Scenario::new("flavor-group-changed")
        .with(hosts(&[("h1", 3), ("h2", 3)]))
        .at(1.0, commit(seeds::waiting_commitment("uuid-1", 3)))
        .at(60.0, flavor_groups(&seeds::group(&[2])))
        .at(90.0, resize("uuid-1", 5))
        .ends(accepted("uuid-1", 5))
}

fn api_away() -> Scenario {
    Scenario::new("api-away")
        .with(hosts(&[("h1", 4), ("h2", 4)]))
        .at(1.0, commit(seeds::waiting_commitment("uuid-1", 2)))
        .at(60.0, home_goes_away())
        .at(70.0, resize("uuid-1", 4))
        .at(80.0, commit(seeds::waiting_commitment("uuid-2", 2)))
        .at(150.0, home_comes_back())
        .ends(accepted("uuid-1", 4))
        .ends(accepted("uuid-2", 2))
}
