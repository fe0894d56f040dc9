//! Which hosts are requested when something changes: pure functions of the old object, the new object and the indexes.

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_cluster::{Change, ObjectKey, Store, Watches};
use berth_core::host::{Amounts, ConditionStatus, Host};
use berth_core::{ClusterName, Zone, reservation};
use berth_crds::conditions::READY;
use berth_crds::{Hypervisor, Reservation, facts};

pub(super) fn declare(
    watches: &mut Watches<ObjectKey>,
    hypervisors: &Store<Hypervisor>,
    reservations: &Store<Reservation>,
) {
    let store = hypervisors.clone();
    watches.changes(hypervisors, move |change| map_hypervisor(change, &store));
    let store = hypervisors.clone();
    watches.changes(reservations, move |change| map_reservation(change, &store));
    let store = hypervisors.clone();
    watches.resynced(hypervisors, move |cluster| map_cluster(cluster, &store));
    let store = hypervisors.clone();
    watches.resynced(reservations, move |cluster| map_cluster(cluster, &store));
}

/// A host concerns itself, and those of its name in other clusters, one of which may count now in its place.
fn map_hypervisor(change: &Change<Hypervisor>, hosts: &Store<Hypervisor>) -> BTreeSet<ObjectKey> {
    let host = |object: &Option<Arc<Hypervisor>>| object.as_deref().map(|host| facts::host(&change.key.cluster, host));
    let (old, new) = (host(&change.old), host(&change.new));
    if old.is_some() && old.as_ref().map(matters) == new.as_ref().map(matters) {
        return BTreeSet::new();
    }
    hosts.holders(&change.key.name).into_iter().chain([change.key.clone()]).collect()
}

/// A Reservation of any type concerns the hosts that it blocked or blocks now, by target or status.
fn map_reservation(change: &Change<Reservation>, hosts: &Store<Hypervisor>) -> BTreeSet<ObjectKey> {
    let blocks = |object: &Option<Arc<Reservation>>| {
        let all = object.as_deref().map(|object| facts::reservation(&change.key.cluster, object));
        all.map(|all| reservation::Reservation { ready: false, ..all })
    };
    let (old, new) = (blocks(&change.old), blocks(&change.new));
    if old == new {
        return BTreeSet::new();
    }
    let named = old.iter().chain(&new).flat_map(reservation::Reservation::hosts);
    named.flat_map(|host| hosts.holders(&Arc::from(host.as_str()))).collect()
}

/// The hosts of a cluster that is synced again.
fn map_cluster(cluster: &ClusterName, hosts: &Store<Hypervisor>) -> Vec<ObjectKey> {
    hosts.all().into_iter().map(|entry| entry.key).filter(|key| key.cluster == *cluster).collect()
}

type RelevantFields<'h> = (Amounts, Amounts, Vec<&'h str>, Option<&'h str>, &'h Zone, Option<ConditionStatus>);

fn matters(host: &Host) -> RelevantFields<'_> {
    let vms = host.instances.keys().map(berth_core::VmId::as_str).collect();
    let ready = host.conditions.get(READY).copied();
    (host.capacity, host.allocation, vms, host.invalid_amount.as_deref(), &host.zone, ready)
}
