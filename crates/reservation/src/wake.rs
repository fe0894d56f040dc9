//! Which slots an event concerns: pure functions of the old object, the new object and the indexes (U53).

use std::collections::BTreeSet;

use berth_cluster::{
    Change, Index, ObjectKey, Store,
    indexes::{RESERVATION_BY_COMMITMENT, RESERVATION_BY_HOST, RESERVATION_BY_VM},
};
use berth_crds::{
    CommittedResource, CommittedResourceSpec, Hypervisor, Reservation, ReservationType, conditions::safety, labels,
};
use kube::ResourceExt;

/// A slot concerns itself.
pub fn by_reservation(change: &Change<Reservation>) -> Option<ObjectKey> {
    let newest = change.new.as_ref().or(change.old.as_ref())?;
    is_slot(newest).then(|| change.key.clone())
}

/// A commitment concerns its slots when it may have been frozen or set free (U57); all else that it wants of them is
/// written into them.
pub fn by_commitment(change: &Change<CommittedResource>, reservations: &Store<Reservation>) -> BTreeSet<ObjectKey> {
    let (old, new) = (change.old.as_deref(), change.new.as_deref());
    if freezing(old) == freezing(new) {
        return BTreeSet::new();
    }
    let objects = [old, new].into_iter().flatten();
    objects.flat_map(|object| slots(&RESERVATION_BY_COMMITMENT, &object.spec.commitment_uuid, reservations)).collect()
}

/// What decides whether it is frozen.
fn freezing(object: Option<&CommittedResource>) -> Option<(bool, [&str; 2], Option<[&str; 2]>)> {
    let object = object?;
    let accepted = object.status.as_ref().and_then(|status| status.accepted_spec.as_ref());
    Some((object.annotations().contains_key(labels::FREEZE), place(&object.spec), accepted.map(place)))
}

fn place(spec: &CommittedResourceSpec) -> [&str; 2] {
    [&spec.availability_zone, &spec.flavor_group_name]
}

/// A host concerns the slots on it when it comes, goes or changes its zone, and in any case those that expect a VM
/// that came or went.
pub fn by_hypervisor(change: &Change<Hypervisor>, reservations: &Store<Reservation>) -> BTreeSet<ObjectKey> {
    let (old, new) = (change.old.as_deref(), change.new.as_deref());
    let zone = |host: Option<&Hypervisor>| host.map(|host| host.labels().get(labels::ZONE).cloned());
    let (before, after) = (vms(old), vms(new));
    let mut keys = BTreeSet::new();
    if zone(old) != zone(new) || before != after {
        keys.extend(slots(&RESERVATION_BY_HOST, &change.key.name, reservations));
    }
    for vm in before.symmetric_difference(&after) {
        keys.extend(slots(&RESERVATION_BY_VM, vm, reservations));
    }
    keys
}

/// The slots without a host: new flavor groups concern them, because theirs may have been unknown, and hosts that are
/// followed again.
pub fn unplaced(reservations: &Store<Reservation>) -> BTreeSet<ObjectKey> {
    let unplaced = |object: &Reservation| is_slot(object) && object.spec.target_host.is_none();
    reservations.all().into_iter().filter(|entry| unplaced(&entry.object)).map(|entry| entry.key).collect()
}

/// The slots that the brake holds back: a confirmation concerns them (D14).
pub fn braked(reservations: &Store<Reservation>) -> BTreeSet<ObjectKey> {
    let says = |object: &Reservation| {
        object.status.as_ref().is_some_and(|status| safety::holds(&status.conditions, safety::BRAKED))
    };
    let braked = |object: &Reservation| is_slot(object) && says(object);
    reservations.all().into_iter().filter(|entry| braked(&entry.object)).map(|entry| entry.key).collect()
}

/// True for the objects that this controller is responsible for; it never writes to another type (document 21
/// section 15 no. 1).
pub(crate) fn is_slot(object: &Reservation) -> bool {
    object.spec.type_ == ReservationType::CommittedResourceReservation
}

fn vms(host: Option<&Hypervisor>) -> BTreeSet<&str> {
    let instances = host.and_then(|host| host.status.as_ref()).into_iter().flat_map(|status| &status.instances);
    instances.map(|vm| vm.id.as_str()).collect()
}

fn slots(index: &Index<Reservation>, value: &str, reservations: &Store<Reservation>) -> Vec<ObjectKey> {
    let entries = reservations.select(index, value);
    entries.into_iter().filter(|entry| is_slot(&entry.object)).map(|entry| entry.key).collect()
}
