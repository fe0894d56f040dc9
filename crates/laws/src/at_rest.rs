//! The laws that hold when nothing is under way any more: sums, leftovers, and that what is said is true.

use std::collections::BTreeSet;

use berth_crds::{
    CommitmentState, CommittedResource, CommittedResourceSpec, Condition, Reservation, conditions, labels, resources,
};
use kube::ResourceExt;

use crate::amounts::{memory_of, mib_up, used};
use crate::cores::idle;
use crate::frozen::is_annotated;
use crate::slots::{has_finalizer, is_ours, on_its_way_out, orphaned, slot_is_ready};
use crate::snapshot::{commitment_of, confirmed, in_force_on, says_duplicate};
use crate::{Key, Law, Snapshot, Violation};

/// What is broken when the world is at rest, ascending, besides what [`crate::always`] finds. Slots that were deleted
/// and are kept by finalizers of others are not judged, nor are frozen commitments, nor hosts whose slots could not be
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

// What the slots of a commitment add up to.

/// What the slots of a commitment follow.
enum Followed<'a> {
    /// This spec, exactly.
    Spec(&'a CommittedResourceSpec),
    /// It has no slots.
    Nothing,
    /// It waits for something else than room, and its slots stay as they are.
    Unknown,
}

fn followed(commitment: &CommittedResource) -> Followed<'_> {
    let Some(status) = &commitment.status else { return Followed::Unknown };
    let Some(ready) = conditions::ready(&status.conditions) else { return Followed::Unknown };
    let for_room = ["insufficient capacity", "waiting for reservation placement"];
    match ready.reason.as_str() {
        "Accepted" => Followed::Spec(&commitment.spec),
        "Reserving" if for_room.iter().any(|text| ready.message.starts_with(text)) => Followed::Spec(&commitment.spec),
        "Rejected" => status.accepted_spec.as_ref().map_or(Followed::Nothing, Followed::Spec),
        "Planned" | "superseded" | "expired" => Followed::Nothing,
        _ => Followed::Unknown,
    }
}

/// The slots are summed in bytes and rounded up to MiB once.
fn sum(key: &Key, commitment: &CommittedResource, slots: &[(&Key, &Reservation)]) -> Option<Violation> {
    let wanted = match followed(commitment) {
        Followed::Spec(spec) => memory_of(spec),
        Followed::Nothing => 0,
        Followed::Unknown => return None,
    };
    let bytes = slots.iter().map(|(_, slot)| used(&slot.spec.resources, resources::MEMORY)).sum();
    let (held, wanted, slots) = (mib_up(bytes), mib_up(wanted), slots.len());
    let text = || format!("its {slots} slots hold {held} MiB, not {wanted} MiB");
    (held != wanted).then(|| Violation::new(Law::SlotSum, key, text()))
}

// Whose a slot is, in all the places in which somebody looks for that.

/// A slot that does not say of whom and what its commitment is.
fn misattributed(key: &Key, slot: &Reservation, spec: &CommittedResourceSpec) -> Option<Violation> {
    let data = slot.spec.committed_resource_reservation.as_ref();
    let label = slot.labels().get(labels::TYPE).map(String::as_str);
    let text = |value: Option<&String>| value.cloned().unwrap_or_default();
    let [end, wanted_end] =
        [&slot.spec.end_time, &spec.end_time].map(|time| time.as_ref().map(|time| time.0.to_string()));
    let is = [
        ("zone", text(slot.spec.availability_zone.as_ref()), spec.availability_zone.clone()),
        ("project", text(data.and_then(|data| data.project_id.as_ref())), spec.project_id.clone()),
        ("domain", text(data.and_then(|data| data.domain_id.as_ref())), spec.domain_id.clone()),
        ("group", text(data.and_then(|data| data.resource_group.as_ref())), spec.flavor_group_name.clone()),
        ("label", label.unwrap_or_default().to_owned(), labels::TYPE_COMMITTED_RESOURCE.to_owned()),
        ("end", end.unwrap_or_default(), wanted_end.unwrap_or_default()),
    ];
    let wrong = is.into_iter().filter(|(_, found, wanted)| found != wanted);
    let wrong: Vec<_> = wrong.map(|(what, found, wanted)| format!("its {what} is {found:?}, not {wanted:?}")).collect();
    (!wrong.is_empty()).then(|| Violation::new(Law::SlotIdentity, key, wrong.join("; ")))
}

/// A slot without the annotation is never deleted as an orphan.
fn unmarked(key: &Key, slot: &Reservation) -> Option<Violation> {
    let text = || format!("is not marked as ours: it has no annotation {}", labels::COMMITMENT_UID);
    (!is_ours(slot)).then(|| Violation::new(Law::SlotUnmarked, key, text()))
}

// Whether the status of a slot in force tells the truth about its VMs. Where it is not in force, its commitment is frozen or
// its host is not known, nothing is judged.

/// The VMs that are there and that the status does not name.
fn unconfirmed(snapshot: &Snapshot, key: &Key, slot: &Reservation) -> Option<Violation> {
    let (host, listed) = surroundings(snapshot, slot)?;
    let confirmed = confirmed(slot);
    let missing: Vec<_> = expected(slot)
        .filter(|vm| listed.contains(vm) && !confirmed.contains(&((*vm).to_owned(), host.to_owned())))
        .filter(|vm| first(snapshot, host, vm) == Some(key))
        .collect();
    let text = || format!("expects VMs that are on its host {host}, and does not confirm them: {}", missing.join(", "));
    (!missing.is_empty()).then(|| Violation::new(Law::VmUnconfirmed, key, text()))
}

/// The VMs that the status names although they are not expected, or not there.
fn confirmed_untruly(snapshot: &Snapshot, key: &Key, slot: &Reservation) -> Option<Violation> {
    let (host, listed) = surroundings(snapshot, slot)?;
    let untrue = |(vm, on): &(String, String)| {
        let is_expected = expected(slot).any(|expected| expected == vm);
        !is_expected || on != host || !listed.contains(vm.as_str())
    };
    let untrue: Vec<_> = confirmed(slot).into_iter().filter(untrue).map(|(vm, on)| format!("{vm} on {on}")).collect();
    let text =
        || format!("confirms VMs that it does not expect or that are not on its host {host}: {}", untrue.join(", "));
    (!untrue.is_empty()).then(|| Violation::new(Law::VmConfirmedUntrue, key, text()))
}

/// The host of a slot that is in force, and the VMs that it lists.
fn surroundings<'a>(snapshot: &'a Snapshot, slot: &'a Reservation) -> Option<(&'a str, BTreeSet<&'a str>)> {
    let frozen = snapshot.commitments_of(commitment_of(slot)).any(|(_, commitment)| is_annotated(commitment));
    let host = in_force_at(slot).filter(|_| !frozen)?;
    let (_, object) = snapshot.host(host)?;
    let listed = object.status.iter().flat_map(|status| &status.instances).map(|vm| vm.id.as_str()).collect();
    Some((host, listed))
}

fn in_force_at(slot: &Reservation) -> Option<&str> {
    in_force_on(slot).filter(|host| slot_is_ready(slot) && slot.spec.target_host.as_deref() == Some(host))
}

fn expected(slot: &Reservation) -> impl Iterator<Item = &str> {
    slot.spec.committed_resource_reservation.iter().flat_map(|data| data.allocations.keys()).map(String::as_str)
}

/// The slot in which a VM of a host counts.
fn first<'a>(snapshot: &'a Snapshot, host: &'a str, vm: &'a str) -> Option<&'a Key> {
    let mut here = snapshot.reservations_on(host).filter_map(|(key, _)| Some((key, snapshot.slot(key)?)));
    here.find(|(_, slot)| in_force_at(slot) == Some(host) && expected(slot).any(|expected| expected == vm))
        .map(|(key, _)| key)
}
