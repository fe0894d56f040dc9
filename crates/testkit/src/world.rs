//! One operator without its controllers: stores, scheduler and wake-ups, wired as the binary wires them. It decides the
//! order in which news arrive and keys are looked at, which is always the same; which event concerns which key, and what
//! a look does, is for the tests and the controllers that they make.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use berth_cluster::{
    Brake, BrakeParts, ClusterMetrics, Clusters, Events, Freezer, Kind, ObjectKey, Store, Writer,
    indexes::{CAPACITY_INDEXES, COMMITMENT_INDEXES, HYPERVISOR_INDEXES, RESERVATION_INDEXES},
    testing::{applied, deleted, filled},
};
use berth_core::{ClusterName, SlotKey};
use berth_crds::{CommittedResource, FlavorGroupCapacity, Hypervisor, Knowledge, Reservation, facts};
use berth_scheduler::{BuiltIn, Scheduler, Settings, WakeSlots};
use berth_telemetry::{
    clock::Clock,
    config,
    metrics::{Metrics, MetricsError},
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{Event, Happened, Refusal, Server};

/// The stores of the operator.
#[derive(Clone)]
pub struct Stores {
    /// Commitments.
    pub commitments: Store<CommittedResource>,
    /// Reservations.
    pub reservations: Store<Reservation>,
    /// Hosts.
    pub hypervisors: Store<Hypervisor>,
    /// The flavor groups.
    pub knowledges: Store<Knowledge>,
    /// How many cores the groups have in the zones.
    pub capacities: Store<FlavorGroupCapacity>,
}

/// The keys that are to be looked at, each once, taken in their order.
#[derive(Clone, Default)]
pub struct Queue {
    keys: Arc<Mutex<BTreeSet<ObjectKey>>>,
}

impl Queue {
    /// Asks for a look.
    pub fn wake(&self, key: ObjectKey) {
        self.lock().insert(key);
    }

    /// Asks for a look at each of them.
    pub fn wake_all(&self, keys: impl IntoIterator<Item = ObjectKey>) {
        self.lock().extend(keys);
    }

    /// The next key.
    pub fn next(&self) -> Option<ObjectKey> {
        self.lock().pop_first()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<ObjectKey>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks for looks at these objects.
pub type WakeKeys = Arc<dyn Fn(&[ObjectKey]) + Send + Sync>;

/// What one process has in memory. Clones share it.
#[derive(Clone)]
pub struct World {
    /// The API server.
    pub server: Server,
    /// The way to it.
    pub clusters: Clusters,
    /// The stores.
    pub stores: Stores,
    /// The scheduler.
    pub scheduler: Arc<BuiltIn>,
    /// Commitments to look at.
    pub commitments: Queue,
    /// Slots to look at.
    pub slots: Queue,
    /// The resourceVersion up to which the stores know everything.
    known: Arc<Mutex<u64>>,
}

impl World {
    /// A process that has just begun and knows nothing yet: register listeners with the stores, then [`Self::list`].
    pub fn new(server: &Server) -> Self {
        let home = ClusterName::home();
        let stores = Stores {
            commitments: filled(COMMITMENT_INDEXES, &home, []),
            reservations: filled(RESERVATION_INDEXES, &home, []),
            hypervisors: filled(HYPERVISOR_INDEXES, &home, []),
            knowledges: filled(&[], &home, []),
            capacities: filled(CAPACITY_INDEXES, &home, []),
        };
        let world = Self {
            server: server.clone(),
            clusters: server.cluster().into(),
            stores,
            scheduler: Arc::new(BuiltIn::new(Settings::default())),
            commitments: Queue::default(),
            slots: Queue::default(),
            known: Arc::default(),
        };
        world.inform();
        world
    }

    /// Feeds the stores with everything that there is.
    pub fn list(&self) -> Result<(), Refusal> {
        let (server, stores, home) = (&self.server, &self.stores, ClusterName::home());
        *self.known() = server.version();
        server.all()?.into_iter().for_each(|object| applied(&stores.knowledges, &home, object));
        server.all()?.into_iter().for_each(|object| applied(&stores.capacities, &home, object));
        server.all()?.into_iter().for_each(|object| applied(&stores.hypervisors, &home, object));
        server.all()?.into_iter().for_each(|object| applied(&stores.reservations, &home, object));
        server.all()?.into_iter().for_each(|object| applied(&stores.commitments, &home, object));
        Ok(())
    }

    /// Feeds the stores with what has happened since the last time, as a watch would; also for hooks, in the middle of a
    /// look.
    pub fn deliver(&self) -> Result<(), Refusal> {
        let mut known = self.known();
        for event in self.server.since(*known) {
            *known = event.version;
            let stores = &self.stores;
            tell(&stores.knowledges, &event)?;
            tell(&stores.capacities, &event)?;
            tell(&stores.hypervisors, &event)?;
            tell(&stores.reservations, &event)?;
            tell(&stores.commitments, &event)?;
        }
        Ok(())
    }

    /// The brake as it is without any configuration; what it counts and tells nobody hears.
    pub fn brake(&self, clock: &Arc<dyn Clock>) -> Result<Brake, MetricsError> {
        let all = ClusterMetrics::register(&Metrics::new(&[].into())?)?;
        Ok(Brake::new(BrakeParts {
            limit: config::Brake::default(),
            reservations: self.stores.reservations.clone(),
            knowledges: self.stores.knowledges.clone(),
            clock: clock.clone(),
            events: Events::new(&self.clusters, None, all.events, CancellationToken::new()).0,
            metrics: all.brake,
        }))
    }

    /// Nothing is frozen but by the annotation.
    pub fn freezer(&self) -> Freezer {
        let stores = &self.stores;
        Freezer::new(config::Freeze::default(), stores.commitments.clone(), stores.reservations.clone())
    }

    /// Asks for looks at commitments.
    pub fn wake_commitments(&self) -> WakeKeys {
        let queue = self.commitments.clone();
        Arc::new(move |keys: &[ObjectKey]| queue.wake_all(keys.iter().cloned()))
    }

    /// A writer whose answers go to `store`.
    pub fn writer<K: Kind>(&self, store: &Store<K>) -> Writer<K> {
        Writer::new(store.clone(), self.clusters.clone())
    }

    /// Wakes slots that a host was found for.
    pub fn wake_slots(&self) -> WakeSlots {
        let queue = self.slots.clone();
        Arc::new(move |slots: &[SlotKey]| wake(&queue, slots))
    }

    /// The scheduler hears of every change before anybody else.
    fn inform(&self) {
        let (brain, queue) = (self.scheduler.clone(), self.slots.clone());
        self.stores.hypervisors.on_change(move |change| {
            let host = change.new.as_ref().map(|host| facts::host(&change.key.cluster, host));
            wake(&queue, &brain.host_changed(&(&*change.key.name).into(), host));
        });
        let (brain, queue) = (self.scheduler.clone(), self.slots.clone());
        self.stores.reservations.on_change(move |change| {
            let reservation = change.new.as_ref().map(|object| facts::reservation(&change.key.cluster, object));
            wake(&queue, &brain.reservation_changed(&slot_key(&change.key), reservation));
        });
    }

    /// Ends the entries of the scheduler whose write was looked up in the meantime, as the house-keeping of the binary
    /// does.
    pub fn end_settled_doubts(&self) {
        let doubts = self.stores.reservations.doubts();
        for slot in self.scheduler.doubts().into_iter().filter(|slot| !doubts.contains(&object_key(slot))) {
            wake(&self.slots, &self.scheduler.settled(&slot));
        }
    }

    fn known(&self) -> MutexGuard<'_, u64> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn tell<K: Kind>(store: &Store<K>, event: &Event) -> Result<(), Refusal> {
    if event.kind != K::url_path(&(), None) {
        return Ok(());
    }
    let object: K = serde_json::from_value(Value::clone(&event.object))
        .map_err(|error| Refusal::new(500, "InternalError", "", error.to_string()))?;
    match event.happened {
        Happened::Applied => applied(store, &ClusterName::home(), object),
        Happened::Deleted => deleted(store, &ClusterName::home(), object),
    }
    Ok(())
}

fn wake(queue: &Queue, slots: &[SlotKey]) {
    queue.wake_all(slots.iter().map(object_key));
}

fn slot_key(key: &ObjectKey) -> SlotKey {
    SlotKey::new(key.cluster.clone(), &*key.name)
}

fn object_key(key: &SlotKey) -> ObjectKey {
    ObjectKey::new(key.cluster.clone(), key.name.as_str())
}
