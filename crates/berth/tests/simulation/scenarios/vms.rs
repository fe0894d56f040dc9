//! VMs in scenarios: they are booked into slots, agents list them, and they move and end. An action on a VM that an
//! operator does not know yet waits until it does, so that every run has the same end.

use berth_crds::conditions::{self, whole_seconds};
use berth_crds::{Allocation, Hypervisor, Reservation, Time, facts, labels, testing};
use berth_telemetry::clock::Clock as _;
use serde_json::json;

use super::ends::{confirms, slots_of, slots_with};
use super::scenario::Deed;
use super::stage::Stage;
use crate::nova::agent;
use crate::world::World;

/// A VM that fills a slot is booked into an empty one of a commitment and starts on its host.
pub fn starts_in(uuid: &'static str, vm: &'static str) -> Deed {
    Box::new(move |stage| {
        let Some(slot) = slots_of(&stage.world, uuid).into_iter().find(is_empty) else { return false };
        let Some(host) = slot.spec.target_host.clone() else { return false };
        let booked = stage.world.people(|world| book(world, &slot, vm) && lists(world, &host, vm, true));
        stage.vms.insert(vm, vec![host]);
        booked
    })
}

/// Another host lists the VM as well, which a slot of the commitment confirms.
pub fn arrives_elsewhere(uuid: &'static str, vm: &'static str) -> Deed {
    Box::new(move |stage| {
        let Some(from) = stays(stage, uuid, vm) else { return false };
        let Some(to) = another_host(&stage.world, &from) else { return false };
        let listed = stage.world.people(|world| lists(world, &to, vm, true));
        stage.vms.insert(vm, vec![from, to]);
        listed
    })
}

/// The source host does not list the VM any more.
pub fn has_left(vm: &'static str) -> Deed {
    Box::new(move |stage| {
        let Some(from) = stage.vms.get_mut(vm).map(|hosts| hosts.remove(0)) else { return false };
        stage.world.people(|world| lists(world, &from, vm, false))
    })
}

/// The VM, which a slot of the commitment confirms, ends.
pub fn ends(uuid: &'static str, vm: &'static str) -> Deed {
    Box::new(move |stage| {
        let Some(host) = stays(stage, uuid, vm) else { return false };
        stage.world.people(|world| lists(world, &host, vm, false))
    })
}

fn is_empty(slot: &Reservation) -> bool {
    let ready = slot.status.as_ref().is_some_and(|status| conditions::is_ready(&status.conditions));
    let known = facts::slot(slot);
    ready && known.is_in_force() && known.expected.is_empty()
}

fn book(world: &World, slot: &Reservation, vm: &str) -> bool {
    let allocation = Allocation {
        creation_timestamp: Time(whole_seconds(world.clock.now()).0),
        resources: slot.spec.resources.clone(),
    };
    let patch = json!({ "spec": { "committedResourceReservation": { "allocations": { vm: allocation } } } });
    let name = slot.metadata.name.as_deref().unwrap_or_default();
    world.servers().into_iter().any(|(_, server)| server.edit::<Reservation>(name, &patch).is_ok())
}

fn lists(world: &World, host: &str, vm: &str, runs: bool) -> bool {
    let flavor = runs.then_some(testing::FLAVOR);
    world.servers().into_iter().any(|(_, server)| agent(server, host, vm, flavor))
}

/// The host of the VM, once a slot of the commitment confirms it there.
fn stays(stage: &Stage, uuid: &str, vm: &str) -> Option<String> {
    let host = stage.vms.get(vm)?.last()?;
    let slots = slots_with(&stage.world, uuid, vm);
    slots.iter().any(|slot| confirms(slot, vm) && slot.spec.target_host.as_ref() == Some(host)).then(|| host.clone())
}

/// The first other host of the usual zone.
fn another_host(world: &World, host: &str) -> Option<String> {
    let all: Vec<Hypervisor> = world.server_of(testing::ZONE).all().unwrap();
    let here = all.into_iter().filter(|host| {
        host.metadata.labels.as_ref().and_then(|all| all.get(labels::ZONE)).is_some_and(|zone| zone == testing::ZONE)
    });
    here.filter_map(|host| host.metadata.name).find(|name| name != host)
}
