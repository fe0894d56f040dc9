//! The invariants of a single slot and its commitment after every write.

use berth_crds::{CommittedResource, Reservation, conditions, labels};
use kube::ResourceExt;

use crate::snapshot::{commitment_of, confirmed};
use crate::zones::of_zone;
use crate::{Invariant, Key, Snapshot, Violation};

/// Whether a commitment, a slot or a change still violates an invariant.
pub(crate) fn stands(snapshot: &Snapshot, invariant: Invariant, object: &Key) -> bool {
    let slot = snapshot.slot(object);
    match invariant {
        Invariant::FinalizerMissing => {
            let commitment = snapshot.commitments.get(object);
            commitment.is_some_and(|one| unprotected(snapshot, &one.spec.commitment_uuid).is_some())
        }
        Invariant::SlotInWrongZone => slot.is_some_and(|slot| wrong_zone(snapshot, object, slot).is_some()),
        Invariant::ZoneChangedTwice => {
            let zone = snapshot.changes.get(object).map(|change| change.spec.availability_zone.as_str());
            zone.is_some_and(|zone| of_zone(snapshot, zone).iter().any(|violation| violation.object == *object))
        }
        _ => slot.is_some_and(|slot| {
            of_slot(snapshot, object, slot).iter().any(|violations| violations.invariant == invariant)
        }),
    }
}

pub(crate) fn of_slot(snapshot: &Snapshot, key: &Key, slot: &Reservation) -> Vec<Violation> {
    let violations = [
        if is_ours(slot) { orphaned(snapshot, key, slot) } else { None },
        wrong_zone(snapshot, key, slot),
        misnamed(snapshot, key, slot),
        vm_in_two_slots(snapshot, key, slot),
    ];
    violations.into_iter().flatten().collect()
}

/// Slots of old data are not marked as ours.
pub(crate) fn is_ours(slot: &Reservation) -> bool {
    slot.annotations().contains_key(labels::COMMITMENT_UID)
}

/// True for a slot that was deleted and is kept by finalizers.
pub(crate) fn on_its_way_out(slot: &Reservation) -> bool {
    slot.metadata.deletion_timestamp.is_some()
}

/// An orphaned slot holds capacity without a use. For a moment it may be undecided which of two duplicates in two
/// clusters is served; [`Invariant::DuplicateUntrue`] finds at rest that none is.
pub(crate) fn orphaned(snapshot: &Snapshot, key: &Key, slot: &Reservation) -> Option<Violation> {
    let uuid = commitment_of(slot);
    let is_orphaned = !on_its_way_out(slot) && snapshot.commitments_of(uuid).next().is_none();
    let text = || format!("belongs to 0 served commitments: none has the UUID {uuid:?}");
    is_orphaned.then(|| Violation::new(Invariant::SlotOrphaned, key, text()))
}

/// A commitment with slots cannot go without them.
pub(crate) fn unprotected(snapshot: &Snapshot, uuid: &str) -> Option<Violation> {
    let served = snapshot.served(uuid);
    let (key, _) = served.first().filter(|_| !served.iter().any(|(_, object)| has_finalizer(object)))?;
    let slots = Some(snapshot.slots_held(key, uuid).count()).filter(|count| *count > 0)?;
    let text = format!("has {slots} slots and no finalizer {}", labels::RELEASE_SLOTS);
    Some(Violation::new(Invariant::FinalizerMissing, key, text))
}

/// True for a commitment that goes only after its slots.
pub(crate) fn has_finalizer(commitment: &CommittedResource) -> bool {
    commitment.finalizers().iter().any(|finalizer| finalizer == labels::RELEASE_SLOTS)
}

pub(crate) fn wrong_zone(snapshot: &Snapshot, key: &Key, slot: &Reservation) -> Option<Violation> {
    let name = slot.spec.target_host.as_deref().filter(|_| !on_its_way_out(slot))?;
    let (_, host) = snapshot.host(name)?;
    let (wanted, zone) = (slot.spec.availability_zone.as_ref(), host.labels().get(labels::ZONE));
    let text = || format!("its zone is {wanted:?}, its host {name} is in zone {zone:?}");
    (zone != wanted).then(|| Violation::new(Invariant::SlotInWrongZone, key, text()))
}

/// A slot is called after the commitment that it was made for. One that was given to another commitment by hand or by a change,
/// or whose commitment was restored from a backup, keeps its name.
fn misnamed(snapshot: &Snapshot, key: &Key, slot: &Reservation) -> Option<Violation> {
    if slot.annotations().contains_key(labels::INHERITED_FROM) {
        return None;
    }
    let made_for = slot.annotations().get(labels::COMMITMENT_UID)?;
    let mut objects = snapshot.commitments_of(commitment_of(slot));
    let (commitment, _) = objects.find(|(_, object)| object.metadata.uid.as_ref() == Some(made_for))?;
    let good = key.name.strip_prefix(&*commitment.name).is_some_and(is_numbered);
    (!good).then(|| Violation::new(Invariant::SlotName, key, format!("its name is not {}-<number>", commitment.name)))
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
    (!twice.is_empty()).then(|| Violation::new(Invariant::VmInTwoSlots, key, twice.join("; ")))
}

pub(crate) fn slot_is_ready(slot: &Reservation) -> bool {
    slot.status.as_ref().is_some_and(|status| conditions::is_ready(&status.conditions))
}
