//! The actions of users, hosts and other programs in scenarios. An action that is not possible yet returns false and is
//! tried again.

use berth_crds::{CommittedResource, Hypervisor, Knowledge, names, testing};
use berth_testkit::seeds;
use serde_json::{Value, json};

use super::ends;
use super::scenario::Deed;
use super::stage::Stage;
use crate::world::World;

/// No action; until its time the world may change by itself.
pub fn time_passes() -> Deed {
    Box::new(|_| true)
}

pub fn once_accepted(uuid: &'static str, deed: Deed) -> Deed {
    let is_accepted = ends::is_reported(uuid, "Accepted");
    Box::new(move |stage: &mut Stage| is_accepted(&stage.world).is_ok() && deed(stage))
}

/// An action upon the world that is always possible.
pub fn people(act: impl Fn(&World) -> bool + Send + Sync + 'static) -> Deed {
    Box::new(move |stage| stage.world.people(&act))
}

/// Creates hosts with free capacity for this many slots in a zone.
pub fn hosts_in(zone: &'static str, hosts: &'static [(&str, u64)]) -> Deed {
    people(move |world| {
        world.hosts(zone, hosts);
        true
    })
}

pub fn hosts(hosts: &'static [(&str, u64)]) -> Deed {
    hosts_in(testing::ZONE, hosts)
}

/// A user creates a commitment in the cluster of its zone.
pub fn commit(object: CommittedResource) -> Deed {
    people(move |world| world.server_of(&object.spec.availability_zone).create(&object).is_ok())
}

/// A user changes the spec of a commitment, in any cluster.
pub fn edit(uuid: &'static str, spec: &Value) -> Deed {
    let patch = json!({ "spec": spec });
    people(move |world| {
        let name = names::commitment(uuid);
        world.servers().into_iter().any(|(_, server)| server.edit::<CommittedResource>(&name, &patch).is_ok())
    })
}

pub fn resize(uuid: &'static str, slots: u64) -> Deed {
    edit(uuid, &json!({ "amount": seeds::slots(slots) }))
}

pub fn delete(uuid: &'static str) -> Deed {
    people(move |world| {
        let name = names::commitment(uuid);
        world.servers().into_iter().any(|(_, server)| server.delete::<CommittedResource>(&name).is_ok())
    })
}

pub fn host_goes(name: &'static str) -> Deed {
    people(move |world| world.servers().into_iter().any(|(_, server)| server.delete::<Hypervisor>(name).is_ok()))
}

/// Replaces the flavor groups, possibly by invalid data.
pub fn flavor_groups(features: &Value) -> Deed {
    let patch = json!({ "status": { "raw": { "features": features } } });
    people(move |world| world.home.edit_status::<Knowledge>(names::FLAVOR_GROUPS, &patch).is_ok())
}

/// The API server of the home cluster becomes unreachable.
pub fn home_goes_away() -> Deed {
    Box::new(|stage| {
        stage.world.home.go_away();
        true
    })
}

pub fn home_comes_back() -> Deed {
    Box::new(|stage| {
        stage.world.home.come_back();
        stage.world.checker.interrupted();
        true
    })
}
