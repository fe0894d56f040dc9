//! What people, hosts and other programs do in scenarios. An act that is not possible yet says so and is tried again.

use berth_crds::{CommittedResource, Hypervisor, Knowledge, names, testing};
use berth_testkit::seeds;
use serde_json::{Value, json};

use super::ends;
use super::scenario::Deed;
use super::stage::Stage;
use crate::world::World;

/// Nothing happens; but until then the world may change by itself.
pub fn time_passes() -> Deed {
    Box::new(|_| true)
}

/// Not before the commitment is accepted.
pub fn once_accepted(uuid: &'static str, deed: Deed) -> Deed {
    let is_accepted = ends::says(uuid, "Accepted");
    Box::new(move |stage: &mut Stage| is_accepted(&stage.world).is_ok() && deed(stage))
}

/// Somebody acts upon the world, without whom it would have stayed as it is.
pub fn people(act: impl Fn(&World) -> bool + Send + Sync + 'static) -> Deed {
    Box::new(move |stage| stage.world.people(&act))
}

/// Somebody sets up hosts with room for so many slots in a zone.
pub fn hosts_in(zone: &'static str, hosts: &'static [(&str, u64)]) -> Deed {
    people(move |world| {
        world.hosts(zone, hosts);
        true
    })
}

/// The same in the usual zone.
pub fn hosts(hosts: &'static [(&str, u64)]) -> Deed {
    hosts_in(testing::ZONE, hosts)
}

/// Somebody commits something, in the cluster of its zone.
pub fn commit(object: CommittedResource) -> Deed {
    people(move |world| world.server_of(&object.spec.availability_zone).create(&object).is_ok())
}

/// Somebody changes the spec of a commitment, wherever it is.
pub fn edit(uuid: &'static str, spec: &Value) -> Deed {
    let patch = json!({ "spec": spec });
    people(move |world| {
        let name = names::commitment(uuid);
        world.servers().into_iter().any(|(_, server)| server.edit::<CommittedResource>(&name, &patch).is_ok())
    })
}

/// Somebody wants another number of slots.
pub fn resize(uuid: &'static str, slots: u64) -> Deed {
    edit(uuid, &json!({ "amount": seeds::slots(slots) }))
}

/// Somebody deletes a commitment, wherever it is.
pub fn delete(uuid: &'static str) -> Deed {
    people(move |world| {
        let name = names::commitment(uuid);
        world.servers().into_iter().any(|(_, server)| server.delete::<CommittedResource>(&name).is_ok())
    })
}

/// A host is no more.
pub fn host_goes(name: &'static str) -> Deed {
    people(move |world| world.servers().into_iter().any(|(_, server)| server.delete::<Hypervisor>(name).is_ok()))
}

/// The flavor groups become these, or something that nobody can read.
pub fn flavor_groups(features: &Value) -> Deed {
    let patch = json!({ "status": { "raw": { "features": features } } });
    people(move |world| world.home.edit_status::<Knowledge>(names::FLAVOR_GROUPS, &patch).is_ok())
}

/// Nobody can connect to the API server of the home cluster.
pub fn home_goes_away() -> Deed {
    Box::new(|stage| {
        stage.world.home.go_away();
        true
    })
}

/// Everybody can again.
pub fn home_comes_back() -> Deed {
    Box::new(|stage| {
        stage.world.home.come_back();
        stage.world.judge.interrupted();
        true
    })
}
