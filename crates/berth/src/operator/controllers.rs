//! The controllers of commitments and of slots, with everything that they need.

use std::{future::Future, sync::Arc};

use berth_cluster::{
    Classified, Clusters, ControllerOptions, Events, FlavorGroupsCache, Kind, Next, ObjectKey, Store, Wakeups, Writer,
    run,
};
use berth_committed_resource::{CommittedResourceController, Delays, Limits, Settings};
use berth_core::SlotKey;
use berth_reservation::{Parts as SlotParts, ReservationController};
use berth_scheduler::{BuiltIn, NoDomainNames, PipelineChoice, WakeSlots};
use berth_telemetry::{clock::SystemClock, config::Configuration};

use super::{OperatorMetrics, Parts};
use crate::feed::{Queues, Stores};

/// What exists when the stores have synced.
pub(super) struct World<'a> {
    pub(super) configuration: &'a Configuration,
    pub(super) stores: &'a Stores,
    pub(super) clusters: Clusters,
    pub(super) scheduler: &'a Arc<BuiltIn>,
    pub(super) queues: Queues,
    pub(super) events: Events,
    pub(super) metrics: &'a OperatorMetrics,
}

impl World<'_> {
    /// Starts both controllers.
    pub(super) fn start(&self, parts: &mut Parts) {
        let flavor_groups = FlavorGroupsCache::new(self.stores.knowledges.clone());
        self.start_commitments(flavor_groups.clone(), parts);
        self.start_slots(flavor_groups, parts);
    }

    fn start_commitments(&self, flavor_groups: FlavorGroupsCache, parts: &mut Parts) {
        let controller = Arc::new(CommittedResourceController {
            commitments: self.writer(&self.stores.commitments),
            reservations: self.writer(&self.stores.reservations),
            hypervisors: self.stores.hypervisors.clone(),
            flavor_groups,
            scheduler: self.scheduler.clone(),
            domain_names: NoDomainNames,
            clock: Arc::new(SystemClock),
            events: self.events.clone(),
            metrics: self.metrics.commitments.clone(),
            settings: self.commitment_settings(),
            wake_slots: self.wake_slots(),
        });
        let look = move |key| {
            let controller = controller.clone();
            async move { controller.look(key).await }
        };
        let queue = self.queue("committed-resource", &self.queues.commitments, &self.stores.commitments, parts, look);
        parts.spawn_endless("the controller of commitments", queue);
    }

    fn start_slots(&self, flavor_groups: FlavorGroupsCache, parts: &mut Parts) {
        let controller = Arc::new(ReservationController::new(SlotParts {
            reservations: self.writer(&self.stores.reservations),
            commitments: self.stores.commitments.clone(),
            hypervisors: self.stores.hypervisors.clone(),
            flavor_groups,
            scheduler: self.scheduler.clone(),
            domain_names: NoDomainNames,
            clock: Arc::new(SystemClock),
            events: self.events.clone(),
            metrics: self.metrics.reservations.clone(),
            settings: self.slot_settings(),
            wake_slots: self.wake_slots(),
        }));
        let look = move |key| {
            let controller = controller.clone();
            async move { controller.look(key).await }
        };
        let queue = self.queue("commitment-reservation", &self.queues.slots, &self.stores.reservations, parts, look);
        parts.spawn_endless("the controller of slots", queue);
    }

    fn queue<K: Kind, E, F, R>(
        &self,
        name: &'static str,
        wakeups: &Arc<Wakeups>,
        store: &Store<K>,
        parts: &Parts,
        look: F,
    ) -> impl Future<Output = ()> + Send + use<K, E, F, R>
    where
        F: Fn(ObjectKey) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Next, E>> + Send + 'static,
        E: Classified + std::error::Error + Send + 'static,
    {
        let store = store.clone();
        let exists = move |key: &ObjectKey| store.get(key).is_some();
        let counted = self.metrics.cluster.controllers.clone();
        run(ControllerOptions::new(name), wakeups.clone(), exists, parts.stop.clone(), counted, look)
    }

    fn writer<K: Kind>(&self, store: &Store<K>) -> Writer<K> {
        Writer::new(store.clone(), self.clusters.clone()).counted(self.metrics.cluster.writes.clone())
    }

    fn wake_slots(&self) -> WakeSlots {
        let queues = self.queues.clone();
        Arc::new(move |slots: &[SlotKey]| queues.wake_slots(slots))
    }

    fn pipelines(&self) -> PipelineChoice {
        let keys = &self.configuration.reservation_controller;
        PipelineChoice {
            flavor_group_pipelines: keys.flavor_group_pipelines.clone(),
            default: keys.pipeline_default.clone().unwrap_or_default(),
        }
    }

    fn commitment_settings(&self) -> Settings {
        let keys = &self.configuration.committed_resource_controller;
        Settings {
            limits: Limits { max_new_slots: keys.max_slots_per_commitment.map(u64::from) },
            delays: Delays { retry: keys.requeue_interval_retry, cap: keys.max_requeue_interval },
            pipelines: self.pipelines(),
        }
    }

    fn slot_settings(&self) -> berth_reservation::Settings {
        let keys = &self.configuration.reservation_controller;
        berth_reservation::Settings {
            delays: berth_reservation::Delays {
                active: keys.requeue_interval_active,
                retry: keys.requeue_interval_retry,
                grace: keys.requeue_interval_grace_period,
            },
            pipelines: self.pipelines(),
        }
    }
}

impl Default for Queues {
    fn default() -> Self {
        Self { commitments: Wakeups::new(), slots: Wakeups::new() }
    }
}
