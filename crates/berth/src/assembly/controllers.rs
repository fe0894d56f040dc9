//! The controllers of commitments and of slots, with everything that they need, and the order in which their keys wait.

use std::{collections::BTreeSet, error::Error, future::Future, pin::Pin, sync::Arc};

use berth_cluster::{
    Brake, BrakeParts, Classified, Clusters, ControllerOptions, Events, Fence, FlavorGroupsCache, Freezer, Kind, Next,
    ObjectKey, Pick, Routes, Store, Wakeups, Writer, run,
};
use berth_committed_resource::{
    CommittedResourceController, CoresBook, Delays, Limits, Pace, Settings,
    orphans::{self, OrphanController, OrphanParts},
};
use berth_core::SlotKey;
use berth_crds::{CommittedResource, Reservation};
use berth_reservation::{
    Parts, ReservationController,
    in_flight::{self, InFlightController, NoVmSizes},
    oversubscription::OversubscriptionController,
};
use berth_scheduler::{NoDomainNames, PipelineChoice, WakeSlots};
use berth_scheduler_api::{Chosen, pipelines::PipelineController};
use berth_telemetry::{
    clock::Clock,
    config::{Configuration, Controller},
    ids::FreshIds,
};
use futures::FutureExt;
use tokio_util::sync::CancellationToken;

use super::{Memory, OperatorMetrics, events::wake_all, relief};

/// A name, and work that ends at the end of the process.
pub type Work = (&'static str, Pin<Box<dyn Future<Output = ()> + Send>>);

/// What the controllers need besides the memory.
pub struct Environment<'a> {
    /// The configuration.
    pub configuration: &'a Configuration,
    /// The ways to the clusters.
    pub clusters: Clusters,
    /// Which of them serves what.
    pub routes: Routes,
    /// Whether this process may write.
    pub fence: Fence,
    /// Tells people.
    pub events: Events,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// Who finds hosts for slots.
    pub scheduler: Arc<Chosen>,
    /// Ids of requests.
    pub ids: FreshIds,
    /// What is counted.
    pub metrics: &'a OperatorMetrics,
}

/// In which order keys are looked at.
pub enum Order {
    /// First come, first served.
    AsTheyCome,
    /// As somebody picks, for each controller: for simulations.
    Picked(Box<dyn FnMut() -> Pick + Send>),
}

/// The controllers. Clones share them.
#[derive(Clone)]
pub struct Controllers {
    enabled: BTreeSet<Controller>,
    commitments: Arc<CommittedResourceController<Chosen, NoDomainNames>>,
    slots: Arc<ReservationController<Chosen, NoDomainNames>>,
    orphans: Arc<OrphanController>,
    /// Only if it is configured.
    oversubscription: Option<Arc<OversubscriptionController>>,
    in_flight: Arc<InFlightController<NoVmSizes>>,
    pipelines: Arc<PipelineController>,
}

impl Controllers {
    /// Controllers that have not looked at anything.
    pub fn new(memory: &Memory, environment: &Environment<'_>) -> Self {
        let flavor_groups = FlavorGroupsCache::new(memory.stores.knowledges.clone());
        let brake = brake(memory, environment);
        let slots = Arc::new(slots(memory, environment, flavor_groups.clone(), brake.clone()));
        Self {
            enabled: environment.configuration.enabled_controllers.clone(),
            commitments: Arc::new(commitments(memory, environment, flavor_groups, brake.clone())),
            oversubscription: relief::oversubscription(memory, environment, slots.evictions(), brake.clone()),
            in_flight: relief::in_flight(memory, environment),
            slots,
            orphans: Arc::new(orphaned(memory, environment, brake)),
            pipelines: Arc::new(pipeline_conditions(memory, environment)),
        }
    }

    /// The controller of commitments.
    pub fn commitments(&self) -> &CommittedResourceController<Chosen, NoDomainNames> {
        &self.commitments
    }

    /// The controller of slots.
    pub fn slots(&self) -> &ReservationController<Chosen, NoDomainNames> {
        &self.slots
    }

    /// The work of those that are enabled, until `stop`. To be begun when the stores have synced.
    pub fn work(
        &self,
        memory: &Memory,
        metrics: &OperatorMetrics,
        stop: &CancellationToken,
        order: Order,
    ) -> Vec<Work> {
        let mut queueing = Queueing { metrics, stop, order };
        let mut work = Vec::new();
        if self.enabled.contains(&Controller::CommittedResources) {
            work.extend(self.of_commitments(memory, &mut queueing));
            work.extend(self.of_hosts(memory, &mut queueing));
        }
        if self.enabled.contains(&Controller::InFlight) {
            work.push(self.of_in_flight(memory, &mut queueing));
        }
        if self.enabled.contains(&Controller::NovaPipelines) {
            work.push(self.of_pipelines(memory, &mut queueing));
        }
        work
    }

    fn of_commitments(&self, Memory { stores, queues, .. }: &Memory, queueing: &mut Queueing<'_>) -> [Work; 3] {
        let controller = self.commitments.clone();
        let look = move |key| {
            let controller = controller.clone();
            async move { controller.look(key).await }
        };
        let commitments = queueing.queue("committed-resource", &queues.commitments, &stores.commitments, look);
        let controller = self.slots.clone();
        let look = move |key| {
            let controller = controller.clone();
            async move { controller.look(key).await }
        };
        let slots = queueing.queue("commitment-reservation", &queues.slots, &stores.reservations, look);
        let controller = self.orphans.clone();
        let look = move |key| {
            let controller = controller.clone();
            async move { controller.look(key).await }
        };
        let first = first_orphans(stores.reservations.clone(), stores.commitments.clone());
        let orphans = queueing.queue_from("orphaned-slots", &queues.orphans, &stores.reservations, first, look);
        [
            ("the controller of commitments", commitments),
            ("the controller of slots", slots),
            ("the controller of orphaned slots", orphans),
        ]
    }

    fn of_hosts(&self, Memory { stores, queues, .. }: &Memory, queueing: &mut Queueing<'_>) -> Option<Work> {
        let controller = self.oversubscription.clone()?;
        let look = move |key| {
            let controller = controller.clone();
            async move { controller.look(key).await }
        };
        let hosts = queueing.queue("host-oversubscription", &queues.hosts, &stores.hypervisors, look);
        Some(("the controller of over-booked hosts", hosts))
    }

    fn of_in_flight(&self, Memory { stores, queues, .. }: &Memory, queueing: &mut Queueing<'_>) -> Work {
        let controller = self.in_flight.clone();
        let look = move |key| {
            let controller = controller.clone();
            async move { controller.look(key).await }
        };
        let (name, known) = ("inflight-reservation-controller", stores.reservations.clone());
        let first = move || in_flight::wake::all(&known);
        let flights = queueing.queue_from(name, &queues.in_flight, &stores.reservations, first, look);
        ("the controller of in-flight reservations", flights)
    }

    fn of_pipelines(&self, Memory { stores, queues, .. }: &Memory, queueing: &mut Queueing<'_>) -> Work {
        let controller = self.pipelines.clone();
        let look = move |key| {
            let controller = controller.clone();
            async move { controller.look(key).await }
        };
        let pipelines = queueing.queue("nova-pipeline", &queues.pipelines, &stores.pipelines, look);
        ("the controller of pipelines", pipelines)
    }
}

struct Queueing<'a> {
    metrics: &'a OperatorMetrics,
    stop: &'a CancellationToken,
    order: Order,
}

impl Queueing<'_> {
    /// A queue that begins with everything that there is.
    fn queue<K: Kind, E, F, R>(
        &mut self,
        name: &'static str,
        wakeups: &Arc<Wakeups>,
        store: &Store<K>,
        look: F,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>>
    where
        F: Fn(ObjectKey) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Next, E>> + Send + 'static,
        E: Classified + Error + Send + 'static,
    {
        let all = store.clone();
        self.queue_from(name, wakeups, store, move || everything(&all), look)
    }

    /// One that begins with `first`, for a controller that has nothing to do with the rest.
    fn queue_from<K: Kind, E, F, R, I: IntoIterator<Item = ObjectKey>>(
        &mut self,
        name: &'static str,
        wakeups: &Arc<Wakeups>,
        store: &Store<K>,
        first: impl FnOnce() -> I + Send + 'static,
        look: F,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>>
    where
        F: Fn(ObjectKey) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Next, E>> + Send + 'static,
        E: Classified + Error + Send + 'static,
    {
        let (known, options) = (store.clone(), ControllerOptions::new(name));
        let exists = move |key: &ObjectKey| known.get(key).is_some();
        let (stop, counted) = (self.stop.clone(), self.metrics.cluster.controllers.clone());
        let opened = wakeups.clone();
        let begin = async move {
            opened.open();
            wake_all(&opened, first());
        };
        let wakeups = wakeups.clone();
        let pick = match &mut self.order {
            Order::AsTheyCome => None,
            Order::Picked(pick) => Some(pick()),
        };
        Box::pin(begin.then(|()| run(options, wakeups, exists, stop, counted, look, pick)))
    }
}

fn everything<K: Kind>(store: &Store<K>) -> Vec<ObjectKey> {
    let malformed = store.malformed().into_iter().map(|malformed| malformed.key);
    store.all().into_iter().map(|entry| entry.key).chain(malformed).collect()
}

/// Slots that are orphans, and those that were and may still say so.
fn first_orphans(
    reservations: Store<Reservation>,
    commitments: Store<CommittedResource>,
) -> impl FnOnce() -> BTreeSet<ObjectKey> + Send + 'static {
    move || {
        let mut keys = orphans::wake::all(&reservations, &commitments);
        keys.extend(berth_reservation::wake::braked(&reservations));
        keys
    }
}

fn commitments(
    memory: &Memory,
    environment: &Environment<'_>,
    flavor_groups: FlavorGroupsCache,
    brake: Brake,
) -> CommittedResourceController<Chosen, NoDomainNames> {
    let stores = &memory.stores;
    CommittedResourceController {
        commitments: environment.writer(&stores.commitments),
        reservations: environment.writer(&stores.reservations),
        hypervisors: stores.hypervisors.clone(),
        routes: environment.routes.clone(),
        flavor_groups,
        freezer: freezer(memory, environment),
        brake,
        scheduler: environment.scheduler.clone(),
        domain_names: NoDomainNames,
        clock: environment.clock.clone(),
        events: environment.events.clone(),
        metrics: environment.metrics.commitments.clone(),
        ids: environment.ids.clone(),
        settings: commitment_settings(environment.configuration),
        pace: Pace::default(),
        wake_slots: wake_slots(memory),
        cores: cores(memory, environment),
    }
}

fn cores(memory: &Memory, environment: &Environment<'_>) -> Arc<CoresBook> {
    let (stores, queues) = (&memory.stores, memory.queues.clone());
    let wake = Arc::new(move |keys: &[ObjectKey]| queues.wake_commitments(keys));
    let (commitments, routes) = (stores.commitments.clone(), environment.routes.clone());
    let freezer = freezer(memory, environment);
    Arc::new(CoresBook::new(commitments, stores.capacities.clone(), routes, freezer, wake))
}

fn slots(
    memory: &Memory,
    environment: &Environment<'_>,
    flavor_groups: FlavorGroupsCache,
    brake: Brake,
) -> ReservationController<Chosen, NoDomainNames> {
    let stores = &memory.stores;
    ReservationController::new(Parts {
        reservations: environment.writer(&stores.reservations),
        commitments: stores.commitments.clone(),
        hypervisors: stores.hypervisors.clone(),
        routes: environment.routes.clone(),
        flavor_groups,
        freezer: freezer(memory, environment),
        brake,
        scheduler: environment.scheduler.clone(),
        domain_names: NoDomainNames,
        clock: environment.clock.clone(),
        events: environment.events.clone(),
        metrics: environment.metrics.reservations.clone(),
        ids: environment.ids.clone(),
        settings: slot_settings(environment.configuration),
        wake_slots: wake_slots(memory),
    })
}

pub(super) fn freezer(memory: &Memory, environment: &Environment<'_>) -> Freezer {
    let stores = &memory.stores;
    Freezer::new(environment.configuration.freeze.clone(), stores.commitments.clone(), stores.reservations.clone())
}

fn orphaned(memory: &Memory, environment: &Environment<'_>, brake: Brake) -> OrphanController {
    let keys = &environment.configuration.reservation_controller;
    OrphanController::new(OrphanParts {
        reservations: environment.writer(&memory.stores.reservations),
        commitments: memory.stores.commitments.clone(),
        routes: environment.routes.clone(),
        freezer: freezer(memory, environment),
        brake,
        clock: environment.clock.clone(),
        events: environment.events.clone(),
        delays: orphans::Delays { grace: keys.requeue_interval_grace_period, retry: keys.requeue_interval_retry },
    })
}

/// The window is one for all controllers (D14).
fn brake(memory: &Memory, environment: &Environment<'_>) -> Brake {
    Brake::new(BrakeParts {
        limit: environment.configuration.brake.clone(),
        reservations: memory.stores.reservations.clone(),
        knowledges: memory.stores.knowledges.clone(),
        clock: environment.clock.clone(),
        events: environment.events.clone(),
        metrics: environment.metrics.cluster.brake.clone(),
    })
}

fn pipeline_conditions(memory: &Memory, environment: &Environment<'_>) -> PipelineController {
    PipelineController::new(environment.writer(&memory.stores.pipelines), environment.clock.clone())
}

impl Environment<'_> {
    pub(super) fn writer<K: Kind>(&self, store: &Store<K>) -> Writer<K> {
        let counted = self.metrics.cluster.writes.clone();
        Writer::new(store.clone(), self.clusters.clone()).fenced(self.fence.clone()).counted(counted)
    }
}

fn wake_slots(memory: &Memory) -> WakeSlots {
    let queues = memory.queues.clone();
    Arc::new(move |slots: &[SlotKey]| queues.wake_slots(slots))
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
    }
}
