//! Which slots are requested when something changes: pure functions of the old object, the new object and the indexes.

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_cluster::indexes::{HYPERVISOR_BY_VM, RESERVATION_BY_COMMITMENT, RESERVATION_BY_HOST, RESERVATION_BY_VM};
use berth_cluster::{Change, Entry, Index, ObjectKey, Store, Watches, disruption_limited_slots};
use berth_crds::conditions::safety;
use berth_crds::{
    CommittedResource, CommittedResourceSpec, Hypervisor, Knowledge, Pipeline, Reservation, ReservationType, labels,
};
use berth_vm_source::SnapshotChange;
use kube::ResourceExt;
use tokio::time::Instant;

use crate::retries::Retries;

/// The stores that the controller watches.
pub(crate) struct Watched<'s> {
    pub reservations: &'s Store<Reservation>,
    pub commitments: &'s Store<CommittedResource>,
    pub hypervisors: &'s Store<Hypervisor>,
    pub knowledges: &'s Store<Knowledge>,
    pub pipelines: &'s Store<Pipeline>,
}

/// Declares them. Slots without a host are tried again when anything but capacity has changed that decides about their hosts.
pub(crate) fn declare(watches: &mut Watches<ObjectKey>, stores: &Watched<'_>, retries: &Arc<Retries>) {
    let shared = || (stores.reservations.clone(), retries.clone());
    let (_, untried) = shared();
    watches.changes(stores.reservations, move |change| map_reservation(change, &untried));
    let store = stores.reservations.clone();
    watches.changes(stores.commitments, move |change| map_commitment(change, &store));
    let store = stores.reservations.clone();
    watches.changes(stores.hypervisors, move |change| map_hypervisor(change, &store));
    let (hosts, (store, due)) = (stores.hypervisors.clone(), shared());
    watches.resynced(stores.hypervisors, move |_| waiting_for_hosts(&store, &hosts, &due));
    let (store, due) = shared();
    watches.changes(stores.knowledges, move |_| map_flavor_groups(&store, &due));
    let (store, due) = shared();
    watches.changes(stores.pipelines, move |change| map_pipeline(change, &store, &due));
}

/// A slot concerns itself, as does any Reservation that does not decode, or that has been reported as such. One that has
/// lost its host, or is new and has none, is tried together with the others.
fn map_reservation(change: &Change<Reservation>, retries: &Retries) -> Option<ObjectKey> {
    let newest = change.new.as_deref().or(change.old.as_deref());
    let had_no_host = change.old.as_ref().is_some_and(|old| is_unplaced(old));
    if let Some(new) = change.new.as_ref().filter(|new| is_unplaced(new) && !had_no_host) {
        retries.add_untried(commitment_of(new), &change.key);
    }
    let concerns = newest.is_none_or(|newest| is_slot(newest) || is_reported_invalid(newest));
    (concerns || change.is_of_invalid()).then(|| change.key.clone())
}

pub(crate) fn is_reported_invalid(object: &Reservation) -> bool {
    object.status.as_ref().is_some_and(|status| safety::holds(&status.conditions, safety::INVALID))
}

/// A commitment concerns its slots when it may have been paused or resumed; all else that it wants of them is written
/// into them.
fn map_commitment(change: &Change<CommittedResource>, reservations: &Store<Reservation>) -> BTreeSet<ObjectKey> {
    let (old, new) = (change.old.as_deref(), change.new.as_deref());
    if pause_fields(old) == pause_fields(new) {
        return BTreeSet::new();
    }
    let objects = [old, new].into_iter().flatten();
    objects.flat_map(|object| slots(&RESERVATION_BY_COMMITMENT, &object.spec.commitment_uuid, reservations)).collect()
}

/// Zone and flavor group.
type ZoneAndGroup<'a> = [&'a str; 2];

fn pause_fields(object: Option<&CommittedResource>) -> Option<(bool, ZoneAndGroup<'_>, Option<ZoneAndGroup<'_>>)> {
    let object = object?;
    let accepted = object.status.as_ref().and_then(|status| status.accepted_spec.as_ref());
    Some((
        labels::pause_annotation(object.annotations()).is_some(),
        zone_and_group(&object.spec),
        accepted.map(zone_and_group),
    ))
}

fn zone_and_group(spec: &CommittedResourceSpec) -> ZoneAndGroup<'_> {
    [&spec.availability_zone, &spec.flavor_group_name]
}

/// A host concerns the slots on it when it comes, goes or changes its zone, and when a VM comes, goes, starts or stops; and
/// in any case those that expect a VM that came or went.
fn map_hypervisor(change: &Change<Hypervisor>, reservations: &Store<Reservation>) -> BTreeSet<ObjectKey> {
    let (old, new) = (change.old.as_deref(), change.new.as_deref());
    let zone = |host: Option<&Hypervisor>| host.map(|host| host.labels().get(labels::ZONE).cloned());
    let (before, after) = (vms(old), vms(new));
    let mut keys = BTreeSet::new();
    if zone(old) != zone(new) || before != after || active(old) != active(new) {
        keys.extend(slots(&RESERVATION_BY_HOST, &change.key.name, reservations));
    }
    for vm in before.symmetric_difference(&after) {
        keys.extend(slots(&RESERVATION_BY_VM, vm, reservations));
    }
    keys
}

/// A VM whose row is new or has changed concerns the slots of its project on the hosts that list it. The first snapshot
/// concerns all slots on hosts.
pub(crate) fn map_vms(
    change: &SnapshotChange,
    hypervisors: &Store<Hypervisor>,
    reservations: &Store<Reservation>,
) -> BTreeSet<ObjectKey> {
    let SnapshotChange { former, present } = change;
    if former.vms().is_empty() {
        let slots = reservations.all().into_iter().filter(|entry| is_slot(&entry.object));
        return slots.filter(|entry| !is_unplaced(&entry.object)).map(|entry| entry.key).collect();
    }
    let projects = present.changed_projects(former);
    let vms = projects.iter().flat_map(|project| present.of_project(project));
    let changed = vms.filter(|vm| former.vm(&vm.id) != Some(*vm));
    let places: BTreeSet<_> = changed
        .flat_map(|vm| {
            hypervisors.select(&HYPERVISOR_BY_VM, vm.id.as_str()).into_iter().map(move |on| (on, &vm.project))
        })
        .map(|(on, project)| (on.key.name, project))
        .collect();
    let slots = places.iter().flat_map(|(host, project)| {
        let on_host = reservations.select(&RESERVATION_BY_HOST, host).into_iter();
        on_host.filter(|entry| is_slot(&entry.object) && project_of(&entry.object) == project.as_str())
    });
    slots.map(|entry| entry.key).collect()
}

fn project_of(slot: &Reservation) -> &str {
    let data = slot.spec.committed_resource_reservation.as_ref();
    data.and_then(|data| data.project_id.as_deref()).unwrap_or_default()
}

/// The slots that wait until the hosts are known: those without a host, those whose host is not there, and those with a
/// VM that their host does not list.
fn waiting_for_hosts(
    reservations: &Store<Reservation>,
    hypervisors: &Store<Hypervisor>,
    retries: &Retries,
) -> BTreeSet<ObjectKey> {
    let is_known = |object: &Reservation| {
        let Some(host) = object.spec.target_host.as_deref() else { return true };
        let data = object.spec.committed_resource_reservation.as_ref();
        let mut expected = data.into_iter().flat_map(|data| data.allocations.keys());
        let lists = |vm: &String| hypervisors.select(&HYPERVISOR_BY_VM, vm).iter().any(|on| *on.key.name == *host);
        !hypervisors.holders(&host.into()).is_empty() && expected.all(lists)
    };
    let slots = reservations.all().into_iter().filter(|entry| is_slot(&entry.object));
    let unknown = slots.filter(|entry| !is_known(&entry.object)).map(|entry| entry.key);
    unplaced(reservations, retries).into_iter().chain(unknown).collect()
}

/// The slots without a host, which are all due now: new flavor groups concern them, because theirs may have been unknown.
pub(crate) fn unplaced(reservations: &Store<Reservation>, retries: &Retries) -> BTreeSet<ObjectKey> {
    let unplaced = reservations.all().into_iter().filter(|entry| is_unplaced(&entry.object));
    let add = |entry: Entry<Reservation>| {
        retries.add_untried(commitment_of(&entry.object), &entry.key);
        entry.key
    };
    let keys = unplaced.map(add).collect();
    retries.make_all_due(Instant::now());
    keys
}

/// A slot without a host.
pub(crate) fn is_unplaced(object: &Reservation) -> bool {
    is_slot(object) && object.spec.target_host.is_none()
}

/// The UUID of the slot's commitment.
pub(crate) fn commitment_of(slot: &Reservation) -> &str {
    let data = slot.spec.committed_resource_reservation.as_ref();
    data.and_then(|data| data.commitment_uuid.as_deref()).unwrap_or_default()
}

/// New flavor groups concern slots without a host; their object also has the confirmation of a disruption.
fn map_flavor_groups(reservations: &Store<Reservation>, retries: &Retries) -> BTreeSet<ObjectKey> {
    unplaced(reservations, retries).into_iter().chain(disruption_limited_slots(reservations)).collect()
}

/// Another pipeline may find hosts for slots that wait, or can be used again at last.
fn map_pipeline(
    change: &Change<Pipeline>,
    reservations: &Store<Reservation>,
    retries: &Retries,
) -> BTreeSet<ObjectKey> {
    if change.is_of_spec() { unplaced(reservations, retries) } else { BTreeSet::new() }
}

/// True for the objects that this controller is responsible for; it never writes to another type.
pub(crate) fn is_slot(object: &Reservation) -> bool {
    object.spec.type_ == ReservationType::CommittedResourceReservation
}

pub(crate) fn vms(host: Option<&Hypervisor>) -> BTreeSet<&str> {
    let instances = host.and_then(|host| host.status.as_ref()).into_iter().flat_map(|status| &status.instances);
    instances.map(|vm| vm.id.as_str()).collect()
}

fn active(host: Option<&Hypervisor>) -> BTreeSet<&str> {
    let instances = host.and_then(|host| host.status.as_ref()).into_iter().flat_map(|status| &status.instances);
    instances.filter(|vm| vm.active).map(|vm| vm.id.as_str()).collect()
}

fn slots(index: &Index<Reservation>, value: &str, reservations: &Store<Reservation>) -> Vec<ObjectKey> {
    let entries = reservations.select(index, value);
    entries.into_iter().filter(|entry| is_slot(&entry.object)).map(|entry| entry.key).collect()
}

#[cfg(test)]
mod tests;
