//! Mapping functions: which commitments a change concerns.

use std::collections::BTreeSet;
use std::sync::Arc;

mod cores;

use berth_cluster::indexes::{COMMITMENT_BY_UUID, HYPERVISOR_BY_ZONE};
use berth_cluster::{Change, ObjectKey, Store, Watches};
use berth_core::ClusterName;
use berth_crds::{
    CommitmentChange, CommittedResource, Condition, FlavorGroupCapacity, Hypervisor, Knowledge, Pipeline, Reservation,
    conditions, facts, labels,
};
use kube::ResourceExt;

use crate::ledger::GroupAndZone;
use cores::map_capacity;
pub(crate) use cores::waiting_for_cores;

/// The stores that the controller watches.
pub(crate) struct Watched<'s> {
    pub commitments: &'s Store<CommittedResource>,
    pub reservations: &'s Store<Reservation>,
    pub hypervisors: &'s Store<Hypervisor>,
    pub knowledges: &'s Store<Knowledge>,
    pub capacities: &'s Store<FlavorGroupCapacity>,
    pub pipelines: &'s Store<Pipeline>,
    pub changes: &'s Store<CommitmentChange>,
}

/// Declares them. Commitments wait while a cluster cannot be read completely that holds Reservations, hosts or capacities of
/// theirs, or duplicates of them. Which ones are there was unknown, so a cluster that is synced again concerns all.
pub(crate) fn declare(watches: &mut Watches<ObjectKey>, stores: &Watched<'_>) {
    let all_of = |store: &Store<CommittedResource>| {
        let store = store.clone();
        move |_: &ClusterName| list_commitments(&store)
    };
    let store = stores.commitments.clone();
    watches.changes(stores.commitments, move |change| map_commitment(change, &store));
    watches.resynced(stores.commitments, all_of(stores.commitments));
    let store = stores.commitments.clone();
    watches.changes(stores.reservations, move |change| map_reservation(change, &store));
    watches.resynced(stores.reservations, all_of(stores.commitments));
    let (hosts, store) = (stores.hypervisors.clone(), stores.commitments.clone());
    watches.changes(stores.hypervisors, move |change| map_hypervisor(change, &hosts, &store));
    watches.resynced(stores.hypervisors, all_of(stores.commitments));
    let store = stores.commitments.clone();
    watches.changes(stores.knowledges, move |_| list_commitments(&store));
    let store = stores.commitments.clone();
    watches.changes(stores.capacities, move |change| map_capacity(change, &store));
    watches.resynced(stores.capacities, all_of(stores.commitments));
    let store = stores.commitments.clone();
    watches.changes(stores.pipelines, move |change| map_pipeline(change, &store));
    let store = stores.commitments.clone();
    watches.changes(stores.changes, move |change| map_change_of_commitments(change, &store));
}

/// A commitment concerns itself and, when it comes or goes or what decides between duplicates or pauses them changes,
/// all others with its UUID; when it gives up cores, those that wait for them.
fn map_commitment(change: &Change<CommittedResource>, commitments: &Store<CommittedResource>) -> BTreeSet<ObjectKey> {
    let mut keys: BTreeSet<_> = [change.key.clone()].into();
    if standing(change.old.as_deref()) != standing(change.new.as_deref()) {
        for object in [&change.old, &change.new].into_iter().flatten() {
            keys.extend(with_uuid(&object.spec.commitment_uuid, commitments));
        }
    }
    keys.extend(cores::map_freed_cores(change, commitments));
    keys
}

fn standing(object: Option<&CommittedResource>) -> Option<(&str, &[String], bool, bool)> {
    let object = object?;
    let paused = labels::pause_annotation(object.annotations()).is_some();
    let finalizers = object.metadata.finalizers.as_deref().unwrap_or_default();
    Some((&object.spec.availability_zone, finalizers, object.metadata.deletion_timestamp.is_some(), paused))
}

/// A change of a slot that commitments can see, unlike the text of a condition, enqueues those that it names and named. The
/// commitments of a Reservation that was never valid are unknown, and each may wait for its correction or deletion, so it
/// enqueues all commitments.
fn map_reservation(change: &Change<Reservation>, commitments: &Store<CommittedResource>) -> BTreeSet<ObjectKey> {
    if change.old.is_none() && change.new.is_none() {
        return list_commitments(commitments);
    }
    if let (Some(old), Some(new)) = (&change.old, &change.new)
        // The same object has become valid or invalid.
        && !Arc::ptr_eq(old, new)
        && facts::slot(old) == facts::slot(new)
        && extra_conditions(old).eq(extra_conditions(new))
    {
        return BTreeSet::new();
    }
    let slots = [&change.old, &change.new].into_iter().flatten();
    let data = slots.filter_map(|object| object.spec.committed_resource_reservation.as_ref());
    let uuids: BTreeSet<_> = data.filter_map(|data| data.commitment_uuid.as_deref()).collect();
    uuids.into_iter().flat_map(|uuid| with_uuid(uuid, commitments)).collect()
}

/// The first host of a zone concerns the commitments of the zone: without one their slots in other zones stay.
fn map_hypervisor(
    change: &Change<Hypervisor>,
    hypervisors: &Store<Hypervisor>,
    commitments: &Store<CommittedResource>,
) -> BTreeSet<ObjectKey> {
    let zone = |host: &Option<Arc<Hypervisor>>| host.as_ref()?.labels().get(labels::ZONE).cloned();
    let Some(zone) = zone(&change.new).filter(|new| zone(&change.old).as_ref() != Some(new)) else {
        return BTreeSet::new();
    };
    if hypervisors.count(&HYPERVISOR_BY_ZONE, &zone, &change.key.cluster, 2) > 1 {
        return BTreeSet::new();
    }
    let here = commitments.all().into_iter().filter(|entry| entry.object.spec.availability_zone == zone);
    here.map(|entry| entry.key).collect()
}

/// All but Ready: a commitment shows what its slots wait for.
fn extra_conditions(slot: &Reservation) -> impl Iterator<Item = &Condition> {
    let all = slot.status.iter().flat_map(|status| &status.conditions);
    all.filter(|condition| condition.type_ != conditions::READY)
}

/// Another pipeline may find hosts for commitments that wait, or can be used again at last.
fn map_pipeline(change: &Change<Pipeline>, commitments: &Store<CommittedResource>) -> BTreeSet<ObjectKey> {
    if change.is_of_spec() { list_commitments(commitments) } else { BTreeSet::new() }
}

/// A change of commitments concerns all of them when it begins, when it is decided, and when it ends; then also those that wait
/// for cores that it has released.
fn map_change_of_commitments(
    change: &Change<CommitmentChange>,
    commitments: &Store<CommittedResource>,
) -> BTreeSet<ObjectKey> {
    let standing =
        |object: &Option<Arc<CommitmentChange>>| object.as_ref().map(|object| (object.phase(), facts::is_open(object)));
    if standing(&change.old) == standing(&change.new) {
        return BTreeSet::new();
    }
    let objects = || [&change.old, &change.new].into_iter().flatten();
    let members = objects().flat_map(|object| facts::members(object)).flat_map(|uuid| with_uuid(uuid, commitments));
    let released = objects().flat_map(|object| &object.spec.items).filter_map(facts::accepted_spec_before);
    let places: BTreeSet<_> = released.map(|spec| GroupAndZone::of(&spec)).collect();
    members.chain(places.iter().flat_map(|place| waiting_for_cores(place, commitments))).collect()
}

fn list_commitments(commitments: &Store<CommittedResource>) -> BTreeSet<ObjectKey> {
    commitments.all().into_iter().map(|entry| entry.key).collect()
}

fn with_uuid(uuid: &str, commitments: &Store<CommittedResource>) -> Vec<ObjectKey> {
    commitments.select(&COMMITMENT_BY_UUID, uuid).into_iter().map(|entry| entry.key).collect()
}

#[cfg(test)]
mod tests;
