//! Watches: the changes after which the capacity is computed again. All of them request the same key.

use std::fmt;

use berth_cluster::{Change, FlavorGroupsCache, Key, Store, Watches};
use berth_crds::{
    CommittedResource, FlavorGroupCapacity, Hypervisor, Knowledge, Pipeline, Reservation, facts, labels, names,
};

/// The only key: all groups and zones are computed together, because groups share hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CapacityKey;

impl fmt::Display for CapacityKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("capacity")
    }
}

impl Key for CapacityKey {}

/// The sources of changes.
pub(crate) struct Watched<'a> {
    pub(crate) capacities: &'a Store<FlavorGroupCapacity>,
    pub(crate) hypervisors: &'a Store<Hypervisor>,
    pub(crate) reservations: &'a Store<Reservation>,
    pub(crate) commitments: &'a Store<CommittedResource>,
    pub(crate) pipelines: &'a Store<Pipeline>,
    pub(crate) flavor_groups: &'a FlavorGroupsCache,
}

impl Watched<'_> {
    pub(crate) fn declare(&self, watches: &mut Watches<CapacityKey>) {
        watches.changes(self.flavor_groups.store(), request_if(map_knowledge));
        watches.changes(self.hypervisors, request_if(map_host));
        watches.changes(self.reservations, request_if(|_| true));
        watches.changes(self.pipelines, request_if(|_| true));
        watches.changes(self.commitments, request_if(map_commitment));
        watches.changes(self.capacities, request_if(map_capacity));
        watches.resynced(self.hypervisors, |_| Some(CapacityKey));
        watches.resynced(self.reservations, |_| Some(CapacityKey));
        watches.resynced(self.commitments, |_| Some(CapacityKey));
    }
}

fn request_if<O>(concerns: impl Fn(&Change<O>) -> bool) -> impl Fn(&Change<O>) -> Option<CapacityKey> {
    move |change| concerns(change).then_some(CapacityKey)
}

fn map_knowledge(change: &Change<Knowledge>) -> bool {
    *change.key.name == *names::FLAVOR_GROUPS
}

/// A host in a zone that comes or goes, moves to another zone, or whose amounts differ.
fn map_host(change: &Change<Hypervisor>) -> bool {
    let zone = |host: &Hypervisor| host.metadata.labels.as_ref().and_then(|all| all.get(labels::ZONE)).cloned();
    let amounts = |host: &Hypervisor| {
        host.status
            .as_ref()
            .map(|status| (status.allocation.clone(), status.effective_capacity.clone(), status.capacity.clone()))
    };
    match [change.old.as_deref(), change.new.as_deref()] {
        [Some(old), Some(new)] => zone(old) != zone(new) || zone(new).is_some() && amounts(old) != amounts(new),
        either => either.into_iter().flatten().any(|host| zone(host).is_some()),
    }
}

/// What is accepted has changed, or the state of a commitment that was never accepted.
fn map_commitment(change: &Change<CommittedResource>) -> bool {
    let counted = |object: &CommittedResource| facts::accepted_spec(object).filter(|_| !facts::is_duplicate(object));
    let state = |object: &CommittedResource| object.spec.state;
    let (old, new) = (change.old.as_deref(), change.new.as_deref());
    old.and_then(counted) != new.and_then(counted) || old.map(state) != new.map(state)
}

/// An object that another client has changed or deleted is written again.
fn map_capacity(change: &Change<FlavorGroupCapacity>) -> bool {
    match [change.old.as_deref(), change.new.as_deref()] {
        [Some(old), Some(new)] => old.spec != new.spec,
        [Some(_), None] => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
