//! Several clusters and zones: a cluster is away, a commitment is in two of them, and one moves.

use berth_crds::{CommittedResource, conditions, names};
use berth_testkit::{Server, seeds};
use serde_json::json;

use super::acts::{commit, edit, hosts, hosts_in, people, resize};
use super::ends::{accepted, all_on};
use super::scenario::{Deed, End, Kind, Scenario};

pub fn scenarios() -> Vec<Scenario> {
    vec![remote_cluster_away(), duplicate_in_two_clusters(), zone_change()]
}

/// Commitments in the other cluster wait; those at home do not.
fn remote_cluster_away() -> Scenario {
    Scenario::new("remote-cluster-away")
        .of(Kind::TwoClusters)
        .with(hosts(&[("h1", 3)]))
        .with(hosts_in(seeds::OTHER_ZONE, &[("h2", 3)]))
        .at(1.0, commit(over_there("uuid-1", 2)))
        .at(60.0, remote(Server::go_away))
        .at(70.0, resize("uuid-1", 3))
        .at(80.0, commit(seeds::waiting_commitment("uuid-2", 2)))
        .at(150.0, remote(Server::come_back))
        .ends(accepted("uuid-1", 3))
        .ends(accepted("uuid-2", 2))
}

/// The one in the cluster of its zone is served.
fn duplicate_in_two_clusters() -> Scenario {
    let duplicate = || {
        people(|world| {
            let duplicate = seeds::waiting_commitment("uuid-1", 2);
            world.remote.as_ref().is_some_and(|remote| remote.create(&duplicate).is_ok())
        })
    };
    Scenario::new("duplicate-in-two-clusters")
        .of(Kind::TwoClusters)
        .without_capacity()
        .with(hosts(&[("h1", 3)]))
        .with(hosts_in(seeds::OTHER_ZONE, &[("h2", 3)]))
        .at(1.0, commit(seeds::waiting_commitment("uuid-1", 2)))
        .at(30.0, duplicate())
        .at(90.0, resize("uuid-1", 3))
        .ends(accepted("uuid-1", 3))
        .ends(not_served_remotely("uuid-1"))
}

/// One cluster serves both zones: the slots are created again in the other zone.
fn zone_change() -> Scenario {
    Scenario::new("zone-change")
        .with(hosts(&[("h1", 3)]))
        .with(hosts_in(seeds::OTHER_ZONE, &[("h2", 3)]))
        .at(1.0, commit(seeds::waiting_commitment("uuid-1", 2)))
        .at(60.0, edit("uuid-1", &json!({ "availabilityZone": seeds::OTHER_ZONE })))
        .ends(accepted("uuid-1", 2))
        .ends(all_on("uuid-1", "h2"))
}

fn over_there(uuid: &str, slots: u64) -> CommittedResource {
    let mut commitment = seeds::waiting_commitment(uuid, slots);
    seeds::OTHER_ZONE.clone_into(&mut commitment.spec.availability_zone);
    commitment
}

/// Applies this to the API server of the other cluster.
fn remote(what: fn(&Server)) -> Deed {
    Box::new(move |stage| stage.world.remote.as_ref().map(what).is_some())
}

/// The condition of the object in the other cluster says that another object is served.
fn not_served_remotely(uuid: &'static str) -> End {
    Box::new(move |world| {
        let object =
            world.remote.as_ref().and_then(|remote| remote.get::<CommittedResource>(&names::commitment(uuid)).ok());
        let status = object.and_then(|object| object.status).unwrap_or_default();
        let reported = conditions::ready(&status.conditions).map(|ready| ready.reason.clone());
        if reported.as_deref() == Some("DuplicateUUID") {
            Ok(())
        } else {
            Err(format!("{uuid} of the other cluster is {reported:?}"))
        }
    })
}
