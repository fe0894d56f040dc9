//! The laws that hold after every write that was committed, also in the middle of something.

use std::collections::BTreeSet;

use berth_crds::{CommittedResource, Hypervisor, Reservation, labels};
use kube::ResourceExt;

use crate::{
    Key, Law, Outside, Snapshot, Touched, Violation,
    amounts::{RESOURCES, words},
    cores::oversold,
    room::room,
    snapshot::{commitment_of, confirmed},
};

/// What is broken although it must hold after every write, ascending, without what is the doing of others.
pub fn always(snapshot: &Snapshot, outside: &Outside) -> Vec<Violation> {
    let commitments = snapshot.commitments.values().filter_map(|one| unprotected(snapshot, &one.spec.commitment_uuid));
    let slots = snapshot.slots().flat_map(|(key, slot)| of_slot(snapshot, key, slot));
    let hosts = snapshot.hosts.iter().filter_map(|(key, host)| overbooked(snapshot, outside, key, host));
    let cores = snapshot.places().filter_map(|place| oversold(snapshot, outside, place));
    sorted(commitments.chain(slots).chain(hosts).chain(cores), outside)
}

/// The part of [`always`] that a change can have broken: a change of a slot costs as much as its commitment and its hosts
/// have slots, however large the rest of the world is.
pub fn always_touched(snapshot: &Snapshot, outside: &Outside, touched: &Touched) -> Vec<Violation> {
    let commitments = touched.commitments.iter().filter_map(|uuid| unprotected(snapshot, uuid));
    let slots = slots_touched(snapshot, touched);
    let slots = slots.into_iter().filter_map(|key| snapshot.slot(key).map(|slot| of_slot(snapshot, key, slot)));
    let on_hosts = touched.hosts.iter().flat_map(|host| snapshot.reservations_on(host)).map(|(key, _)| key);
    let strangers = on_hosts.filter_map(|key| wrong_zone(snapshot, key, snapshot.slot(key)?));
    let hosts = touched.hosts.iter().filter_map(|name| snapshot.host(name));
    let hosts = hosts.filter_map(|(key, host)| overbooked(snapshot, outside, key, host));
    let cores = touched.places.iter().filter_map(|place| oversold(snapshot, outside, place));
    sorted(commitments.chain(slots.flatten()).chain(strangers).chain(hosts).chain(cores), outside)
}

/// Whether a commitment or a slot still breaks a law.
pub(crate) fn stands(snapshot: &Snapshot, law: Law, object: &Key) -> bool {
    let slot = snapshot.slot(object);
    match law {
        Law::FinalizerMissing => {
            let commitment = snapshot.commitments.get(object);
            commitment.is_some_and(|one| unprotected(snapshot, &one.spec.commitment_uuid).is_some())
        }
        Law::SlotInWrongZone => slot.is_some_and(|slot| wrong_zone(snapshot, object, slot).is_some()),
        _ => slot.is_some_and(|slot| of_slot(snapshot, object, slot).iter().any(|broken| broken.law == law)),
    }
}

fn sorted(violations: impl Iterator<Item = Violation>, outside: &Outside) -> Vec<Violation> {
    let mut all: Vec<_> = violations.filter(|violation| !outside.excuses(violation)).collect();
    all.sort();
    all.dedup();
    all
}

fn slots_touched<'a>(snapshot: &'a Snapshot, touched: &'a Touched) -> BTreeSet<&'a Key> {
    let siblings = touched.commitments.iter().flat_map(|uuid| snapshot.slots_of(uuid)).map(|(key, _)| key);
    let slots = touched.slots.iter().filter_map(|key| snapshot.slot(key));
    let vms: Vec<_> = slots.flat_map(confirmed).collect();
    let with_vms = vms.iter().flat_map(|vm| snapshot.slots_with(vm));
    touched.slots.iter().chain(siblings).chain(with_vms).collect()
}

fn of_slot(snapshot: &Snapshot, key: &Key, slot: &Reservation) -> Vec<Violation> {
    let broken = [
        if is_ours(slot) { orphaned(snapshot, key, slot) } else { None },
        wrong_zone(snapshot, key, slot),
        misnamed(snapshot, key, slot),
        vm_in_two_slots(snapshot, key, slot),
    ];
    broken.into_iter().flatten().collect()
}

/// Slots of old data are not marked as ours.
pub(crate) fn is_ours(slot: &Reservation) -> bool {
    slot.annotations().contains_key(labels::COMMITMENT_UID)
}

/// True for a slot that was deleted and is kept by finalizers.
pub(crate) fn on_its_way_out(slot: &Reservation) -> bool {
    slot.metadata.deletion_timestamp.is_some()
}

/// A slot that belongs to nobody holds room for nobody. Which of two duplicates in two clusters is served may be in
/// the balance for a moment; that it is none is for [`Law::DuplicateUntrue`] to find, at rest.
pub(crate) fn orphaned(snapshot: &Snapshot, key: &Key, slot: &Reservation) -> Option<Violation> {
    let uuid = commitment_of(slot);
    let nobody = !on_its_way_out(slot) && snapshot.commitments_of(uuid).next().is_none();
    let text = || format!("belongs to 0 served commitments: none has the UUID {uuid:?}");
    nobody.then(|| Violation::new(Law::SlotOrphaned, key, text()))
}

/// A commitment with slots cannot go without them.
fn unprotected(snapshot: &Snapshot, uuid: &str) -> Option<Violation> {
    let served = snapshot.served(uuid);
    let (key, _) = served.first().filter(|_| !served.iter().any(|(_, object)| has_finalizer(object)))?;
    let slots = Some(snapshot.slots_held(key, uuid).count()).filter(|count| *count > 0)?;
    let text = format!("has {slots} slots and no finalizer {}", labels::RELEASE_SLOTS);
    Some(Violation::new(Law::FinalizerMissing, key, text))
}

/// True for a commitment that goes only after its slots.
pub(crate) fn has_finalizer(commitment: &CommittedResource) -> bool {
    commitment.finalizers().iter().any(|finalizer| finalizer == labels::RELEASE_SLOTS)
}

/// A host holds more than it has.
pub(crate) fn overbooked(snapshot: &Snapshot, outside: &Outside, key: &Key, host: &Hypervisor) -> Option<Violation> {
    snapshot.host(&key.name)?;
    let allowed = outside.allowed(&key.name);
    let over: Vec<_> = RESOURCES
        .into_iter()
        .zip(allowed)
        .filter_map(|(resource, allowed)| {
            let room = room(snapshot, host, resource).filter(|room| room.short() > allowed)?;
            let [short, capacity, vms, blocked, allowed] =
                [room.short(), room.capacity, room.vms, room.blocked, allowed].map(|amount| words(amount, resource));
            Some(format!(
                "{short} too much: it has {capacity}, VMs use {vms}, reservations block {blocked}, others \
                          over-booked it by {allowed}"
            ))
        })
        .collect();
    let text = || format!("is over-booked: {}", over.join("; "));
    (!over.is_empty()).then(|| Violation::new(Law::HostOverbooked, key, text()))
}

fn wrong_zone(snapshot: &Snapshot, key: &Key, slot: &Reservation) -> Option<Violation> {
    let name = slot.spec.target_host.as_deref().filter(|_| !on_its_way_out(slot))?;
    let (_, host) = snapshot.host(name)?;
    let (wanted, zone) = (slot.spec.availability_zone.as_ref(), host.labels().get(labels::ZONE));
    let text = || format!("its zone is {wanted:?}, its host {name} is in zone {zone:?}");
    (zone != wanted).then(|| Violation::new(Law::SlotInWrongZone, key, text()))
}

/// A slot is called after the commitment that it was made for. One that was given to another commitment by hand, or whose
/// commitment was restored from a backup, keeps its name.
fn misnamed(snapshot: &Snapshot, key: &Key, slot: &Reservation) -> Option<Violation> {
    let made_for = slot.annotations().get(labels::COMMITMENT_UID)?;
    let mut objects = snapshot.commitments_of(commitment_of(slot));
    let (commitment, _) = objects.find(|(_, object)| object.metadata.uid.as_ref() == Some(made_for))?;
    let good = key.name.strip_prefix(&*commitment.name).is_some_and(is_numbered);
    (!good).then(|| Violation::new(Law::SlotName, key, format!("its name is not {}-<number>", commitment.name)))
}

/// A number as we write it: the same number is the same text.
fn is_numbered(rest: &str) -> bool {
    let number = rest.strip_prefix('-').unwrap_or_default();
    number.parse::<u64>().is_ok_and(|parsed| parsed.to_string() == number)
}

fn vm_in_two_slots(snapshot: &Snapshot, key: &Key, slot: &Reservation) -> Option<Violation> {
    let twice: Vec<_> = confirmed(slot)
        .into_iter()
        .filter_map(|vm| {
            let first = snapshot.slots_with(&vm).next().filter(|first| *first != key)?;
            Some(format!("VM {} on host {} is confirmed in {first} as well", vm.0, vm.1))
        })
        .collect();
    (!twice.is_empty()).then(|| Violation::new(Law::VmInTwoSlots, key, twice.join("; ")))
}
