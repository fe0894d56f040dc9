//! How often a reconciliation reads its slots: a commitment may have thousands, and most reconciliations change
//! nothing. Each read of a slot asks the scheduler whether it waits for a host, so the tests count these calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use berth_cluster::Reconciler as _;
use berth_committed_resource::CommittedResourceController;
use berth_core::{HostName, Resources, SlotKey};
use berth_crds::{CommittedResource, names};
use berth_scheduler::{
    BuiltIn, CommitmentRequest, DryRunPlacement, HostCapacity, HostVerdict, Pin, Placed, Placement, Request, Scheduler,
    SchedulerError, Shortage, SlotRequest,
};
use berth_testkit::{Server, seeds};
use serde_json::json;

use crate::support::*;

/// The slots that wait for a host: there is free capacity for one of five.
const WAITING: u64 = 4;

/// Each of them, and the first of them once more, to say why it waits.
const ONE_READING: u64 = WAITING + 1;

/// The scheduler, and how often it was asked whether a slot waits.
struct Counting {
    scheduler: Arc<BuiltIn>,
    asked: AtomicU64,
}

impl Scheduler for Counting {
    fn place_all(&self, proof: &CommitmentRequest) -> impl Future<Output = Result<Placement, SchedulerError>> + Send {
        self.scheduler.place_all(proof)
    }

    fn dry_run(
        &self,
        change: &[CommitmentRequest],
    ) -> impl Future<Output = Result<Vec<DryRunPlacement>, SchedulerError>> + Send {
        self.scheduler.dry_run(change)
    }

    fn place(&self, slot: &SlotRequest) -> impl Future<Output = Result<Placed, SchedulerError>> + Send {
        self.scheduler.place(slot)
    }

    fn pin(&self, pin: &Pin) -> impl Future<Output = Result<bool, SchedulerError>> + Send {
        self.scheduler.pin(pin)
    }

    fn probe(
        &self,
        request: &Request,
        global_request_id: &str,
    ) -> impl Future<Output = Result<Vec<HostName>, SchedulerError>> + Send {
        self.scheduler.probe(request, global_request_id)
    }

    fn probe_unranked(
        &self,
        request: &Request,
        global_request_id: &str,
    ) -> impl Future<Output = Result<Vec<HostName>, SchedulerError>> + Send {
        self.scheduler.probe_unranked(request, global_request_id)
    }

    fn host_capacities(&self) -> Vec<HostCapacity> {
        self.scheduler.host_capacities()
    }

    fn free_capacity(&self, host: &HostName) -> Option<Resources> {
        self.scheduler.free_capacity(host)
    }

    fn applied(&self, keys: &[SlotKey]) {
        self.scheduler.applied(keys);
    }

    fn in_doubt(&self, key: &SlotKey) {
        self.scheduler.in_doubt(key);
    }

    fn settled(&self, key: &SlotKey) {
        self.scheduler.settled(key);
    }

    fn withdraw(&self, key: &SlotKey) {
        self.scheduler.withdraw(key);
    }

    fn verdict(&self, key: &SlotKey) -> HostVerdict {
        self.scheduler.verdict(key)
    }

    fn waiting(&self, key: &SlotKey) -> Option<Shortage> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.scheduler.waiting(key)
    }
}

/// A settled commitment with waiting slots, and a controller whose reads are counted.
struct Scene {
    server: Server,
    process: Process,
    controller: CommittedResourceController<Counting>,
}

impl Scene {
    async fn settled() -> Self {
        let clock = clock();
        let server = server(&clock, &[("node1", 1)], &seeds::waiting_commitment(UUID, WAITING + 1));
        let process = Process::start(&server, &clock);
        assert_eq!(process.settle().await, []);
        let waiting = slots_and_hosts(&server).into_iter().filter(|(_, host)| host.is_none());
        assert_eq!(u64::try_from(waiting.count()).unwrap(), WAITING);
        let scheduler = Arc::new(Counting { scheduler: process.world.scheduler.clone(), asked: AtomicU64::default() });
        let disruption_limit = process.world.disruption_limit(&clock).unwrap();
        let controller = commitments(&process.world, &clock, disruption_limit, scheduler);
        Self { server, process, controller }
    }

    /// The number of calls to the scheduler during one reconciliation.
    async fn asked(&self) -> u64 {
        self.process.world.deliver().unwrap();
        self.controller.reconcile(commitment_key()).await.unwrap();
        self.controller.context().scheduler.asked.swap(0, Ordering::Relaxed)
    }
}

#[tokio::test(start_paused = true)]
async fn a_reconciliation_that_applies_nothing_reads_its_slots_once() {
    let scene = Scene::settled().await;
    scene.server.take_log();
    assert_eq!(scene.asked().await, ONE_READING);
    assert_eq!(scene.server.take_log(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_reconciliation_that_has_applied_something_reads_them_again() {
    let scene = Scene::settled().await;
    let more = json!({ "spec": { "amount": seeds::slots(WAITING + 2) } });
    scene.server.edit::<CommittedResource>(&names::commitment(UUID), &more).unwrap();
    assert_eq!(scene.asked().await, ONE_READING + ONE_READING + 1, "the new slot waits as well");
}
