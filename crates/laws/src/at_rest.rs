//! The laws that hold when nothing is under way any more: sums, leftovers, and that what is said is true.

use berth_crds::{CommitmentState, CommittedResource, CommittedResourceSpec, Condition, Reservation, conditions};

use crate::{
    Key, Law, Snapshot, Violation,
    cores::idle,
    frozen::is_annotated,
    slots::{has_finalizer, is_ours, on_its_way_out, orphaned, slot_is_ready},
    snapshot::{commitment_of, in_force_on, says_duplicate},
};

mod followed;
mod identity;
mod vms;

use followed::{Followed, followed, sum};
use identity::{misattributed, unmarked};
use vms::{confirmed_untruly, unconfirmed};

/// What is broken when the world is at rest, ascending, besides what [`crate::always`] finds. Slots that were deleted and
/// are kept by finalizers of others are not judged, nor are frozen commitments (U57), nor hosts whose slots could not be
/// moved yet.
pub fn at_rest(snapshot: &Snapshot) -> Vec<Violation> {
    let slots = snapshot.slots().filter(|(_, slot)| !on_its_way_out(slot));
    let mut broken: Vec<_> = slots.flat_map(|(key, slot)| of_slot(snapshot, key, slot)).collect();
    for (key, object) in &snapshot.commitments {
        broken.extend(of_object(snapshot, key, object));
    }
    broken.sort();
    broken
}

fn of_slot(snapshot: &Snapshot, key: &Key, slot: &Reservation) -> Vec<Violation> {
    let orphan = if is_ours(slot) { None } else { orphaned(snapshot, key, slot) };
    let twice = number_twice(snapshot, key, slot);
    let vms = unconfirmed(snapshot, key, slot).into_iter().chain(confirmed_untruly(snapshot, key, slot));
    orphan.into_iter().chain(twice).chain(unmarked(key, slot)).chain(ready_elsewhere(key, slot)).chain(vms).collect()
}

/// Slots that were left to a duplicate in another cluster are not counted.
fn number_twice(snapshot: &Snapshot, key: &Key, slot: &Reservation) -> Option<Violation> {
    let uuid = commitment_of(slot);
    let same = |other: &&Key| snapshot.slot(other).is_some_and(|other| commitment_of(other) == uuid);
    let first = snapshot.slots_called(&key.name).find(same).filter(|first| *first != key)?;
    let left = snapshot.commitments_of(uuid).nth(1).is_some();
    (!left).then(|| Violation::new(Law::SlotNumberTwice, key, format!("is there also as {first}")))
}

/// A slot that says Ready is taken to hold room where it is in force.
fn ready_elsewhere(key: &Key, slot: &Reservation) -> Option<Violation> {
    let (target, host) = (slot.spec.target_host.as_deref(), in_force_on(slot));
    let untrue = slot_is_ready(slot) && (target.is_none() || target != host);
    let text = || format!("is Ready with target {target:?}, but in force on {host:?}");
    untrue.then(|| Violation::new(Law::SlotReadyUntrue, key, text()))
}

/// U14: an object that is not served holds nothing, and has to say so.
fn of_object(snapshot: &Snapshot, key: &Key, object: &CommittedResource) -> Vec<Violation> {
    let uuid = &object.spec.commitment_uuid;
    let served = snapshot.served(uuid);
    let is_served = served.iter().any(|(served, _)| *served == key);
    let mut broken = Vec::new();
    if served.is_empty() || says_duplicate(object) == is_served {
        let others = snapshot.commitments_of(uuid).count() - 1;
        let says = if says_duplicate(object) { "says DuplicateUUID" } else { "does not say DuplicateUUID" };
        let text = format!("{says}, and {others} other objects have its UUID");
        broken.push(Violation::new(Law::DuplicateUntrue, key, text));
    }
    if is_served && served.len() > 1 {
        let text = format!("is served, and so are {} other objects with its UUID", served.len() - 1);
        broken.push(Violation::new(Law::ServedTwice, key, text));
    }
    if is_served && !is_annotated(object) {
        broken.extend(of_commitment(snapshot, key, object));
    }
    broken
}

fn of_commitment(snapshot: &Snapshot, key: &Key, object: &CommittedResource) -> Vec<Violation> {
    let slots: Vec<_> = snapshot.slots_held(key, &object.spec.commitment_uuid).collect();
    if object.metadata.deletion_timestamp.is_some() {
        return left_over(key, object, &slots).into_iter().collect();
    }
    let Some(ready) = ready(object) else {
        return vec![Violation::new(Law::CommitmentSilent, key, "nothing is said about it")];
    };
    let mut staying: Vec<_> = slots.into_iter().filter(|(_, slot)| !on_its_way_out(slot)).collect();
    if ready.reason != "Accepted" {
        staying.retain(|(slot_key, slot)| !is_former(key, object, slot_key, slot));
    }
    let mut broken = said(key, object, ready);
    broken.extend(idle(snapshot, key, object));
    broken.extend(sum(key, object, &staying));
    if let Followed::Spec(spec) = followed(object) {
        broken.extend(staying.iter().filter_map(|(key, slot)| misattributed(key, slot, spec)));
    }
    if ready.reason == "Accepted" {
        broken.extend(accepted(key, object));
        broken.extend(staying.iter().filter_map(|(key, slot)| not_in_force(key, slot)));
    }
    broken
}

/// A commitment that has moved to another cluster holds what it had in the former one until its new slots are in force.
fn is_former(key: &Key, object: &CommittedResource, slot_key: &Key, slot: &Reservation) -> bool {
    let zone_is_another = |spec: &CommittedResourceSpec| {
        slot.spec.availability_zone.as_ref().is_some_and(|zone| *zone != spec.availability_zone)
    };
    slot_key.cluster != key.cluster && matches!(followed(object), Followed::Spec(spec) if zone_is_another(spec))
}

/// Somebody else may keep it, or one of its slots; we do not.
fn left_over(key: &Key, object: &CommittedResource, slots: &[(&Key, &Reservation)]) -> Option<Violation> {
    let staying = slots.iter().filter(|(_, slot)| !on_its_way_out(slot)).count();
    let kept_by_us = has_finalizer(object) && (slots.is_empty() || staying > 0);
    let text = || format!("it is deleted, but still there, with {staying} slots that were not deleted");
    kept_by_us.then(|| Violation::new(Law::CommitmentLeftOver, key, text()))
}

fn said(key: &Key, object: &CommittedResource, ready: &Condition) -> Vec<Violation> {
    let mut broken = Vec::new();
    if ready.observed_generation != object.metadata.generation {
        let (about, is) = (ready.observed_generation, object.metadata.generation);
        let text = format!("what is said is about generation {about:?}, it has {is:?}");
        broken.push(Violation::new(Law::ConditionOutdated, key, text));
    }
    if (ready.status == "True") != (ready.reason == "Accepted") {
        let text = format!("its Ready is {} with the reason {}", ready.status, ready.reason);
        broken.push(Violation::new(Law::ReadyUntrue, key, text));
    }
    let summary = object.status.as_ref().and_then(|status| status.status_summary.as_deref()).unwrap_or_default();
    if !summary.starts_with(&ready.reason) {
        let text = format!("its summary {summary:?} does not begin with {}", ready.reason);
        broken.push(Violation::new(Law::SummaryUntrue, key, text));
    }
    broken
}

fn accepted(key: &Key, object: &CommittedResource) -> Vec<Violation> {
    let status = object.status.as_ref();
    let as_it_is = status
        .is_some_and(|status| status.accepted_at.is_some() && status.accepted_spec.as_ref() == Some(&object.spec));
    let mut broken = Vec::new();
    if !as_it_is {
        let text = "it is Accepted, but the accepted spec is not its spec";
        broken.push(Violation::new(Law::AcceptedSpec, key, text));
    }
    let state = object.spec.state;
    if !matches!(state, CommitmentState::Pending | CommitmentState::Guaranteed | CommitmentState::Confirmed) {
        broken.push(Violation::new(Law::AcceptedState, key, format!("it is Accepted in the state {state}")));
    }
    broken
}

/// A slot of an accepted commitment that holds no room.
fn not_in_force(key: &Key, slot: &Reservation) -> Option<Violation> {
    let (target, host) = (slot.spec.target_host.as_deref(), in_force_on(slot));
    let not_ready = if slot_is_ready(slot) { "" } else { ", it is not Ready" };
    let broken = target.is_none() || target != host || !not_ready.is_empty();
    let text =
        || format!("its commitment is Accepted, but its target is {target:?}, it is in force on {host:?}{not_ready}");
    broken.then(|| Violation::new(Law::SlotNotInForce, key, text()))
}

fn ready(commitment: &CommittedResource) -> Option<&Condition> {
    conditions::ready(&commitment.status.as_ref()?.conditions)
}
