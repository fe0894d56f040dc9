//! Whether a commitment wants a slot to go: it is deleted, ended, refused or smaller, or is in another project, group
//! or zone. This is independent of the planner.

use berth_crds::{
    CommitmentState, CommittedResource, CommittedResourceSpec, Condition, Reservation, Time, conditions, resources,
};

use crate::amounts::{memory_of, used};
use crate::slots::on_its_way_out;
use crate::snapshot::commitment_of;
use crate::{Key, Snapshot};

/// Whether the commitment of a slot that is gone, or is being deleted, does not need it. This includes slots of no
/// commitment. If none of several objects with the UUID is served, the served object is still being determined.
pub(crate) fn is_wished(snapshot: &Snapshot, gone: &Reservation, wall: &Time) -> bool {
    let uuid = commitment_of(gone);
    let mut objects = snapshot.commitments_of(uuid).peekable();
    if objects.peek().is_none() {
        return false;
    }
    let served = snapshot.served(uuid);
    objects.any(|(_, object)| object.metadata.deletion_timestamp.is_some())
        || served.is_empty()
        || served.into_iter().any(|(key, object)| is_too_much(snapshot, key, object, gone, wall))
}

fn is_too_much(snapshot: &Snapshot, key: &Key, object: &CommittedResource, gone: &Reservation, wall: &Time) -> bool {
    let Some(spec) = wanted(object, wall).filter(|spec| is_for(gone, spec)) else { return true };
    let staying = snapshot.slots_held(key, &object.spec.commitment_uuid);
    let staying = staying.filter(|(_, slot)| !on_its_way_out(slot) && is_for(slot, spec)).map(|(_, slot)| slot);
    let memory = |slot: &Reservation| used(&slot.spec.resources, resources::MEMORY);
    staying.chain([gone]).map(memory).sum::<i128>() > memory_of(spec)
}

/// The spec that the slots of a commitment follow; `None` if it must have no slots.
fn wanted<'a>(object: &'a CommittedResource, wall: &Time) -> Option<&'a CommittedResourceSpec> {
    let spec = &object.spec;
    let lasting = [CommitmentState::Pending, CommitmentState::Guaranteed, CommitmentState::Confirmed];
    let is_over = !lasting.contains(&spec.state) || spec.end_time.as_ref().is_some_and(|end| end <= wall);
    let status = object.status.as_ref();
    let is_about_it = |reported: &&Condition| reported.observed_generation == object.metadata.generation;
    let reported = status.and_then(|status| conditions::ready(&status.conditions)).filter(is_about_it);
    match reported.map(|reported| reported.reason.as_str()) {
        _ if is_over => None,
        Some("superseded" | "expired") => None,
        Some("Rejected") => status?.accepted_spec.as_ref(),
        _ => Some(spec),
    }
}

fn is_for(slot: &Reservation, spec: &CommittedResourceSpec) -> bool {
    let data = slot.spec.committed_resource_reservation.as_ref();
    let project = data.and_then(|data| data.project_id.as_ref());
    let group = data.and_then(|data| data.resource_group.as_ref());
    let is = [project, group, slot.spec.availability_zone.as_ref()];
    is == [&spec.project_id, &spec.flavor_group_name, &spec.availability_zone].map(Some)
}
