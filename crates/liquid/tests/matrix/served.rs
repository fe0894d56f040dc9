//! Scenarios of requests to the service: what clients are answered must be possible one after the other.

use std::sync::Arc;

use berth_cluster::testing::failing;
use berth_core::ClusterName;
use berth_crds::{CommittedResource, Reservation};
use berth_liquid::service::ChangeService;
use berth_testkit::{Fault, Rule, Server, path_of, seeds};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::support::history::{Call, Sold, is_linearizable, sold};
use crate::support::liquid::{Answer, Wanted, ask, body, follow, serve};
use crate::support::*;

const SEEDS: u64 = 200;
/// So many of the requests of a scenario at most run with a process that ends.
const CRASHED: usize = 4;

/// Requests that are sent at the same time.
pub struct Requests {
    /// Slots of the zone.
    pub capacity: u64,
    /// The slots of commitments from before.
    pub before: &'static [(&'static str, u64)],
    pub wanted: fn() -> Vec<Wanted>,
    pub way: Way,
    /// What the clients are answered without a fault.
    pub check: fn(&[Option<Answer>]),
}

/// What is special about the requests.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Direct,
    /// By a replica that does not lead.
    Forwarded,
    /// The first client goes away after so many writes.
    Abandoned(usize),
    /// Commitments and slots can neither be read nor written after so many writes.
    ZoneLost(usize),
}

struct Run {
    process: Process,
    capacity: u64,
    way: Way,
    before: Sold,
    calls: Vec<Call>,
    tasks: Vec<JoinHandle<(Instant, Answer)>>,
    /// The writes of the server when the requests were sent.
    writes: usize,
}

impl Run {
    async fn begin(requests: &Requests, tries_first: bool) -> Self {
        let clock = clock();
        let server = server(&clock, requests.capacity);
        for (uuid, slots) in requests.before {
            server.create(&seeds::rejectable(uuid, *slots)).unwrap();
        }
        let process = Process::start(&server, &clock);
        process.settle().await;
        process.checker.mark_observed();
        let (before, writes) = (sold(&server), server.effects().changed);
        let mut service = serve(&process, tries_first);
        if requests.way == Way::Forwarded {
            service = follow(&process, &service);
        }
        let (calls, tasks) = (requests.wanted)().into_iter().map(|wanted| send(&service, wanted)).unzip();
        Self { process, capacity: requests.capacity, way: requests.way, before, calls, tasks, writes }
    }

    fn server(&self) -> &Server {
        &self.process.world.server
    }

    fn writes(&self) -> usize {
        self.server().effects().changed - self.writes
    }

    /// Until every client has its answer or has gone away.
    async fn work(&mut self) {
        let mut is_disturbed = false;
        self.process
            .work_until(|| {
                if !is_disturbed {
                    is_disturbed = self.disturb();
                }
                self.tasks.iter().all(JoinHandle::is_finished)
            })
            .await;
    }

    /// Whether it was time for it.
    fn disturb(&self) -> bool {
        match self.way {
            Way::Abandoned(writes) if self.writes() >= writes => self.tasks[0].abort(),
            Way::ZoneLost(writes) if self.writes() >= writes => {
                for path in [path_of::<CommittedResource>(""), path_of::<Reservation>("")] {
                    self.server().rule(Rule::new(Fault::CutBefore).path(path).always());
                }
                self.set_failing(Some("no route"));
            }
            Way::Direct | Way::Forwarded => {}
            Way::Abandoned(_) | Way::ZoneLost(_) => return false,
        }
        true
    }

    fn set_failing(&self, why: Option<&str>) {
        failing(&self.process.world.stores.commitments, &ClusterName::home(), why);
        failing(&self.process.world.stores.reservations, &ClusterName::home(), why);
    }

    /// Clients that have no answer yet will get none.
    async fn collect_answers(&mut self) {
        for (call, task) in self.calls.iter_mut().zip(self.tasks.drain(..)) {
            task.abort();
            call.answer = task.await.ok();
        }
    }

    fn take_over(&mut self, seed: u64) {
        let (server, checker, clock) =
            (self.server().clone(), self.process.checker.clone(), self.process.clock.clone());
        server.answer_again();
        self.process = Process::start_after(&checker, &server, &clock, seed);
    }

    async fn finish(&self) {
        self.server().heal();
        self.set_failing(None);
        self.process.enqueue_all();
        self.process.settle().await;
        self.process.wait(WATCH_TIMEOUT).await;
        self.process.settle_for_good().await;
    }

    fn check(&self) {
        let after = sold(self.server());
        assert!(is_linearizable(&self.calls, &self.before, &after, self.capacity), "{:#?} {after:?}", self.calls);
        for (uuid, slots) in &after {
            assert_eq!(placed(self.server(), uuid).len() as u64, *slots, "{uuid}");
        }
    }

    fn answers(&self) -> Vec<Option<Answer>> {
        self.calls.iter().map(|call| Some(call.answer.as_ref()?.1.clone())).collect()
    }
}

pub fn send(service: &Arc<ChangeService>, wanted: Wanted) -> (Call, JoinHandle<(Instant, Answer)>) {
    let (service, request) = (service.clone(), body(&wanted));
    let task = tokio::spawn(async move {
        let answer = ask(service, request).await;
        (Instant::now(), answer)
    });
    (Call { wanted, from: Instant::now(), answer: None }, task)
}

async fn run(requests: &Requests, tries_first: bool, seed: Option<u64>) -> Run {
    let mut run = Run::begin(requests, tries_first).await;
    if let Some(seed) = seed {
        run.process.set_order(seed);
    }
    run.work().await;
    run.collect_answers().await;
    run.finish().await;
    run.check();
    run
}

/// With a dry run first, and without one.
pub async fn run_without_a_fault(all: &[Requests]) {
    for requests in all {
        for tries_first in [true, false] {
            (requests.check)(&run(requests, tries_first, None).await.answers());
        }
    }
}

pub async fn run_seeds(all: &[Requests]) {
    for (seed, requests) in (0..SEEDS).zip(all.iter().cycle()) {
        (requests.check)(&run(requests, seed.is_multiple_of(2), Some(seed)).await.answers());
    }
}

pub async fn end_at_every_write(name: &str, all: &[Requests]) {
    for requests in all.iter().step_by(all.len().div_ceil(CRASHED)) {
        let writes = run(requests, true, None).await.writes();
        for write in 1..=writes {
            end_at_write(requests, write, Server::stop_before).await;
            end_at_write(requests, write, Server::stop_after).await;
        }
        println!("{name}: {writes} writes, {} runs", 2 * writes);
    }
}

async fn end_at_write(requests: &Requests, write: usize, stop: fn(&Server, usize)) {
    let mut run = Run::begin(requests, write.is_multiple_of(2)).await;
    let server = run.server().clone();
    stop(&server, write);
    tokio::select! {
        () = server.stopped() => {}
        () = run.work() => {}
    }
    run.collect_answers().await;
    run.take_over(write as u64);
    run.finish().await;
    run.check();
}
