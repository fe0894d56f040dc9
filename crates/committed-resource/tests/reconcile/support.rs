//! Both controllers in a small world: one process that reconciles the enqueued keys, one after the other, commitments
//! first.
#![allow(dead_code, reason = "each test file uses a part")]

#[path = "../shared/commitments.rs"]
mod commitment_controller;
#[path = "../../../reservation/tests/shared/slots.rs"]
mod slot_controller;

use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{Action, Classified, DisruptionLimit, ErrorClass, Events, ObjectKey, Reconciler as _};
use berth_committed_resource::{CommittedResourceController, Error};
use berth_core::ClusterName;
use berth_crds::{CommittedResource, Condition, Reservation, conditions, names};
use berth_reservation::ReservationController;
use berth_scheduler::{BuiltIn, Scheduler};
use berth_telemetry::clock::{Clock, TokioClock};
use berth_telemetry::metrics::Metrics;
use berth_testkit::{Server, World, next, path_of, seeds};
use berth_vm_source::VmSource;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use commitment_controller::commitments_with;
use slot_controller::{DELAYS, slots};

pub const UUID: &str = "uuid-1";

const PAUSE: Duration = Duration::from_millis(200);

/// A failed reconciliation: its object, the class of the error, and its text.
pub type Failure = (String, ErrorClass, String);

pub fn clock() -> Arc<dyn Clock> {
    Arc::new(TokioClock::new("2026-03-01T12:00:00Z".parse().unwrap()))
}

/// A server with the flavor groups, hosts with free capacity for this many slots each, and a commitment of this many
/// slots.
pub fn server(clock: &Arc<dyn Clock>, hosts: &[(&str, u64)], commitment: &CommittedResource) -> Server {
    let server = Server::new(clock.clone());
    server.create(&seeds::flavor_groups(clock.now())).unwrap();
    for (name, free) in hosts {
        server.create(&seeds::host(name, *free)).unwrap();
    }
    server.create(commitment).unwrap();
    server
}

pub fn commitment_path() -> String {
    path_of::<CommittedResource>(&names::commitment(UUID))
}

/// The prefix of the paths of its slots.
pub fn slots_path() -> String {
    path_of::<Reservation>("")
}

pub fn slot_path(number: u64) -> String {
    path_of::<Reservation>(&seeds::slot_name(UUID, number))
}

/// What is reconciled next.
enum Turn {
    Commitment(ObjectKey),
    Slot(ObjectKey),
}

/// One process with both controllers.
pub struct Process {
    pub world: World,
    pub commitments: Arc<CommittedResourceController<BuiltIn>>,
    pub slots: Arc<ReservationController<BuiltIn>>,
    /// Draws which controller runs next; without it commitments come first.
    order: Option<Mutex<fastrand::Rng>>,
}

impl Process {
    pub fn start(server: &Server, clock: &Arc<dyn Clock>) -> Self {
        Self::start_with_vms(server, clock, &VmSource::none())
    }

    /// The same, and it reads these VMs.
    pub fn start_with_vms(server: &Server, clock: &Arc<dyn Clock>, vms: &VmSource) -> Self {
        let world = World::new(server);
        let events = events(&world).0;
        Self::start_with(world, clock, events, vms)
    }

    /// The same, and its events are written to the API server.
    pub fn start_with_events(server: &Server, clock: &Arc<dyn Clock>) -> Self {
        let world = World::new(server);
        let (events, publishing) = events(&world);
        tokio::spawn(publishing);
        Self::start_with(world, clock, events, &VmSource::none())
    }

    fn start_with(world: World, clock: &Arc<dyn Clock>, events: Events, vms: &VmSource) -> Self {
        let disruption_limit = world.disruption_limit(clock).unwrap();
        let scheduler = world.scheduler.clone();
        let commitments = commitments_with(&world, clock, disruption_limit.clone(), scheduler, events.clone(), vms);
        let commitments = Arc::new(commitments);
        let slots = Arc::new(slots(&world, clock, disruption_limit, DELAYS, events, vms));
        world.declare(&commitments, &world.commitments).unwrap();
        world.declare(&slots, &world.slots).unwrap();
        world.list().unwrap();
        Self { world, commitments, slots, order: None }
    }

    /// From now on it reconciles in an order that is drawn from a seed.
    pub fn set_order(&mut self, seed: u64) {
        self.order = Some(Mutex::new(fastrand::Rng::with_seed(seed)));
    }

    fn next(&self) -> Option<Turn> {
        let commitment = || next(&self.world.commitments).map(Turn::Commitment);
        let slot = || next(&self.world.slots).map(Turn::Slot);
        let slots_first = self.order.as_ref().is_some_and(|order| order.lock().bool());
        if slots_first { slot().or_else(commitment) } else { commitment().or_else(slot) }
    }

    /// One reconciliation of the commitment, after all watch events have arrived.
    pub async fn reconcile(&self) -> Result<Action, Error> {
        self.world.deliver().unwrap();
        self.commitments.reconcile(commitment_key()).await
    }

    /// Reconciles until no key is enqueued. Returns the failures.
    pub async fn settle(&self) -> Vec<Failure> {
        let mut failures = Vec::new();
        for _ in 0..300 {
            self.world.deliver().unwrap();
            let (key, outcome) = match self.next() {
                Some(Turn::Commitment(key)) => {
                    let outcome = self.commitments.reconcile(key.clone()).await.map_err(|error| described(&error));
                    (key.clone(), outcome.inspect_err(|_| self.world.commitments.add([key])))
                }
                Some(Turn::Slot(key)) => {
                    let outcome = self.slots.reconcile(key.clone()).await.map_err(|error| described(&error));
                    (key.clone(), outcome.inspect_err(|_| self.world.slots.add([key])))
                }
                None => return failures,
            };
            if let Err((class, why)) = outcome {
                failures.push((key.name.to_string(), class, why));
                tokio::time::sleep(PAUSE).await;
            }
        }
        panic!(
            "the world does not come to rest; the last failures: {:?}",
            &failures[failures.len().saturating_sub(3)..]
        );
    }

    /// Settles, reconciles everything again a minute later, and checks that the second round writes nothing.
    pub async fn settle_for_good(&self) -> Vec<Failure> {
        let failures = self.settle().await;
        let version = self.world.server.version();
        self.world.server.take_log();
        tokio::time::sleep(Duration::from_secs(60)).await;
        self.enqueue_all();
        assert_eq!(self.settle().await, [], "in the second round");
        assert_eq!(self.world.server.take_log(), [""; 0], "a second plan is empty");
        assert_eq!(self.world.server.version(), version);
        failures
    }

    pub fn enqueue_all(&self) {
        self.world.commitments.add(self.world.stores.commitments.all().into_iter().map(|entry| entry.key));
        self.world.slots.add(self.world.stores.reservations.all().into_iter().map(|entry| entry.key));
    }
}

fn described<E: Classified + std::error::Error>(error: &E) -> (ErrorClass, String) {
    (error.class(), error.to_string())
}

pub fn commitment_key() -> ObjectKey {
    ObjectKey::new(ClusterName::home(), names::commitment(UUID))
}

pub fn commitment(server: &Server) -> CommittedResource {
    server.get(&names::commitment(UUID)).unwrap()
}

pub fn ready(server: &Server) -> Condition {
    let status = commitment(server).status.expect("the commitment has no status");
    conditions::ready(&status.conditions).expect("the commitment has no condition").clone()
}

pub fn slots_and_hosts(server: &Server) -> Vec<(String, Option<String>)> {
    let all: Vec<Reservation> = server.all().unwrap();
    let pair = |slot: Reservation| (slot.metadata.name.unwrap_or_default(), slot.spec.target_host);
    all.into_iter().map(pair).collect()
}

/// Checks that the current generation is accepted with this many slots, all ready, on hosts of this capacity.
pub fn assert_accepted(server: &Server, count: usize, hosts: &[(&str, u64)]) {
    let object = commitment(server);
    let condition = ready(server);
    let generation = object.metadata.generation;
    assert_eq!((condition.reason.as_str(), condition.observed_generation), ("Accepted", generation), "{condition:?}");
    assert_eq!(object.status.unwrap().accepted_spec.as_ref(), Some(&object.spec));
    let slots: Vec<Reservation> = server.all().unwrap();
    assert_eq!(slots.len(), count, "{:?}", slots_and_hosts(server));
    for slot in &slots {
        let status = slot.status.as_ref().unwrap();
        assert!(conditions::is_ready(&status.conditions), "{slot:?}");
        assert_eq!(status.host, slot.spec.target_host, "{slot:?}");
        assert_eq!(slot.spec.resources, berth_crds::testing::size("480Gi", "30"));
    }
    assert_not_overbooked(server, hosts);
}

/// Checks that no host has more slots than it has free capacity for.
pub fn assert_not_overbooked(server: &Server, hosts: &[(&str, u64)]) {
    let taken = slots_and_hosts(server);
    for (host, free) in hosts {
        let count = taken.iter().filter(|(_, on)| on.as_deref() == Some(*host)).count();
        assert!(count as u64 <= *free, "{host} has capacity for {free}: {taken:?}");
    }
}

fn metrics() -> Metrics {
    Metrics::new(&[].into()).unwrap()
}

fn events(world: &World) -> (Events, impl Future<Output = ()> + Send + use<>) {
    let counted = berth_cluster::ClusterMetrics::register(&metrics()).unwrap().events;
    Events::new(&world.clusters, None, counted, CancellationToken::new())
}

/// The controller of commitments with this scheduler.
pub fn commitments<S: Scheduler>(
    world: &World,
    clock: &Arc<dyn Clock>,
    disruption_limit: DisruptionLimit,
    scheduler: Arc<S>,
) -> CommittedResourceController<S> {
    commitments_with(world, clock, disruption_limit, scheduler, events(world).0, &VmSource::none())
}

/// A server with the flavor groups, a host with capacity for four slots, and a commitment with any content.
pub fn server_with_raw(clock: &Arc<dyn Clock>, commitment: serde_json::Value) -> Server {
    let server = Server::new(clock.clone());
    server.create(&seeds::flavor_groups(clock.now())).unwrap();
    server.create(&seeds::host("node1", 4)).unwrap();
    server.create_raw(commitment).unwrap();
    server
}
