//! The checks at the end of a scenario. Every scenario also checks that there are no violations.

use berth_crds::{CommittedResource, Reservation, conditions, facts, names};
use berth_testkit::seeds;

use super::scenario::End;
use crate::world::World;

/// The commitment is accepted and has this many slots.
pub fn accepted(uuid: &'static str, slots: u64) -> End {
    all([is_reported(uuid, "Accepted"), holds(uuid, slots)])
}

/// The commitment's ready condition has this reason.
pub fn is_reported(uuid: &'static str, reason: &'static str) -> End {
    Box::new(move |world| match ready_reason(world, uuid) {
        Some((ready_reason, _)) if ready_reason == reason => Ok(()),
        ready_reason => Err(format!("{uuid} is not {reason}, but {ready_reason:?}")),
    })
}

/// The slots of the commitment are as much as this many whole ones.
pub fn holds(uuid: &'static str, slots: u64) -> End {
    Box::new(move |world| match memory_of(world, uuid) {
        memory if memory == berth_core::Quantity::parse(&seeds::slots(slots)).unwrap().round_up() => Ok(()),
        memory => Err(format!("the slots of {uuid} have {memory} bytes, not that of {slots}")),
    })
}

/// No slot of the commitment is on another host.
pub fn all_on(uuid: &'static str, host: &'static str) -> End {
    Box::new(move |world| {
        let hosts: Vec<_> = slots_of(world, uuid).into_iter().map(|slot| slot.spec.target_host).collect();
        let elsewhere = hosts.iter().any(|on| on.as_deref() != Some(host));
        if elsewhere { Err(format!("the slots of {uuid} are on {hosts:?}, not all on {host}")) } else { Ok(()) }
    })
}

/// `count` of these commitments are accepted; the others are rejected and hold nothing.
pub fn accepted_of(uuids: &'static [&str], count: usize) -> End {
    Box::new(move |world| {
        let is = |reason: &'static str| uuids.iter().filter(move |uuid| is_reported(uuid, reason)(world).is_ok());
        let (accepted, rejected) = (is("Accepted").count(), is("Rejected"));
        let empty = rejected.filter(|uuid| holds(uuid, 0)(world).is_ok()).count();
        let as_wanted = accepted == count && empty == uuids.len() - count;
        let all: Vec<_> = uuids.iter().map(|uuid| ready_reason(world, uuid)).collect();
        if as_wanted { Ok(()) } else { Err(format!("not {count} of these are accepted: {all:?}")) }
    })
}

/// The VM runs in a slot of the commitment, and only there.
pub fn covered(uuid: &'static str, vm: &'static str) -> End {
    Box::new(move |world| match &slots_with(world, uuid, vm)[..] {
        [slot] if confirms(slot, vm) => Ok(()),
        slots => Err(format!("{} slots of {uuid} expect {vm}, and not one confirms it", slots.len())),
    })
}

/// No slot of the commitment expects the VM.
pub fn forgotten(uuid: &'static str, vm: &'static str) -> End {
    Box::new(move |world| match slots_with(world, uuid, vm).len() {
        0 => Ok(()),
        count => Err(format!("{count} slots of {uuid} still expect {vm}")),
    })
}

pub fn gone(uuid: &'static str) -> End {
    Box::new(move |world| {
        let left = (ready_reason(world, uuid).is_some(), slots_of(world, uuid).len());
        if left == (false, 0) { Ok(()) } else { Err(format!("{uuid} is left with {} slots", left.1)) }
    })
}

pub fn all(ends: impl IntoIterator<Item = End>) -> End {
    let ends: Vec<_> = ends.into_iter().collect();
    Box::new(move |world| ends.iter().try_for_each(|end| end(world)))
}

/// Reason and message of the ready condition of a commitment, in any cluster; empty without a condition.
pub fn ready_reason(world: &World, uuid: &str) -> Option<(String, String)> {
    let name = names::commitment(uuid);
    let found = world.servers().into_iter().find_map(|(_, server)| server.get::<CommittedResource>(&name).ok());
    let status = found?.status.unwrap_or_default();
    let ready = conditions::ready(&status.conditions).cloned();
    Some(ready.map(|ready| (ready.reason, ready.message)).unwrap_or_default())
}

/// The slots of a commitment, by name, in all clusters.
pub fn slots_of(world: &World, uuid: &str) -> Vec<Reservation> {
    let all = world.servers().into_iter().flat_map(|(_, server)| server.all::<Reservation>().unwrap());
    let is_of = |slot: &Reservation| {
        let data = slot.spec.committed_resource_reservation.as_ref();
        data.is_some_and(|data| data.commitment_uuid.as_deref() == Some(uuid))
    };
    let mut slots: Vec<_> = all.filter(is_of).collect();
    slots.sort_by_key(number);
    slots
}

/// The slots of a commitment that expect a VM.
pub fn slots_with(world: &World, uuid: &str, vm: &str) -> Vec<Reservation> {
    let expects = |slot: &Reservation| facts::slot(slot).expected.contains_key(vm);
    slots_of(world, uuid).into_iter().filter(expects).collect()
}

/// Whether the status of a slot names the VM on the host of the slot.
pub fn confirms(slot: &Reservation, vm: &str) -> bool {
    let status = slot.status.as_ref();
    let outcome = status.and_then(|status| status.committed_resource_reservation.as_ref());
    let host = outcome.and_then(|outcome| outcome.allocations.get(vm));
    host.is_some() && host == slot.spec.target_host.as_ref()
}

fn memory_of(world: &World, uuid: &str) -> i64 {
    slots_of(world, uuid).iter().map(|slot| facts::slot(slot).size.memory.get()).sum()
}

fn number(slot: &Reservation) -> Option<u64> {
    slot.metadata.name.as_deref()?.rsplit_once('-')?.1.parse().ok()
}
