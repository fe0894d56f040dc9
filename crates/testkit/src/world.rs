//! One operator without its controllers: stores, scheduler and requests, wired as in the binary.

use std::sync::Arc;

use berth_cluster::testing::{applied_raw, deleted, opened, sync, take_smallest};
use berth_cluster::{
    ClusterMetrics, Clusters, DecodeGuard, DisruptionLimit, DisruptionLimitParts, Events, Key, Kind, Manager,
    ObjectKey, Options, Pauses, Properties, Queue, Reconciler, Requests, Routes, Store, StoreSet as _, Stores, Visitor,
    Writer, feed_changes, feed_hosts, feed_reservations,
};
use berth_core::{ClusterName, SlotKey};
use berth_scheduler::{BuiltIn, Scheduler, Settings};
use berth_telemetry::clock::Clock;
use berth_telemetry::config;
use berth_telemetry::metrics::{Metrics, MetricsError};
use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{Event, Happened, Refusal, Server};

/// The memory of one process. Clones share it.
#[derive(Clone)]
pub struct World {
    pub server: Server,
    pub clusters: Clusters,
    pub stores: Stores,
    pub scheduler: Arc<BuiltIn>,
    pub commitments: Requests<ObjectKey>,
    pub slots: Requests<ObjectKey>,
    /// The resourceVersion up to which the stores are current.
    known: Arc<Mutex<u64>>,
}

impl World {
    /// A process that has just started and knows nothing yet: [`Self::declare`] its controllers, then [`Self::list`].
    pub fn new(server: &Server) -> Self {
        let stores = Stores::default();
        sync(&stores, &ClusterName::home());
        let slots = opened();
        let requests = slots.clone();
        let enqueue = move |keys: &[SlotKey]| requests.add(keys.iter().map(ObjectKey::from));
        let scheduler = BuiltIn::new(Settings::default(), Box::new(enqueue));
        let world = Self {
            server: server.clone(),
            clusters: server.cluster().into(),
            stores,
            scheduler: Arc::new(scheduler),
            commitments: opened(),
            slots,
            known: Arc::default(),
        };
        world.feed_view();
        world
    }

    /// Adds a controller as the binary does; its watches enqueue in `requests`. The test reconciles the keys itself,
    /// with [`next`].
    pub fn declare<R: Reconciler>(&self, reconciler: &Arc<R>, requests: &Requests<R::Key>) -> Result<(), MetricsError> {
        let counted = ClusterMetrics::register(&Metrics::new(&[].into())?)?.controllers;
        let mut manager = Manager::new(counted, Queue::Kube);
        manager.add(reconciler.clone(), requests.clone(), Options::default());
        Ok(())
    }

    /// Feeds the stores with all objects.
    pub fn list(&self) -> Result<(), Refusal> {
        *self.known() = self.server.version();
        let mut list = List { server: &self.server, outcome: Ok(()) };
        self.stores.each(&mut list);
        list.outcome
    }

    /// Feeds the stores with the events since the last time, as a watch would; also for hooks, in the middle of a
    /// reconciliation.
    pub fn deliver(&self) -> Result<(), Refusal> {
        let mut known = self.known();
        for event in self.server.since(*known) {
            *known = event.version;
            let mut deliver = Deliver { event: &event, outcome: Ok(()) };
            self.stores.each(&mut deliver);
            deliver.outcome?;
        }
        Ok(())
    }

    /// The disruption limit without any configuration; its metrics and events are discarded.
    pub fn disruption_limit(&self, clock: &Arc<dyn Clock>) -> Result<DisruptionLimit, MetricsError> {
        let all = ClusterMetrics::register(&Metrics::new(&[].into())?)?;
        Ok(DisruptionLimit::new(DisruptionLimitParts {
            limit: config::DisruptionLimit::default(),
            reservations: self.stores.reservations.clone(),
            knowledges: self.stores.knowledges.clone(),
            clock: clock.clone(),
            events: Events::new(&self.clusters, None, all.events, CancellationToken::new()).0,
            metrics: all.disruption_limit,
        }))
    }

    pub fn pauses(&self) -> Pauses {
        let stores = &self.stores;
        Pauses::new(config::Pause::default(), stores.commitments.clone(), stores.reservations.clone())
    }

    pub fn writer<K: Kind>(&self, store: &Store<K>) -> Writer<K> {
        Writer::new(store.clone(), self.clusters.clone())
    }

    fn feed_view(&self) {
        let view = self.scheduler.clone();
        feed_hosts(&self.stores.hypervisors, &Routes::home_only(), move |name, host| view.host_changed(name, host));
        let view = self.scheduler.clone();
        feed_reservations(&self.stores.reservations, move |key, reservation| {
            view.reservation_changed(key, reservation);
        });
        let view = self.scheduler.clone();
        feed_changes(&self.stores.changes, move |change| view.end_change(change));
    }

    /// Ends the entries of the scheduler whose write was read again in the meantime, as a background task of the binary
    /// does.
    pub fn end_settled_doubts(&self) {
        for slot in self.scheduler.doubts() {
            self.stores.reservations.when_settled(&ObjectKey::from(&slot), || self.scheduler.settled(&slot));
        }
    }

    fn known(&self) -> MutexGuard<'_, u64> {
        self.known.lock()
    }
}

struct List<'a> {
    server: &'a Server,
    outcome: Result<(), Refusal>,
}

impl Visitor for List<'_> {
    fn visit<K: Kind>(&mut self, store: &Store<K>, _: &Properties) {
        for object in self.server.all_raw(&K::url_path(&(), None)) {
            if let Err(refusal) = feed(store, &object) {
                self.outcome = Err(refusal);
            }
        }
    }
}

struct Deliver<'a> {
    event: &'a Event,
    outcome: Result<(), Refusal>,
}

impl Visitor for Deliver<'_> {
    fn visit<K: Kind>(&mut self, store: &Store<K>, _: &Properties) {
        if self.event.kind != K::url_path(&(), None) {
            return;
        }
        match self.event.happened {
            Happened::Applied => self.outcome = feed(store, &self.event.object),
            Happened::Deleted => match serde_json::from_value(Value::clone(&self.event.object)) {
                Ok(DecodeGuard::Valid(object)) => deleted::<K>(store, &ClusterName::home(), object),
                // The process has removed the last finalizer itself, and knows.
                Ok(DecodeGuard::Invalid(_)) => {}
                Err(error) => self.outcome = Err(failed(&error)),
            },
        }
    }
}

fn feed<K: Kind>(store: &Store<K>, object: &Value) -> Result<(), Refusal> {
    applied_raw(store, &ClusterName::home(), object.clone()).map_err(|error| failed(&error))
}

fn failed(error: &serde_json::Error) -> Refusal {
    Refusal::new(500, "InternalError", "", error.to_string())
}

/// The next key to reconcile: always the smallest, so that every run of a test is the same.
pub fn next<K: Key>(requests: &Requests<K>) -> Option<K> {
    take_smallest(requests)
}
