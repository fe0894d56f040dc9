//! What must be true whatever happened, worked out from the objects alone and apart from the code that it judges: who
//! holds how much, and what is free on a host. The block formula is document 21 section 9 with U5 and U35, written anew.

use std::collections::{BTreeMap, BTreeSet};

use berth_crds::{
    CommitmentState, CommittedResource, CommittedResourceSpec, Hypervisor, Reservation, ResourceType, labels, resources,
};
use kube::ResourceExt;

use super::seen::{Seen, amount, commitment_of, in_force_on, readable_amount, ready, slot_ready};

const MIB: i64 = 1 << 20;

/// What is broken at any moment, also in the middle of something.
pub fn broken_always(seen: &Seen) -> Vec<String> {
    let mut broken = overbooked(seen);
    broken.extend(seen.slots().filter_map(|slot| unprotected(slot, seen)));
    broken
}

/// What is broken when nothing is under way any more. A host whose slots could not be moved yet is not judged here.
pub fn broken_at_rest(seen: &Seen) -> Vec<String> {
    let mut broken = broken_always(seen);
    broken.extend(seen.slots().filter_map(|slot| orphan(slot, seen)));
    for commitment in seen.commitments.iter().filter(|commitment| is_served(commitment)) {
        let name = commitment.name_any();
        broken.extend(commitment_at_rest(commitment, seen).into_iter().map(|law| format!("{name}: {law}")));
    }
    broken
}

/// No host holds more than fits.
fn overbooked(seen: &Seen) -> Vec<String> {
    let over = |host: &Hypervisor| {
        let short = [resources::MEMORY, resources::CPU].into_iter().filter_map(|resource| {
            let free = free(host, resource, seen)?;
            (free < 0).then(|| format!("{} is over-booked: {free} of {resource} left", host.name_any()))
        });
        short.collect::<Vec<_>>()
    };
    seen.hosts.iter().flat_map(over).collect()
}

/// Capacity without VMs and blocks; nothing when the host does not say what it has.
fn free(host: &Hypervisor, resource: &str, seen: &Seen) -> Option<i64> {
    let status = host.status.as_ref()?;
    let capacity = if status.effective_capacity.is_empty() { &status.capacity } else { &status.effective_capacity };
    let here: BTreeSet<&str> = status.instances.iter().map(|vm| vm.id.as_str()).collect();
    let mut counted = BTreeSet::new();
    let blocked: i64 = seen
        .reservations
        .iter()
        .filter(|reservation| names(reservation, &host.name_any()))
        .map(|reservation| block(reservation, resource, &here, &mut counted))
        .sum();
    Some(readable_amount(capacity, resource)? - amount(&status.allocation, resource) - blocked)
}

/// U5: without a target a reservation is nowhere, otherwise it is there and where it is in force.
fn names(reservation: &Reservation, host: &str) -> bool {
    let target = reservation.spec.target_host.as_deref();
    target.is_some() && (target == Some(host) || in_force_on(reservation) == Some(host))
}

/// U35: VMs that are here are in the allocation of the host already, each once; the others are still to come.
fn block<'a>(slot: &'a Reservation, resource: &str, here: &BTreeSet<&str>, counted: &mut BTreeSet<&'a str>) -> i64 {
    let vms = slot.spec.committed_resource_reservation.iter().flat_map(|data| &data.allocations);
    let (mut arrived, mut to_come) = (0, 0);
    for (vm, allocation) in vms {
        let size = amount(&allocation.resources, resource);
        if !here.contains(vm.as_str()) {
            to_come += size;
        } else if counted.insert(vm.as_str()) {
            arrived += size;
        }
    }
    (amount(&slot.spec.resources, resource) - arrived).max(0).max(to_come)
}

/// A commitment with slots cannot go without them (D1).
fn unprotected(slot: &Reservation, seen: &Seen) -> Option<String> {
    let of = seen.commitments.iter().filter(|commitment| commitment.spec.commitment_uuid == commitment_of(slot));
    let mut served = of.filter(|commitment| is_served(commitment)).peekable();
    served.peek()?;
    let protected = served.any(|commitment| commitment.finalizers().iter().any(|name| name == labels::RELEASE_SLOTS));
    (!protected).then(|| format!("{}: its commitment has no finalizer", slot.name_any()))
}

fn orphan(slot: &Reservation, seen: &Seen) -> Option<String> {
    let of = seen.commitments.iter().filter(|c| c.spec.commitment_uuid == commitment_of(slot) && is_served(c));
    let count = of.count();
    (count != 1).then(|| format!("{}: belongs to {count} served commitments", slot.name_any()))
}

/// U14: an object that says that another one is served in its place holds nothing.
fn is_served(commitment: &CommittedResource) -> bool {
    ready(commitment).is_none_or(|ready| ready.reason != "DuplicateUUID")
}

fn commitment_at_rest(commitment: &CommittedResource, seen: &Seen) -> Vec<String> {
    let Some(ready) = ready(commitment) else { return vec!["nothing is said about it".to_owned()] };
    let mut broken = Vec::new();
    if commitment.metadata.deletion_timestamp.is_some() {
        broken.push("it is deleted, but still there".to_owned());
    }
    if ready.observed_generation != commitment.metadata.generation {
        broken.push(format!("what is said is about generation {:?}", ready.observed_generation));
    }
    let summary = commitment.status.as_ref().and_then(|status| status.status_summary.clone()).unwrap_or_default();
    if !summary.starts_with(&ready.reason) {
        broken.push(format!("the summary {summary:?} does not begin with {}", ready.reason));
    }
    let slots = seen.slots_of(&commitment.spec.commitment_uuid);
    broken.extend(sum(commitment, &slots));
    broken.extend(slots.iter().flat_map(|slot| identity(commitment, slot)));
    if ready.reason == "Accepted" {
        broken.extend(accepted(commitment, &slots, seen));
    }
    broken
}

/// The slots are exactly what is wanted, or what was accepted before it was refused.
fn sum(commitment: &CommittedResource, slots: &[&Reservation]) -> Option<String> {
    let wanted = match followed(commitment) {
        Followed::Spec(spec) => memory(spec),
        Followed::Nothing => 0,
        Followed::Unknown => return None,
    };
    let bytes: i64 = slots.iter().map(|slot| amount(&slot.spec.resources, resources::MEMORY)).sum();
    let (held, wanted) = (mib_up(bytes), mib_up(wanted));
    (held != wanted).then(|| format!("its slots hold {held} MiB, not {wanted} MiB"))
}

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
    let Some((ready, status)) = ready(commitment).zip(commitment.status.as_ref()) else { return Followed::Unknown };
    let for_room = ["insufficient capacity", "waiting for reservation placement"];
    match ready.reason.as_str() {
        "Accepted" => Followed::Spec(&commitment.spec),
        "Reserving" if for_room.iter().any(|text| ready.message.starts_with(text)) => Followed::Spec(&commitment.spec),
        "Rejected" => status.accepted_spec.as_ref().map_or(Followed::Nothing, Followed::Spec),
        "Planned" | "superseded" | "expired" => Followed::Nothing,
        _ => Followed::Unknown,
    }
}

fn memory(spec: &CommittedResourceSpec) -> i64 {
    let map = BTreeMap::from([(resources::MEMORY.to_owned(), spec.amount.clone())]);
    if spec.resource_type == ResourceType::Memory { amount(&map, resources::MEMORY) } else { 0 }
}

fn mib_up(bytes: i64) -> i64 {
    (bytes + MIB - 1) / MIB
}

/// A slot says whose it is, in all the places in which somebody looks for that.
fn identity(commitment: &CommittedResource, slot: &Reservation) -> Vec<String> {
    let Followed::Spec(spec) = followed(commitment) else { return Vec::new() };
    let data = slot.spec.committed_resource_reservation.clone().unwrap_or_default();
    let is = [
        ("zone", slot.spec.availability_zone.clone(), Some(spec.availability_zone.clone())),
        ("project", data.project_id, Some(spec.project_id.clone())),
        ("domain", data.domain_id, Some(spec.domain_id.clone())),
        ("group", data.resource_group, Some(spec.flavor_group_name.clone())),
        ("label", slot.labels().get(labels::TYPE).cloned(), Some(labels::TYPE_COMMITTED_RESOURCE.to_owned())),
        ("end", slot.spec.end_time.as_ref().map(|t| t.0.to_string()), spec.end_time.as_ref().map(|t| t.0.to_string())),
    ];
    let unmarked = (!slot.annotations().contains_key(labels::COMMITMENT_UID))
        .then(|| format!("{}: is not marked as ours", slot.name_any()));
    let wrong = is.into_iter().filter(|(_, found, wanted)| found != wanted);
    let wrong =
        wrong.map(|(what, found, wanted)| format!("{}: its {what} is {found:?}, not {wanted:?}", slot.name_any()));
    wrong.chain(unmarked).collect()
}

fn accepted(commitment: &CommittedResource, slots: &[&Reservation], seen: &Seen) -> Vec<String> {
    let status = commitment.status.clone().unwrap_or_default();
    let mut broken = Vec::new();
    if status.accepted_spec.as_ref() != Some(&commitment.spec) || status.accepted_at.is_none() {
        broken.push("it is Accepted, but the accepted spec is not its spec".to_owned());
    }
    let active = [CommitmentState::Pending, CommitmentState::Guaranteed, CommitmentState::Confirmed];
    if !active.contains(&commitment.spec.state) {
        broken.push(format!("it is Accepted in the state {}", commitment.spec.state));
    }
    broken.extend(slots.iter().flat_map(|slot| placed(slot, seen)));
    broken
}

/// A slot of an accepted commitment is in force on a host of its zone.
fn placed(slot: &Reservation, seen: &Seen) -> Vec<String> {
    let name = slot.name_any();
    let mut broken = Vec::new();
    let target = slot.spec.target_host.as_deref();
    if target.is_none() || target != in_force_on(slot) {
        broken.push(format!("{name}: target {target:?}, in force on {:?}", in_force_on(slot)));
    }
    if slot_ready(slot).is_none_or(|ready| ready.status != "True") {
        broken.push(format!("{name}: is not Ready"));
    }
    let host = seen.hosts.iter().find(|host| Some(host.name_any().as_str()) == target);
    if let Some(zone) = host.map(|host| host.labels().get(labels::ZONE))
        && zone != slot.spec.availability_zone.as_ref()
    {
        broken.push(format!("{name}: its host is in zone {zone:?}"));
    }
    broken
}
