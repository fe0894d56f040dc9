//! The controller of slots in a small world: one process that reconciles the enqueued keys, one after the other.
#![allow(dead_code, reason = "each test file uses a part")]

#[path = "../shared/slots.rs"]
mod slot_controller;

use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{Action, Classified, ClusterMetrics, ErrorClass, Events, ObjectKey, Reconciler as _};
use berth_core::ClusterName;
use berth_crds::{Condition, Hypervisor, Reservation, conditions};
use berth_reservation::{Delays, Error, ReservationController};
use berth_scheduler::BuiltIn;
use berth_telemetry::clock::{Clock, TokioClock};
use berth_telemetry::metrics::Metrics;
use berth_testkit::{Server, World, next, path_of, seeds};
use berth_vm_source::VmSource;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use slot_controller::{DELAYS, slots};

pub const UUID: &str = "uuid-1";

/// How long a host must be absent before it counts as gone.
pub const GRACE: Duration = Duration::from_secs(900);

/// How long a slot without a host waits for its next try.
pub const RETRY: Duration = Duration::from_secs(60);

/// How long a VM may take to appear.
pub const ALLOCATION_GRACE: Duration = Duration::from_secs(1200);

pub struct Process {
    pub world: World,
    pub slots: Arc<ReservationController<BuiltIn>>,
    pub clock: Arc<dyn Clock>,
    /// Its source of VMs, which has read nothing at first.
    pub vms: VmSource,
}

/// `spec.targetHost` and `status.host` of a placed slot.
pub fn on(host: &str) -> (Option<String>, Option<String>) {
    (Some(host.to_owned()), Some(host.to_owned()))
}

/// A server with the flavor groups, hosts with free capacity for this many slots each, and a process that has not
/// reconciled anything yet.
pub fn begin(hosts: &[(&str, u64)]) -> Process {
    let clock: Arc<dyn Clock> = Arc::new(TokioClock::new("2026-03-01T12:00:00Z".parse().unwrap()));
    let server = Server::new(clock.clone());
    server.create(&seeds::flavor_groups(clock.now())).unwrap();
    for (name, free) in hosts {
        server.create(&seeds::host(name, *free)).unwrap();
    }
    Process::start(&server, clock)
}

impl Process {
    pub fn start(server: &Server, clock: Arc<dyn Clock>) -> Self {
        let world = World::new(server);
        let events = events(&world).0;
        Self::start_with(world, clock, events)
    }

    /// The same, and its events are written to the API server.
    pub fn start_with_events(server: &Server, clock: Arc<dyn Clock>) -> Self {
        let world = World::new(server);
        let (events, publishing) = events(&world);
        tokio::spawn(publishing);
        Self::start_with(world, clock, events)
    }

    fn start_with(world: World, clock: Arc<dyn Clock>, events: Events) -> Self {
        let vms = VmSource::new(clock.clone(), Duration::from_secs(3600));
        let delays = Delays { retry: RETRY, grace: GRACE, allocation: ALLOCATION_GRACE, ..DELAYS };
        let slots = Arc::new(slots(&world, &clock, world.disruption_limit(&clock).unwrap(), delays, events, &vms));
        world.declare(&slots, &world.slots).unwrap();
        world.list().unwrap();
        Self { world, slots, clock, vms }
    }

    /// Books a VM of half a slot into slot `number`.
    pub fn expect(&self, number: u64, vm: &str) {
        let resources = berth_crds::testing::size("240Gi", "15");
        let allocation = json!({ "creationTimestamp": self.clock.now(), "resources": resources });
        self.edit(
            number,
            &json!({ "spec": { "committedResourceReservation": { "allocations": { vm: allocation } } } }),
        );
    }

    /// The agent of a host lists these VMs, of half a slot each.
    pub fn run(&self, host: &str, vms: &[&str]) {
        let instances: Vec<_> = vms.iter().map(|vm| json!({ "id": vm, "name": vm, "active": false })).collect();
        let (memory, cpu) = (format!("{}Gi", vms.len() * 240), (vms.len() * 15).to_string());
        let status = json!({ "instances": instances, "numInstances": vms.len(),
                             "allocation": { "memory": memory, "cpu": cpu } });
        self.world.server.edit_status::<Hypervisor>(host, &json!({ "status": status })).unwrap();
    }

    /// The VMs in the allocations of slot `number`, and those in its status, each with its host.
    pub fn vms(&self, number: u64) -> (Vec<String>, Vec<String>) {
        let slot = self.slot(number);
        let data = slot.spec.committed_resource_reservation.unwrap_or_default();
        let outcome = slot.status.and_then(|status| status.committed_resource_reservation).unwrap_or_default();
        let confirmed = outcome.allocations.iter().map(|(vm, host)| format!("{vm} on {host}"));
        (data.allocations.into_keys().collect(), confirmed.collect())
    }

    /// Creates slot `number`, on a host or without one.
    pub fn make(&self, number: u64, host: Option<&str>) {
        let mut slot = berth_crds::testing::slot(UUID, number);
        slot.spec.target_host = host.map(str::to_owned);
        self.world.server.create(&slot).unwrap();
    }

    pub fn edit(&self, number: u64, patch: &Value) {
        self.world.server.edit::<Reservation>(&name(number), patch).unwrap();
    }

    pub fn send_to(&self, number: u64, host: &str) {
        self.edit(number, &json!({ "spec": { "targetHost": host } }));
    }

    pub fn slot(&self, number: u64) -> Reservation {
        self.world.server.get(&name(number)).unwrap()
    }

    pub fn hosts(&self, number: u64) -> (Option<String>, Option<String>) {
        let slot = self.slot(number);
        (slot.spec.target_host, slot.status.and_then(|status| status.host))
    }

    pub fn ready(&self, number: u64) -> Condition {
        let status = self.slot(number).status.expect("the slot has no status");
        conditions::ready(&status.conditions).expect("the slot has no condition").clone()
    }

    pub async fn reconcile(&self, number: u64) -> Result<Action, Error> {
        self.world.deliver().unwrap();
        self.slots.reconcile(ObjectKey::new(ClusterName::home(), name(number))).await
    }

    /// Reconciles until no key is enqueued. Returns the failures.
    pub async fn settle(&self) -> Vec<(ErrorClass, String)> {
        let mut failures = Vec::new();
        for _ in 0..200 {
            self.world.deliver().unwrap();
            let Some(key) = next(&self.world.slots) else { return failures };
            if let Err(error) = self.slots.reconcile(key.clone()).await {
                failures.push((error.class(), error.to_string()));
                self.world.slots.add([key]);
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        }
        panic!("the world does not come to rest: {failures:?}");
    }

    /// Checks that another reconciliation of everything, a second later, writes nothing.
    pub async fn rests(&self) {
        self.world.server.take_log();
        tokio::time::sleep(Duration::from_secs(1)).await;
        self.world.slots.add(self.world.stores.reservations.all().into_iter().map(|entry| entry.key));
        assert_eq!(self.settle().await, []);
        assert_eq!(self.world.server.take_log(), [""; 0], "a second plan is empty");
        assert_eq!(self.world.scheduler.assumed(), 0, "no entry outlives the reconciliation");
    }
}

pub fn name(number: u64) -> String {
    seeds::slot_name(UUID, number)
}

pub fn path(number: u64) -> String {
    path_of::<Reservation>(&name(number))
}

fn events(world: &World) -> (Events, impl Future<Output = ()> + Send + use<>) {
    let counted = ClusterMetrics::register(&Metrics::new(&[].into()).unwrap()).unwrap().events;
    Events::new(&world.clusters, None, counted, CancellationToken::new())
}
