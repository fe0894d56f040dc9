//! One operator without its controllers: stores, scheduler and requests, wired as the binary wires them. It decides the order
//! in which changes arrive and keys are reconciled, which is always the same; the controllers are made by the tests, and
//! declare themselves what they watch.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use berth_cluster::{
    Brake, BrakeParts, ClusterMetrics, Clusters, Events, Freezer, Key, Kind, Manager, ObjectKey, Options, Queue,
    Reconciler, Requests, Routes, Store, Writer, feed_hosts, feed_reservations,
    indexes::{CAPACITY_INDEXES, COMMITMENT_INDEXES, HYPERVISOR_INDEXES, RESERVATION_INDEXES},
    testing::{applied, deleted, filled, opened, take_smallest},
};
use berth_core::{ClusterName, SlotKey};
use berth_crds::{CommittedResource, FlavorGroupCapacity, Hypervisor, Knowledge, Pipeline, Reservation};
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
    /// Pipelines, of which there are none.
    pub pipelines: Store<Pipeline>,
}

/// Enqueues these objects.
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
    /// Requests of the controller of commitments.
    pub commitments: Requests<ObjectKey>,
    /// Requests of the controller of slots.
    pub slots: Requests<ObjectKey>,
    /// The resourceVersion up to which the stores know everything.
    known: Arc<Mutex<u64>>,
}

impl World {
    /// A process that has just begun and knows nothing yet: [`Self::declare`] its controllers, then [`Self::list`].
    pub fn new(server: &Server) -> Self {
        let home = ClusterName::home();
        let stores = Stores {
            commitments: filled(COMMITMENT_INDEXES, &home, []),
            reservations: filled(RESERVATION_INDEXES, &home, []),
            hypervisors: filled(HYPERVISOR_INDEXES, &home, []),
            knowledges: filled(&[], &home, []),
            capacities: filled(CAPACITY_INDEXES, &home, []),
            pipelines: filled(&[], &home, []),
        };
        let world = Self {
            server: server.clone(),
            clusters: server.cluster().into(),
            stores,
            scheduler: Arc::new(BuiltIn::new(Settings::default())),
            commitments: opened(),
            slots: opened(),
            known: Arc::default(),
        };
        world.feed_view();
        world
    }

    /// Adds a controller as the binary does; its watches enqueue in `requests`. The test reconciles by hand, with
    /// [`next`].
    pub fn declare<R: Reconciler>(&self, reconciler: &Arc<R>, requests: &Requests<R::Key>) -> Result<(), MetricsError> {
        let counted = ClusterMetrics::register(&Metrics::new(&[].into())?)?.controllers;
        let mut manager = Manager::new(counted, Queue::Kube);
        manager.add(reconciler.clone(), requests.clone(), Options::default());
        Ok(())
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

    /// Enqueues commitments.
    pub fn wake_commitments(&self) -> WakeKeys {
        let requests = self.commitments.clone();
        Arc::new(move |keys: &[ObjectKey]| requests.add(keys.iter().cloned()))
    }

    /// A writer whose answers go to `store`.
    pub fn writer<K: Kind>(&self, store: &Store<K>) -> Writer<K> {
        Writer::new(store.clone(), self.clusters.clone())
    }

    /// Enqueues slots that a host was found for.
    pub fn wake_slots(&self) -> WakeSlots {
        let requests = self.slots.clone();
        Arc::new(move |slots: &[SlotKey]| enqueue(&requests, slots))
    }

    fn feed_view(&self) {
        let (view, slots) = (self.scheduler.clone(), self.slots.clone());
        feed_hosts(&self.stores.hypervisors, &Routes::home_only(), move |name, host| {
            enqueue(&slots, &view.host_changed(name, host));
        });
        let (view, slots) = (self.scheduler.clone(), self.slots.clone());
        feed_reservations(&self.stores.reservations, move |key, reservation| {
            enqueue(&slots, &view.reservation_changed(key, reservation));
        });
    }

    /// Ends the entries of the scheduler whose write was looked up in the meantime, as the house-keeping of the binary
    /// does.
    pub fn end_settled_doubts(&self) {
        let doubts = self.stores.reservations.doubts();
        for slot in self.scheduler.doubts().into_iter().filter(|slot| !doubts.contains(&ObjectKey::from(slot))) {
            enqueue(&self.slots, &self.scheduler.settled(&slot));
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

fn enqueue(requests: &Requests<ObjectKey>, slots: &[SlotKey]) {
    requests.add(slots.iter().map(ObjectKey::from));
}

/// The next key that is to be reconciled: always the smallest, so that every run of a test is the same.
pub fn next<K: Key>(requests: &Requests<K>) -> Option<K> {
    take_smallest(requests)
}
