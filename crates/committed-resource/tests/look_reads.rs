//! How often a look reads its slots: a commitment may have thousands, and most looks change nothing. Whether a slot waits
//! for a host is asked of the scheduler each time a slot is read, so that is what is counted.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use berth_cluster::Reconciler as _;
use berth_committed_resource::CommittedResourceController;
use berth_core::{HostName, Resources, SlotKey};
use berth_crds::{CommittedResource, names};
use berth_scheduler::{
    BuiltIn, Pin, Placed, Placement, Request, Scheduler, SchedulerError, Shortage, SlotRequest, Verdict, WholeRequest,
};
use berth_testkit::{Server, seeds};
use serde_json::json;

use support::*;

/// The slots that wait for a host: there is room for one of five.
const WAITING: u64 = 4;

/// Each of them, and the first of them once more, to tell why it waits.
const ONE_READING: u64 = WAITING + 1;

/// The scheduler, and how often it was asked whether a slot waits.
struct Counting {
    brain: Arc<BuiltIn>,
    asked: AtomicU64,
}

impl Scheduler for Counting {
    fn place_all(&self, whole: &WholeRequest) -> impl Future<Output = Result<Placement, SchedulerError>> + Send {
        self.brain.place_all(whole)
    }

    fn place(&self, slot: &SlotRequest) -> impl Future<Output = Result<Placed, SchedulerError>> + Send {
        self.brain.place(slot)
    }

    fn pin(&self, pin: &Pin) -> impl Future<Output = Result<bool, SchedulerError>> + Send {
        self.brain.pin(pin)
    }

    fn probe(&self, request: &Request) -> impl Future<Output = Result<Vec<HostName>, SchedulerError>> + Send {
        self.brain.probe(request)
    }

    fn room(&self, host: &HostName) -> Option<Resources> {
        self.brain.room(host)
    }

    fn applied(&self, keys: &[SlotKey]) {
        self.brain.applied(keys);
    }

    fn in_doubt(&self, key: &SlotKey) {
        self.brain.in_doubt(key);
    }

    fn settled(&self, key: &SlotKey) {
        self.brain.settled(key);
    }

    fn withdraw(&self, key: &SlotKey) {
        self.brain.withdraw(key);
    }

    fn verdict(&self, key: &SlotKey) -> Verdict {
        self.brain.verdict(key)
    }

    fn waiting(&self, key: &SlotKey) -> Option<Shortage> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.brain.waiting(key)
    }
}

/// A settled commitment of which some slots wait, and a controller whose readings are counted.
struct Scene {
    server: Server,
    process: Process,
    controller: CommittedResourceController<Counting>,
}

impl Scene {
    async fn settled() -> Self {
        let clock = clock();
        let server = server(&clock, &[("node1", 1)], &seeds::patient(UUID, WAITING + 1));
        let process = Process::start(&server, &clock);
        assert_eq!(process.settle().await, []);
        let waiting = slots_and_hosts(&server).into_iter().filter(|(_, host)| host.is_none());
        assert_eq!(u64::try_from(waiting.count()).unwrap(), WAITING);
        let scheduler = Arc::new(Counting { brain: process.world.scheduler.clone(), asked: AtomicU64::default() });
        let brake = process.world.brake(&clock).unwrap();
        let controller = commitments(&process.world, &clock, brake, scheduler);
        Self { server, process, controller }
    }

    /// How often the scheduler was asked during one look.
    async fn asked(&self) -> u64 {
        self.process.world.deliver().unwrap();
        self.controller.reconcile(commitment_key()).await.unwrap();
        self.controller.context().scheduler.asked.swap(0, Ordering::Relaxed)
    }
}

#[tokio::test(start_paused = true)]
async fn a_look_that_applies_nothing_reads_its_slots_once() {
    let scene = Scene::settled().await;
    scene.server.take_log();
    assert_eq!(scene.asked().await, ONE_READING);
    assert_eq!(scene.server.take_log(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_look_that_has_applied_something_reads_them_again() {
    let scene = Scene::settled().await;
    let more = json!({ "spec": { "amount": seeds::slots(WAITING + 2) } });
    scene.server.edit::<CommittedResource>(&names::commitment(UUID), &more).unwrap();
    assert_eq!(scene.asked().await, ONE_READING + ONE_READING + 1, "the new slot waits as well");
}
