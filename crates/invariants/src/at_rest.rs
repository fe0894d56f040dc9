//! The invariants that hold when nothing is under way: sums, leftovers, and true conditions.

use std::collections::BTreeSet;

use berth_crds::{
    CommitmentState, CommittedResource, CommittedResourceSpec, Condition, Reservation, conditions, labels, resources,
};
use kube::ResourceExt;

use crate::amounts::{memory_of, mib_up, used};
use crate::cores::idle;
use crate::paused::is_annotated;
use crate::slots::{has_finalizer, is_ours, on_its_way_out, orphaned, slot_is_ready};
use crate::snapshot::{commitment_of, confirmed, in_force_on, is_reported_duplicate};
use crate::usage::listed_twice;
use crate::{Invariant, Key, Snapshot, Violation};

/// Violations of the invariants at rest, ascending, besides those that [`crate::always`] finds. Slots that were deleted
/// and are kept by finalizers of others are not checked, nor are paused commitments, nor hosts whose slots could not be
/// moved yet.
pub fn at_rest(snapshot: &Snapshot) -> Vec<Violation> {
    let slots = snapshot.slots().filter(|(_, slot)| !on_its_way_out(slot));
    let mut violations: Vec<_> = slots.flat_map(|(key, slot)| check_slot(snapshot, key, slot)).collect();
    for (key, object) in &snapshot.commitments {
        violations.extend(check_object(snapshot, key, object));
    }
    violations.extend(listed_twice(snapshot));
    violations.sort();
    violations
}

fn check_slot(snapshot: &Snapshot, key: &Key, slot: &Reservation) -> Vec<Violation> {
    let orphan = if is_ours(slot) { None } else { orphaned(snapshot, key, slot) };
    let twice = number_twice(snapshot, key, slot);
    let vms = unconfirmed(snapshot, key, slot).into_iter().chain(confirmed_untruly(snapshot, key, slot));
    orphan
        .into_iter()
        .chain(twice)
        .chain(unmarked(key, slot))
        .chain(check_ready_on_other_host(key, slot))
        .chain(vms)
        .collect()
}

/// Slots that were left to a duplicate in another cluster are not counted.
fn number_twice(snapshot: &Snapshot, key: &Key, slot: &Reservation) -> Option<Violation> {
    let uuid = commitment_of(slot);
    let same = |other: &&Key| snapshot.slot(other).is_some_and(|other| commitment_of(other) == uuid);
    let first = snapshot.slots_named(&key.name).find(same).filter(|first| *first != key)?;
    let left = snapshot.commitments_of(uuid).nth(1).is_some();
    (!left).then(|| Violation::new(Invariant::SlotNumberTwice, key, format!("is there also as {first}")))
}

/// A slot with Ready True counts as holding capacity where it is in force.
fn check_ready_on_other_host(key: &Key, slot: &Reservation) -> Option<Violation> {
    let (target, host) = (slot.spec.target_host.as_deref(), in_force_on(slot));
    let untrue = slot_is_ready(slot) && (target.is_none() || target != host);
    let text = || format!("is Ready with target {target:?}, but in force on {host:?}");
    untrue.then(|| Violation::new(Invariant::SlotReadyUntrue, key, text()))
}

/// An object that is not served has no slots, and must report that.
fn check_object(snapshot: &Snapshot, key: &Key, object: &CommittedResource) -> Vec<Violation> {
    let uuid = &object.spec.commitment_uuid;
    let served = snapshot.served(uuid);
    let is_served = served.iter().any(|(served, _)| *served == key);
    let mut violations = Vec::new();
    if served.is_empty() || is_reported_duplicate(object) == is_served {
        let others = snapshot.commitments_of(uuid).count() - 1;
        let report = if is_reported_duplicate(object) { "says DuplicateUUID" } else { "does not say DuplicateUUID" };
        let text = format!("{report}, and {others} other objects have its UUID");
        violations.push(Violation::new(Invariant::DuplicateUntrue, key, text));
    }
    if is_served && served.len() > 1 {
        let text = format!("is served, and so are {} other objects with its UUID", served.len() - 1);
        violations.push(Violation::new(Invariant::ServedTwice, key, text));
    }
    if is_served && !is_annotated(object) {
        violations.extend(check_commitment(snapshot, key, object));
    }
    violations
}

fn check_commitment(snapshot: &Snapshot, key: &Key, object: &CommittedResource) -> Vec<Violation> {
    let slots: Vec<_> = snapshot.slots_held(key, &object.spec.commitment_uuid).collect();
    if object.metadata.deletion_timestamp.is_some() {
        return check_left_over(key, object, &slots).into_iter().collect();
    }
    let Some(ready) = ready(object) else {
        return vec![Violation::new(Invariant::CommitmentSilent, key, "nothing is said about it")];
    };
    let mut staying: Vec<_> = slots.into_iter().filter(|(_, slot)| !on_its_way_out(slot)).collect();
    if ready.reason != "Accepted" {
        staying.retain(|(slot_key, slot)| !is_former(key, object, slot_key, slot));
    }
    let mut violations = check_ready_condition(key, object, ready);
    violations.extend(idle(snapshot, key, object));
    violations.extend(sum(key, object, &staying));
    if let FollowedSpec::Spec(spec) = synced(object) {
        violations.extend(staying.iter().filter_map(|(key, slot)| misattributed(key, slot, spec)));
    }
    if ready.reason == "Accepted" {
        violations.extend(accepted(key, object));
        violations.extend(staying.iter().filter_map(|(key, slot)| not_in_force(key, slot)));
    }
    violations
}

/// A commitment that has moved to another cluster holds what it had in the former one until its new slots are in force.
fn is_former(key: &Key, object: &CommittedResource, slot_key: &Key, slot: &Reservation) -> bool {
    let zone_is_another = |spec: &CommittedResourceSpec| {
        slot.spec.availability_zone.as_ref().is_some_and(|zone| *zone != spec.availability_zone)
    };
    slot_key.cluster != key.cluster && matches!(synced(object), FollowedSpec::Spec(spec) if zone_is_another(spec))
}

/// Another client may keep it, or one of its slots; Berth does not.
fn check_left_over(key: &Key, object: &CommittedResource, slots: &[(&Key, &Reservation)]) -> Option<Violation> {
    let staying = slots.iter().filter(|(_, slot)| !on_its_way_out(slot)).count();
    let kept_by_us = has_finalizer(object) && (slots.is_empty() || staying > 0);
    let text = || format!("it is deleted, but still there, with {staying} slots that were not deleted");
    kept_by_us.then(|| Violation::new(Invariant::CommitmentLeftOver, key, text()))
}

fn check_ready_condition(key: &Key, object: &CommittedResource, ready: &Condition) -> Vec<Violation> {
    let mut violations = Vec::new();
    if ready.observed_generation != object.metadata.generation {
        let (about, is) = (ready.observed_generation, object.metadata.generation);
        let text = format!("what is said is about generation {about:?}, it has {is:?}");
        violations.push(Violation::new(Invariant::ConditionOutdated, key, text));
    }
    if (ready.status == "True") != (ready.reason == "Accepted") {
        let text = format!("its Ready is {} with the reason {}", ready.status, ready.reason);
        violations.push(Violation::new(Invariant::ReadyUntrue, key, text));
    }
    let summary = object.status.as_ref().and_then(|status| status.status_summary.as_deref()).unwrap_or_default();
    if !summary.starts_with(&ready.reason) {
        let text = format!("its summary {summary:?} does not begin with {}", ready.reason);
        violations.push(Violation::new(Invariant::SummaryUntrue, key, text));
    }
    violations
}

fn accepted(key: &Key, object: &CommittedResource) -> Vec<Violation> {
    let status = object.status.as_ref();
    let as_it_is = status
        .is_some_and(|status| status.accepted_at.is_some() && status.accepted_spec.as_ref() == Some(&object.spec));
    let mut violations = Vec::new();
    if !as_it_is {
        let text = "it is Accepted, but the accepted spec is not its spec";
        violations.push(Violation::new(Invariant::AcceptedSpec, key, text));
    }
    let state = object.spec.state;
    if !matches!(state, CommitmentState::Pending | CommitmentState::Guaranteed | CommitmentState::Confirmed) {
        violations.push(Violation::new(Invariant::AcceptedState, key, format!("it is Accepted in the state {state}")));
    }
    violations
}

/// A slot of an accepted commitment that holds no free capacity.
fn not_in_force(key: &Key, slot: &Reservation) -> Option<Violation> {
    let (target, host) = (slot.spec.target_host.as_deref(), in_force_on(slot));
    let not_ready = if slot_is_ready(slot) { "" } else { ", it is not Ready" };
    let violations = target.is_none() || target != host || !not_ready.is_empty();
    let text =
        || format!("its commitment is Accepted, but its target is {target:?}, it is in force on {host:?}{not_ready}");
    violations.then(|| Violation::new(Invariant::SlotNotInForce, key, text()))
}

fn ready(commitment: &CommittedResource) -> Option<&Condition> {
    conditions::ready(&commitment.status.as_ref()?.conditions)
}

/// The spec that the slots of a commitment follow.
enum FollowedSpec<'a> {
    Spec(&'a CommittedResourceSpec),
    Nothing,
    /// It waits for something else than free capacity, and its slots stay as they are.
    Unknown,
}

fn synced(commitment: &CommittedResource) -> FollowedSpec<'_> {
    let Some(status) = &commitment.status else { return FollowedSpec::Unknown };
    let Some(ready) = conditions::ready(&status.conditions) else { return FollowedSpec::Unknown };
    let for_room = ["insufficient capacity", "waiting for reservation placement"];
    match ready.reason.as_str() {
        "Accepted" => FollowedSpec::Spec(&commitment.spec),
        "Reserving" if for_room.iter().any(|text| ready.message.starts_with(text)) => {
            FollowedSpec::Spec(&commitment.spec)
        }
        "Rejected" => status.accepted_spec.as_ref().map_or(FollowedSpec::Nothing, FollowedSpec::Spec),
        "Planned" | "superseded" | "expired" => FollowedSpec::Nothing,
        _ => FollowedSpec::Unknown,
    }
}

/// The slots are summed in bytes and rounded up to MiB once.
fn sum(key: &Key, commitment: &CommittedResource, slots: &[(&Key, &Reservation)]) -> Option<Violation> {
    let wanted = match synced(commitment) {
        FollowedSpec::Spec(spec) => memory_of(spec),
        FollowedSpec::Nothing => 0,
        FollowedSpec::Unknown => return None,
    };
    let bytes = slots.iter().map(|(_, slot)| used(&slot.spec.resources, resources::MEMORY)).sum();
    let (held, wanted, slots) = (mib_up(bytes), mib_up(wanted), slots.len());
    let text = || format!("its {slots} slots hold {held} MiB, not {wanted} MiB");
    (held != wanted).then(|| Violation::new(Invariant::SlotSum, key, text()))
}

// The owner of a slot, in all places that name it.

/// A slot whose data about its commitment is missing or wrong.
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
    (!wrong.is_empty()).then(|| Violation::new(Invariant::SlotIdentity, key, wrong.join("; ")))
}

/// A slot without the annotation is never deleted as an orphan.
fn unmarked(key: &Key, slot: &Reservation) -> Option<Violation> {
    let text = || format!("is not marked as ours: it has no annotation {}", labels::COMMITMENT_UID);
    (!is_ours(slot)).then(|| Violation::new(Invariant::SlotUnmarked, key, text()))
}

// Whether the status of a slot in force is correct about its VMs. Slots that are not in force, of a paused commitment
// or on an unknown host are not checked.

/// The VMs that are there and that the status does not name.
fn unconfirmed(snapshot: &Snapshot, key: &Key, slot: &Reservation) -> Option<Violation> {
    let (host, listed) = surroundings(snapshot, slot)?;
    let confirmed = confirmed(slot);
    let missing: Vec<_> = expected(slot)
        .filter(|vm| listed.contains(vm) && !confirmed.contains(&((*vm).to_owned(), host.to_owned())))
        .filter(|vm| first(snapshot, host, vm) == Some(key))
        .collect();
    let text = || format!("expects VMs that are on its host {host}, and does not confirm them: {}", missing.join(", "));
    (!missing.is_empty()).then(|| Violation::new(Invariant::VmUnconfirmed, key, text()))
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
    (!untrue.is_empty()).then(|| Violation::new(Invariant::VmConfirmedUntrue, key, text()))
}

/// The host of a slot that is in force, and the VMs that it lists.
fn surroundings<'a>(snapshot: &'a Snapshot, slot: &'a Reservation) -> Option<(&'a str, BTreeSet<&'a str>)> {
    let paused = snapshot.commitments_of(commitment_of(slot)).any(|(_, commitment)| is_annotated(commitment));
    let host = in_force_at(slot).filter(|_| !paused)?;
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
