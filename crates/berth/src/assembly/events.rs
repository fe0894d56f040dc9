//! What flows from the stores into the scheduler and the queues: every change of an object is told to the capacity view
//! before anybody is woken who might ask it.

use std::sync::Arc;

use berth_cluster::{Change, ObjectKey, Routes, Store, Wakeups};
use berth_core::{
    Bytes, Cores, Resources, SlotKey,
    reservation::{Reservation, ReservationKind},
};
use berth_crds::{
    self as crds, CommittedResource, FlavorGroupCapacity, Hypervisor, Knowledge, Pipeline, facts, labels,
};
use berth_scheduler::{BuiltIn, Scheduler};
use berth_scheduler_api::pipelines::PipelineController;
use serde_json::Value;

use super::relief;

/// The stores of the operator.
#[derive(Clone)]
pub struct Stores {
    /// Commitments.
    pub commitments: Store<CommittedResource>,
    /// Reservations of every type.
    pub reservations: Store<crds::Reservation>,
    /// Hosts.
    pub hypervisors: Store<Hypervisor>,
    /// The flavor groups.
    pub knowledges: Store<Knowledge>,
    /// How many cores the groups have in the zones.
    pub capacities: Store<FlavorGroupCapacity>,
    /// Pipelines; the kind need not be installed.
    pub pipelines: Store<Pipeline>,
}

/// The queues of the controllers.
#[derive(Clone)]
pub struct Queues {
    /// Of the controller of commitments.
    pub commitments: Arc<Wakeups>,
    /// Of the controller of slots.
    pub slots: Arc<Wakeups>,
    /// Of the controller of slots without a commitment.
    pub orphans: Arc<Wakeups>,
    /// Of the controller of pipelines.
    pub pipelines: Arc<Wakeups>,
    /// Of the controller of over-booked hosts.
    pub hosts: Arc<Wakeups>,
    /// Of the controller of in-flight reservations.
    pub in_flight: Arc<Wakeups>,
}

impl Default for Queues {
    fn default() -> Self {
        Self::of(Wakeups::new)
    }
}

impl Queues {
    /// Queues that collect nothing before their controllers run.
    pub(super) fn closed() -> Self {
        Self::of(Wakeups::closed)
    }

    fn of(new: fn() -> Arc<Wakeups>) -> Self {
        Self { commitments: new(), slots: new(), orphans: new(), pipelines: new(), hosts: new(), in_flight: new() }
    }

    pub(crate) fn wake_slots(&self, slots: &[SlotKey]) {
        for slot in slots {
            self.slots.wake(&object_key(slot));
        }
    }

    pub(super) fn wake_commitments(&self, keys: &[ObjectKey]) {
        for key in keys {
            self.commitments.wake(key);
        }
    }
}

/// Connects the stores with the scheduler, then with the queues. To be called before anything is fed into the stores.
pub(super) fn connect(stores: &Stores, scheduler: &Arc<BuiltIn>, queues: &Queues, routes: &Routes) {
    inform_of_hosts(stores, scheduler, queues, routes);
    inform_of_reservations(stores, scheduler, queues);
    wake_commitments(stores, queues);
    wake_slots(stores, queues);
    wake_orphans(stores, queues);
    wake_by_pipelines(stores, queues);
    relief::wake(stores, queues);
}

/// The scheduler knows hosts by name. When several clusters have one of a name, that one counts which is in the cluster
/// of its zone, then the one in the first cluster (document 11 section 14 no. 10).
fn inform_of_hosts(stores: &Stores, scheduler: &Arc<BuiltIn>, queues: &Queues, routes: &Routes) {
    let (brain, woken, store, routes) = (scheduler.clone(), queues.clone(), stores.hypervisors.clone(), routes.clone());
    stores.hypervisors.on_change(move |change| {
        let mut holders = store.holders(&change.key.name);
        holders.retain(|key| store.get(key).is_some());
        holders.sort_by_cached_key(|key| rank(&routes, &store, key));
        let host = holders.first().and_then(|key| Some(facts::host(&key.cluster, &*store.get(key)?)));
        woken.wake_slots(&brain.host_changed(&(&*change.key.name).into(), host));
    });
}

fn rank(routes: &Routes, store: &Store<Hypervisor>, key: &ObjectKey) -> (bool, Option<usize>) {
    let zone = store.get(key).and_then(|host| host.metadata.labels.as_ref()?.get(labels::ZONE).cloned());
    let at_home = routes.target::<Hypervisor>(zone.as_deref()).is_ok_and(|cluster| cluster == key.cluster);
    (!at_home, routes.names().iter().position(|name| *name == key.cluster))
}

fn inform_of_reservations(stores: &Stores, scheduler: &Arc<BuiltIn>, queues: &Queues) {
    let (brain, woken, store) = (scheduler.clone(), queues.clone(), stores.reservations.clone());
    stores.reservations.on_change(move |change| {
        let reservation = match &change.new {
            Some(object) => Some(facts::reservation(&change.key.cluster, object)),
            None => unreadable(&store, &change.key),
        };
        woken.wake_slots(&brain.reservation_changed(&slot_key(&change.key), reservation));
    });
}

fn wake_commitments(stores: &Stores, queues: &Queues) {
    use berth_committed_resource::wake;
    let (queue, store) = (queues.commitments.clone(), stores.commitments.clone());
    stores.commitments.on_change(move |change| wake_all(&queue, wake::by_commitment(change, &store)));
    let (queue, store) = (queues.commitments.clone(), stores.commitments.clone());
    stores.commitments.on_followed(move |cluster| wake_all(&queue, wake::by_cluster(cluster, &store)));
    let (queue, store) = (queues.commitments.clone(), stores.commitments.clone());
    stores.reservations.on_change(move |change| wake_all(&queue, wake::by_reservation(change, &store)));
    let (queue, store) = (queues.commitments.clone(), stores.commitments.clone());
    stores.reservations.on_followed(move |cluster| wake_all(&queue, wake::by_cluster(cluster, &store)));
    let (queue, store) = (queues.commitments.clone(), stores.commitments.clone());
    stores.hypervisors.on_followed(move |cluster| wake_all(&queue, wake::by_cluster(cluster, &store)));
    let (queue, store) = (queues.commitments.clone(), stores.commitments.clone());
    stores.knowledges.on_change(move |change| wake_all(&queue, wake::by_knowledge(change, &store)));
    let (queue, store) = (queues.commitments.clone(), stores.commitments.clone());
    stores.capacities.on_change(move |change| wake_all(&queue, wake::by_capacity(change, &store)));
    let (queue, store) = (queues.commitments.clone(), stores.commitments.clone());
    stores.capacities.on_followed(move |cluster| wake_all(&queue, wake::by_cluster(cluster, &store)));
}

fn wake_slots(stores: &Stores, queues: &Queues) {
    use berth_reservation::wake;
    let queue = queues.slots.clone();
    stores.reservations.on_change(move |change| wake_all(&queue, wake::by_reservation(change)));
    let (queue, store) = (queues.slots.clone(), stores.reservations.clone());
    stores.commitments.on_change(move |change| wake_all(&queue, wake::by_commitment(change, &store)));
    let (queue, store) = (queues.slots.clone(), stores.reservations.clone());
    stores.hypervisors.on_change(move |change: &Change<Hypervisor>| {
        wake_all(&queue, wake::by_hypervisor(change, &store));
    });
    let (queue, store) = (queues.slots.clone(), stores.reservations.clone());
    stores.hypervisors.on_followed(move |_| wake_all(&queue, wake::unplaced(&store)));
    let (queue, store) = (queues.slots.clone(), stores.reservations.clone());
    stores.knowledges.on_change(move |_| {
        wake_all(&queue, wake::unplaced(&store));
        wake_all(&queue, wake::braked(&store));
    });
}

fn wake_orphans(stores: &Stores, queues: &Queues) {
    use berth_committed_resource::orphans::wake;
    let (queue, store) = (queues.orphans.clone(), stores.commitments.clone());
    stores.reservations.on_change(move |change| wake_all(&queue, wake::by_reservation(change, &store)));
    let (queue, store) = (queues.orphans.clone(), stores.reservations.clone());
    stores.commitments.on_change(move |change| wake_all(&queue, wake::by_commitment(change, &store)));
    let (queue, store) = (queues.orphans.clone(), stores.reservations.clone());
    stores.knowledges.on_change(move |_| wake_all(&queue, berth_reservation::wake::braked(&store)));
}

/// Other pipelines may find hosts for whoever waits, or can be used again at last: nothing else would wake them.
fn wake_by_pipelines(stores: &Stores, queues: &Queues) {
    let (queues, commitments, slots) = (queues.clone(), stores.commitments.clone(), stores.reservations.clone());
    stores.pipelines.on_change(move |change| {
        wake_all(&queues.pipelines, PipelineController::wake(change));
        if is_another(change) {
            wake_all(&queues.commitments, commitments.all().into_iter().map(|entry| entry.key));
            wake_all(&queues.slots, berth_reservation::wake::unplaced(&slots));
        }
    });
}

/// More than what is said about the pipeline has changed.
fn is_another(change: &Change<Pipeline>) -> bool {
    let version = |object: &Option<Arc<Pipeline>>| {
        object.as_ref().map(|object| (object.metadata.uid.clone(), object.metadata.generation))
    };
    let new = version(&change.new);
    new.is_none() || version(&change.old) != new
}

pub(super) fn wake_all(queue: &Wakeups, keys: impl IntoIterator<Item = ObjectKey>) {
    keys.into_iter().for_each(|key| queue.wake(&key));
}

/// A Reservation that was never readable still holds the hosts that it names, with everything they have (rule 7 of the
/// store).
fn unreadable(store: &Store<crds::Reservation>, key: &ObjectKey) -> Option<Reservation> {
    let malformed = store.malformed().into_iter().find(|malformed| malformed.key == *key)?;
    let name = |value: &Value| value.as_str().filter(|name| !name.is_empty()).map(Into::into);
    Some(Reservation {
        key: slot_key(key),
        kind: ReservationKind::Other,
        project: "".into(),
        group: "".into(),
        zone: "".into(),
        size: Resources::new(Bytes::MAX, Cores::MAX),
        target_host: name(&malformed.raw["spec"]["targetHost"]),
        status_host: name(&malformed.raw["status"]["host"]),
        ready: false,
    })
}

/// Entries of the scheduler whose write has been looked up in the meantime, by whomever: they end here, so that no room
/// stays taken for a slot that does not exist.
pub(super) fn end_settled_doubts(stores: &Stores, scheduler: &BuiltIn, queues: &Queues) {
    // In this order: a write that becomes unknown in between is in doubt for both or for the store alone.
    let taken = scheduler.doubts();
    let doubts = stores.reservations.doubts();
    for slot in taken.into_iter().filter(|slot| !doubts.contains(&object_key(slot))) {
        queues.wake_slots(&scheduler.settled(&slot));
    }
}

fn slot_key(key: &ObjectKey) -> SlotKey {
    SlotKey::new(key.cluster.clone(), &*key.name)
}

fn object_key(key: &SlotKey) -> ObjectKey {
    ObjectKey::new(key.cluster.clone(), key.name.as_str())
}

#[cfg(test)]
mod tests;
