//! The controllers of commitments and of slots, with everything that they need.

use std::sync::Arc;

use berth_cluster::{Clusters, ControllerOptions, Events, FlavorGroupsCache, ObjectKey, Wakeups, Writer, run};
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
            flavor_groups,
            scheduler: self.scheduler.clone(),
            domain_names: NoDomainNames,
            clock: Arc::new(SystemClock),
            events: self.events.clone(),
            metrics: self.metrics.commitments.clone(),
            settings: self.commitment_settings(),
            wake_slots: self.wake_slots(),
        });
        let store = self.stores.commitments.clone();
        let queue = run(
            ControllerOptions::new("committed-resource"),
            self.queues.commitments.clone(),
            move |key: &ObjectKey| store.get(key).is_some(),
            parts.stop.clone(),
            self.metrics.cluster.controllers.clone(),
            move |key| {
                let controller = controller.clone();
                async move { controller.look(key).await }
            },
        );
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
        let store = self.stores.reservations.clone();
        let queue = run(
            ControllerOptions::new("commitment-reservation"),
            self.queues.slots.clone(),
            move |key: &ObjectKey| store.get(key).is_some(),
            parts.stop.clone(),
            self.metrics.cluster.controllers.clone(),
            move |key| {
                let controller = controller.clone();
                async move { controller.look(key).await }
            },
        );
        parts.spawn_endless("the controller of slots", queue);
    }

    fn writer<K: berth_cluster::Kind>(&self, store: &berth_cluster::Store<K>) -> Writer<K> {
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
