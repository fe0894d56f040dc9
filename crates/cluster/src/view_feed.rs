//! Feeds the capacity view from the stores of hosts and reservations. It selects one of several hosts with the same
//! name, and determines the blocks of an invalid Reservation.

use std::sync::Arc;

use berth_core::host::Host;
use berth_core::reservation::{Reservation, ReservationKind};
use berth_core::{Bytes, Cores, HostName, Resources, SlotKey};
use berth_crds::{self as crds, CommitmentChange, Hypervisor, facts, labels};
use serde_json::Value;

use crate::{ObjectKey, Routes, Store};

/// Tells `host_changed` of every host from now on. The view knows hosts by name: when several clusters have one of a name, that
/// one counts which is in the cluster of its zone, then the one in the first cluster. To be called before anything is fed into
/// the store.
pub fn feed_hosts(
    hypervisors: &Store<Hypervisor>,
    routes: &Routes,
    host_changed: impl Fn(&HostName, Option<Host>) + Send + Sync + 'static,
) {
    let (store, routes) = (hypervisors.clone(), routes.clone());
    hypervisors.on_state(move |change| {
        let mut holders = store.holders(&change.key.name);
        holders.retain(|key| store.get(key).is_some());
        holders.sort_by_cached_key(|key| rank(&routes, &store, key));
        let host = holders.first().and_then(|key| Some(facts::host(&key.cluster, &*store.get(key)?)));
        host_changed(&(&*change.key.name).into(), host);
    });
}

fn rank(routes: &Routes, store: &Store<Hypervisor>, key: &ObjectKey) -> (bool, Option<usize>) {
    let zone = store.get(key).and_then(|host| host.metadata.labels.as_ref()?.get(labels::ZONE).cloned());
    let is_in_its_cluster = routes.target::<Hypervisor>(zone.as_deref()).is_ok_and(|cluster| cluster == key.cluster);
    (!is_in_its_cluster, routes.names().iter().position(|name| *name == key.cluster))
}

/// Tells `reservation_changed` of every Reservation from now on. To be called before anything is fed into the store.
pub fn feed_reservations(
    reservations: &Store<crds::Reservation>,
    reservation_changed: impl Fn(&SlotKey, Option<Reservation>) + Send + Sync + 'static,
) {
    let store = reservations.clone();
    reservations.on_state(move |change| {
        let reservation = match &change.new {
            Some(object) => Some(facts::reservation(&change.key.cluster, object)),
            None => unreadable(&store, &change.key),
        };
        reservation_changed(&SlotKey::from(&change.key), reservation);
    });
}

/// Tells `ended` of every change of commitments for which nothing is left to do, from now on, by its name.
pub fn feed_changes(changes: &Store<CommitmentChange>, ended: impl Fn(&str) + Send + Sync + 'static) {
    changes.on_state(move |change| {
        let is_open = |object: &Option<Arc<CommitmentChange>>| object.as_ref().is_some_and(|one| facts::is_open(one));
        if is_open(&change.old) && !is_open(&change.new) {
            ended(&change.key.name);
        }
    });
}

/// A Reservation that was never readable still holds the hosts that it names, with everything they have.
fn unreadable(store: &Store<crds::Reservation>, key: &ObjectKey) -> Option<Reservation> {
    let invalid_entry = store.invalid_entry(key)?;
    let name = |value: &Value| value.as_str().filter(|name| !name.is_empty()).map(Into::into);
    Some(Reservation {
        key: SlotKey::from(key),
        kind: ReservationKind::Other,
        project: "".into(),
        group: "".into(),
        zone: "".into(),
        size: Resources::new(Bytes::MAX, Cores::MAX),
        target_host: name(&invalid_entry.raw["spec"]["targetHost"]),
        status_host: name(&invalid_entry.raw["status"]["host"]),
        ready: false,
    })
}
