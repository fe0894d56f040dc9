//! Constructs the controllers and decides which of them run.

use std::collections::BTreeSet;
use std::sync::Arc;

use berth_capacity::CapacityController;
use berth_cluster::{
    Clusters, DisruptionLimit, DisruptionLimitParts, Events, Fence, FlavorGroupsCache, Kind, Manager, ObjectKey,
    Options, Pauses, Requests, Routes, Store, Writer,
};
use berth_committed_resource::orphans::{self, OrphanController};
use berth_committed_resource::{
    self as committed_resource, CommittedResourceController, CoresBook, Delays, Limits, Settings,
};
use berth_core::commitment::State;
use berth_limes_syncer::{Fetcher, LimesClient, SyncController};
use berth_liquid::changes::{self as liquid_changes, ChangeController};
use berth_projects::ProjectSources;
use berth_quota::QuotaController;
use berth_reservation::in_flight::InFlightController;
use berth_reservation::oversubscription::OversubscriptionController;
use berth_reservation::{self as reservation, ReservationController};
use berth_scheduler::{DomainNames, PipelineChoice};
use berth_scheduler_api::Chosen;
use berth_scheduler_api::pipelines::{self, PipelineController};
use berth_telemetry::clock::Clock;
use berth_telemetry::config::{Configuration, Controller, Gate};
use berth_telemetry::ids::FreshIds;
use berth_usage::UsageController;
use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};

use super::syncer::LimesSyncer;
use super::{Memory, OperatorMetrics, Queues, oversubscription, vms};

/// A comparison is at most one write, so there are more of them than the writes that a cluster gets at once: these are then made
/// without a pause, and a first run over a long list takes hardly longer than its writes.
const COMPARISONS_AT_ONCE: u16 = 48;

/// The dependencies of the controllers besides the memory.
pub struct Environment<'a> {
    pub configuration: &'a Configuration,
    pub clusters: Clusters,
    pub routes: Routes,
    pub fence: Fence,
    pub events: Events,
    pub clock: Arc<dyn Clock>,
    /// Finds hosts for slots.
    pub scheduler: Arc<Chosen>,
    /// Answers the probes of capacity.
    pub capacity_scheduler: Arc<Chosen>,
    pub ids: FreshIds,
    pub domain_names: Arc<dyn DomainNames>,
    /// What Limes lists, if the syncer is to run.
    pub limes: Option<Arc<dyn LimesClient>>,
    pub metrics: &'a OperatorMetrics,
}

/// The controllers. Clones share them.
#[derive(Clone)]
pub struct Controllers {
    enabled: BTreeSet<Controller>,
    commitments: Arc<CommittedResourceController<Chosen>>,
    slots: Arc<ReservationController<Chosen>>,
    orphans: Arc<OrphanController>,
    /// Only if it is configured.
    oversubscription: Option<Arc<OversubscriptionController>>,
    in_flight: Arc<InFlightController>,
    /// In-flight reservations that a new snapshot of VMs concerns.
    resized: Requests<ObjectKey>,
    changes: Arc<ChangeController>,
    usage: Arc<UsageController>,
    quota: Arc<QuotaController>,
    capacity: Arc<CapacityController<Chosen>>,
    syncer: Option<LimesSyncer>,
    /// What open changes have released is held before anything else is decided.
    hold_released_capacity: Shared<BoxFuture<'static, ()>>,
    pipelines: Arc<PipelineController>,
}

impl Controllers {
    pub fn new(memory: &Memory, environment: &Environment<'_>) -> Self {
        let flavor_groups = memory.flavor_groups.clone();
        let disruption_limit = disruption_limit(memory, environment);
        let syncer = syncer(memory, environment, disruption_limit.clone());
        let resized = Requests::closed();
        vms::request_with_snapshots(memory, resized.clone());
        let slots = Arc::new(slots(memory, environment, flavor_groups.clone(), disruption_limit.clone()));
        Self {
            enabled: environment.configuration.enabled_controllers.clone(),
            commitments: Arc::new(commitments(memory, environment, flavor_groups, disruption_limit.clone())),
            oversubscription: oversubscription::oversubscription(
                memory,
                environment,
                slots.evictions(),
                disruption_limit.clone(),
            ),
            in_flight: oversubscription::in_flight(memory, environment),
            resized,
            changes: Arc::new(changes(memory, environment)),
            usage: Arc::new(usage(memory, environment)),
            quota: Arc::new(quota(memory, environment)),
            capacity: Arc::new(capacity(memory, environment)),
            hold_released_capacity: hold_released_capacity(memory).boxed().shared(),
            slots,
            orphans: Arc::new(orphaned(memory, environment, disruption_limit, syncer.as_ref())),
            syncer,
            pipelines: Arc::new(pipeline_conditions(memory, environment)),
        }
    }

    pub fn commitments(&self) -> &CommittedResourceController<Chosen> {
        &self.commitments
    }

    pub fn slots(&self) -> &ReservationController<Chosen> {
        &self.slots
    }

    pub fn usage(&self) -> &UsageController {
        &self.usage
    }

    pub fn syncer(&self) -> Option<&SyncController> {
        self.syncer.as_ref().map(|syncer| &*syncer.controller)
    }

    /// The source of the syncer, if it is to run.
    pub(crate) fn limes_fetcher(&self, memory: &Memory, environment: &Environment<'_>) -> Option<Fetcher> {
        self.syncer.as_ref().map(|syncer| syncer.fetcher(memory, &environment.configuration.syncer))
    }

    /// Adds those that are enabled: another controller is one line here.
    pub fn add_to(&self, manager: &mut Manager, Queues { commitments, slots }: &Queues) {
        let options = Options::default;
        if self.enabled.contains(&Controller::CommittedResources) {
            manager.add(self.commitments.clone(), commitments.clone(), options());
            manager.add(self.slots.clone(), slots.clone(), options());
            manager.add(self.orphans.clone(), Requests::closed(), options());
            manager.add(self.changes.clone(), Requests::closed(), options());
            if self.usage.has_source() {
                manager.add(self.usage.clone(), self.usage.requests().clone(), options());
            }
            manager.before_first(self.hold_released_capacity.clone());
            if let Some(oversubscription) = &self.oversubscription {
                manager.add(oversubscription.clone(), Requests::closed(), options());
            }
        }
        if self.enabled.contains(&Controller::Quota) && self.quota.has_source() {
            manager.add(self.quota.clone(), self.quota.requests().clone(), options());
        }
        if self.enabled.contains(&Controller::Capacity) {
            manager.add(self.capacity.clone(), Requests::closed(), options());
        }
        if let Some(syncer) = &self.syncer {
            let options = Options { concurrency: COMPARISONS_AT_ONCE, ..options() };
            manager.add(syncer.controller.clone(), syncer.controller.requests().clone(), options);
        }
        if self.enabled.contains(&Controller::InFlight) {
            manager.add(self.in_flight.clone(), self.resized.clone(), options());
        }
        if self.enabled.contains(&Controller::NovaPipelines) {
            manager.add(self.pipelines.clone(), Requests::closed(), options());
        }
    }
}

fn commitments(
    memory: &Memory,
    environment: &Environment<'_>,
    flavor_groups: FlavorGroupsCache,
    disruption_limit: DisruptionLimit,
) -> CommittedResourceController<Chosen> {
    let stores = &memory.stores;
    CommittedResourceController::new(committed_resource::Context {
        commitments: environment.writer(&stores.commitments),
        reservations: environment.writer(&stores.reservations),
        hypervisors: stores.hypervisors.clone(),
        pipelines: stores.pipelines.clone(),
        routes: environment.routes.clone(),
        flavor_groups,
        pauses: pauses(memory, environment),
        disruption_limit,
        scheduler: environment.scheduler.clone(),
        domain_names: environment.domain_names.clone(),
        clock: environment.clock.clone(),
        events: environment.events.clone(),
        metrics: environment.metrics.commitments.clone(),
        ids: environment.ids.clone(),
        settings: commitment_settings(environment.configuration),
        cores: cores(memory, environment),
        changes: stores.changes.clone(),
        vms: memory.vms.clone(),
    })
}

fn cores(memory: &Memory, environment: &Environment<'_>) -> Arc<CoresBook> {
    let stores = &memory.stores;
    Arc::new(CoresBook::new(
        stores.commitments.clone(),
        stores.capacities.clone(),
        stores.changes.clone(),
        environment.routes.clone(),
        pauses(memory, environment),
        memory.queues.commitments.clone(),
    ))
}

fn slots(
    memory: &Memory,
    environment: &Environment<'_>,
    flavor_groups: FlavorGroupsCache,
    disruption_limit: DisruptionLimit,
) -> ReservationController<Chosen> {
    let stores = &memory.stores;
    ReservationController::new(reservation::Context {
        reservations: environment.writer(&stores.reservations),
        commitments: stores.commitments.clone(),
        hypervisors: stores.hypervisors.clone(),
        pipelines: stores.pipelines.clone(),
        routes: environment.routes.clone(),
        flavor_groups,
        pauses: pauses(memory, environment),
        disruption_limit,
        scheduler: environment.scheduler.clone(),
        domain_names: environment.domain_names.clone(),
        clock: environment.clock.clone(),
        events: environment.events.clone(),
        metrics: environment.metrics.reservations.clone(),
        ids: environment.ids.clone(),
        settings: slot_settings(environment.configuration),
        requests: memory.queues.slots.clone(),
        vms: memory.vms.clone(),
    })
}

pub(super) fn pauses(memory: &Memory, environment: &Environment<'_>) -> Pauses {
    let stores = &memory.stores;
    Pauses::new(environment.configuration.pause.clone(), stores.commitments.clone(), stores.reservations.clone())
}

fn orphaned(
    memory: &Memory,
    environment: &Environment<'_>,
    disruption_limit: DisruptionLimit,
    syncer: Option<&LimesSyncer>,
) -> OrphanController {
    let keys = &environment.configuration.reservation_controller;
    OrphanController::new(orphans::Context {
        reservations: environment.writer(&memory.stores.reservations),
        commitments: memory.stores.commitments.clone(),
        knowledges: memory.stores.knowledges.clone(),
        routes: environment.routes.clone(),
        pauses: pauses(memory, environment),
        disruption_limit,
        clock: environment.clock.clone(),
        events: environment.events.clone(),
        delays: orphans::OrphanDelays { grace: keys.requeue_interval_grace_period, retry: keys.requeue_interval_retry },
        limes: syncer.map(LimesSyncer::listed),
    })
}

/// If it is to run.
fn syncer(memory: &Memory, environment: &Environment<'_>, disruption_limit: DisruptionLimit) -> Option<LimesSyncer> {
    let (stores, configuration) = (&memory.stores, environment.configuration);
    let context = berth_limes_syncer::Context {
        commitments: environment.writer(&stores.commitments),
        changes: stores.changes.clone(),
        reservations: stores.reservations.clone(),
        routes: environment.routes.clone(),
        pauses: pauses(memory, environment),
        disruption_limit,
        clock: environment.clock.clone(),
        events: environment.events.clone(),
        metrics: environment.metrics.syncer.clone(),
        requests: Requests::closed(),
        commitment_requests: memory.queues.commitments.clone(),
        settings: berth_limes_syncer::Settings {
            quiet_period: configuration.committed_resource_api.change_quiet_period,
            ends_stale: configuration.syncer.end_stale_commitments,
        },
    };
    environment.limes.clone().map(|limes| LimesSyncer::new(context, limes))
}

fn changes(memory: &Memory, environment: &Environment<'_>) -> ChangeController {
    let stores = &memory.stores;
    ChangeController::new(liquid_changes::Context {
        changes: environment.writer(&stores.changes),
        commitments: environment.writer(&stores.commitments),
        reservations: stores.reservations.clone(),
        routes: environment.routes.clone(),
        pauses: pauses(memory, environment),
        under_way: memory.changes_under_way.clone(),
        clock: environment.clock.clone(),
        events: environment.events.clone(),
        metrics: environment.metrics.changes.clone(),
        settings: liquid_changes::Settings {
            retention: environment.configuration.committed_resource_api.change_retention,
        },
    })
}

fn usage(memory: &Memory, environment: &Environment<'_>) -> UsageController {
    let keys = &environment.configuration.usage_reconciler;
    UsageController::new(berth_usage::Context {
        commitments: environment.writer(&memory.stores.commitments),
        sources: project_sources(memory, environment),
        clock: environment.clock.clone(),
        metrics: environment.metrics.usage.clone(),
        requests: Requests::closed(),
        settings: berth_usage::Settings { period: keys.cooldown_interval },
    })
}

fn quota(memory: &Memory, environment: &Environment<'_>) -> QuotaController {
    let keys = &environment.configuration.quota;
    QuotaController::new(berth_quota::Context {
        quotas: environment.writer(&memory.stores.quotas),
        sources: project_sources(memory, environment),
        unit_of: memory.unit_of(),
        clock: environment.clock.clone(),
        metrics: environment.metrics.quota.clone(),
        requests: Requests::closed(),
        settings: berth_quota::Settings {
            period: keys.full_reconcile_interval,
            states: keys.commitment_states.iter().filter_map(|state| State::parse(state)).collect(),
            follows_hosts: keys.enable_hypervisor_diff,
        },
    })
}

fn project_sources(memory: &Memory, environment: &Environment<'_>) -> ProjectSources {
    ProjectSources::new(&memory.stores, memory.flavor_groups.clone(), memory.vms.clone(), environment.routes.clone())
}

fn capacity(memory: &Memory, environment: &Environment<'_>) -> CapacityController<Chosen> {
    let stores = &memory.stores;
    let keys = &environment.configuration.capacity;
    CapacityController::new(berth_capacity::Context {
        capacities: environment.writer(&stores.capacities),
        commitments: stores.commitments.clone(),
        hypervisors: stores.hypervisors.clone(),
        reservations: stores.reservations.clone(),
        pipelines: stores.pipelines.clone(),
        flavor_groups: memory.flavor_groups.clone(),
        vms: memory.vms.clone(),
        routes: environment.routes.clone(),
        scheduler: environment.capacity_scheduler.clone(),
        unit_of: memory.unit_of(),
        clock: environment.clock.clone(),
        ids: environment.ids.clone(),
        metrics: environment.metrics.capacity.clone(),
        settings: berth_capacity::Settings {
            interval: keys.reconcile_interval,
            least_interval: keys.min_reconcile_interval,
            total_pipeline: keys.total_pipeline.clone(),
            placeable_pipeline: keys.placeable_pipeline.clone(),
        },
    })
}

/// Holds the capacity that changes of an earlier process have released, as far as it is still free.
fn hold_released_capacity(memory: &Memory) -> impl Future<Output = ()> + Send + use<> {
    let memory = memory.clone();
    async move {
        committed_resource::hold_released_capacity(
            &memory.stores.changes,
            &memory.stores.reservations,
            &*memory.scheduler,
        );
    }
}

fn disruption_limit(memory: &Memory, environment: &Environment<'_>) -> DisruptionLimit {
    DisruptionLimit::new(DisruptionLimitParts {
        limit: environment.configuration.disruption_limit.clone(),
        reservations: memory.stores.reservations.clone(),
        knowledges: memory.stores.knowledges.clone(),
        clock: environment.clock.clone(),
        events: environment.events.clone(),
        metrics: environment.metrics.cluster.disruption_limit.clone(),
    })
}

fn pipeline_conditions(memory: &Memory, environment: &Environment<'_>) -> PipelineController {
    PipelineController::new(pipelines::Context {
        pipelines: environment.writer(&memory.stores.pipelines),
        clock: environment.clock.clone(),
    })
}

impl Environment<'_> {
    pub(super) fn writer<K: Kind>(&self, store: &Store<K>) -> Writer<K> {
        let counted = self.metrics.cluster.writes.clone();
        Writer::new(store.clone(), self.clusters.clone()).fenced(self.fence.clone()).counted(counted)
    }
}

fn pipelines(configuration: &Configuration) -> PipelineChoice {
    let keys = &configuration.reservation_controller;
    PipelineChoice {
        flavor_group_pipelines: keys.flavor_group_pipelines.clone(),
        default: keys.pipeline_default.clone().unwrap_or_default(),
    }
}

fn commitment_settings(configuration: &Configuration) -> Settings {
    let keys = &configuration.committed_resource_controller;
    Settings {
        limits: Limits { max_new_slots: keys.max_slots_per_commitment.map(u64::from) },
        delays: Delays { retry: keys.requeue_interval_retry, cap: keys.max_requeue_interval },
        pipelines: pipelines(configuration),
        slot_creation_delay: keys.slot_creation_delay,
        takes_over_vms: keys.enable_payg_pre_allocation,
    }
}

fn slot_settings(configuration: &Configuration) -> berth_reservation::Settings {
    let keys = &configuration.reservation_controller;
    berth_reservation::Settings {
        delays: berth_reservation::Delays {
            active: keys.requeue_interval_active,
            retry: keys.requeue_interval_retry,
            grace: keys.requeue_interval_grace_period,
            allocation: keys.allocation_grace_period,
        },
        pipelines: pipelines(configuration),
        adopts_vms: configuration.feature_gates.is_on(Gate::CommittedResourceTracking),
    }
}
