//! Many clients change the commitments of a zone at the same time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use berth_crds::{CommitmentChange, CommittedResource, Hypervisor, Reservation, testing};
use berth_liquid::service::ChangeService;
use berth_testkit::{Fault, Rule, Server, path_of, seeds};
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::support::history::{Call, Sold, is_linearizable, sold};
use crate::support::liquid::{Answer, Wanted, ask, body, serve};
use crate::support::*;

/// The number of zones in which requests are compared with the model.
const SEEDS: u64 = 150;
const CLIENTS: usize = 6;
const REQUESTS: usize = 3;

type Calls = Arc<Mutex<Vec<Call>>>;

/// The uuid of a commitment that clients compete for.
fn uuid(number: usize) -> String {
    format!("uuid-c{number:02}")
}

/// One or two commitments are created, changed or deleted.
fn random_request(random: &mut fastrand::Rng, uuids: usize) -> Wanted {
    let mut numbers: Vec<_> = (0..uuids).collect();
    random.shuffle(&mut numbers);
    numbers.truncate(random.usize(1..=2));
    let slots = |random: &mut fastrand::Rng| (random.u8(0..3) > 0).then(|| random.u64(1..=3));
    numbers.into_iter().map(|number| (uuid(number), slots(random))).collect()
}

/// A client sends requests one after the other. It does not wait for all of the answers.
async fn send_requests(service: Arc<ChangeService>, calls: Calls, mut random: fastrand::Rng, uuids: usize) {
    for _ in 0..REQUESTS {
        sleep(Duration::from_millis(random.u64(0..300))).await;
        let wanted = random_request(&mut random, uuids);
        let patience = if random.u8(0..5) == 0 { random.u64(0..200) } else { 60_000 };
        let (from, asked) = (Instant::now(), ask(service.clone(), body(&wanted)));
        let answer = timeout(Duration::from_millis(patience), asked).await.ok();
        calls.lock().push(Call { wanted, from, answer: answer.map(|answer| (Instant::now(), answer)) });
    }
}

/// Sends a request for another version of the service info.
async fn send_outdated(service: Arc<ChangeService>) {
    sleep(Duration::from_millis(150)).await;
    let mut outdated = body(&[(uuid(0), Some(1))]);
    outdated["infoVersion"] = 1.into();
    let answer = ask(service, outdated).await;
    assert!(matches!(answer, Answer::NoVerdict(409, _)), "{answer:?}");
}

fn begin_clients(service: &Arc<ChangeService>, random: &mut fastrand::Rng) -> (Calls, Vec<JoinHandle<()>>) {
    let calls = Calls::default();
    let client = |_| tokio::spawn(send_requests(service.clone(), calls.clone(), random.fork(), 4));
    let mut tasks: Vec<_> = (0..CLIENTS).map(client).collect();
    tasks.push(tokio::spawn(send_outdated(service.clone())));
    (calls, tasks)
}

/// Every write takes some time, so that requests overlap.
fn slow_server(clock: &Arc<dyn berth_telemetry::clock::Clock>, slots: u64, seed: u64) -> Server {
    let server = server(clock, slots);
    server.seed(seed);
    let slow = Fault::Slow { before: Duration::from_millis(3), after: Duration::from_millis(3) };
    for path in [path_of::<CommitmentChange>(""), path_of::<CommittedResource>(""), path_of::<Reservation>("")] {
        server.rule(Rule::new(slow).path(path).always());
    }
    server
}

/// Names the seed of a run that fails, and shows what was called.
struct Failure(u64, Server);

impl Drop for Failure {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("seed {}:\n{}", self.0, self.1.calls().join("\n"));
        }
    }
}

async fn change_one_zone(seed: u64) -> Vec<Call> {
    let mut random = fastrand::Rng::with_seed(seed);
    let (clock, slots) = (clock(), random.u64(3..7));
    let server = slow_server(&clock, slots, seed);
    let _failure = Failure(seed, server.clone());
    let mut process = Process::start(&server, &clock);
    process.set_order(seed);
    let service = serve(&process, seed.is_multiple_of(2));
    let (calls, tasks) = begin_clients(&service, &mut random);
    process.work_until(|| tasks.iter().all(JoinHandle::is_finished)).await;
    for task in tasks {
        task.await.unwrap();
    }
    process.settle().await;
    process.wait(WATCH_TIMEOUT).await;
    process.settle_for_good().await;
    let (calls, after) = (calls.lock().clone(), sold(&server));
    assert!(is_linearizable(&calls, &Sold::new(), &after, slots), "seed {seed}, {slots} slots: {calls:#?} {after:?}");
    calls
}

#[tokio::test(start_paused = true)]
async fn concurrent_requests_are_answered_as_if_one_came_after_the_other() {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for seed in 0..SEEDS {
        for call in change_one_zone(seed).await {
            let kind = match call.answer {
                Some((_, Answer::Accepted)) => "accepted",
                Some((_, Answer::Rejected)) => "rejected",
                Some((_, Answer::NoVerdict(_, text))) => {
                    let is_ending = text.contains("is being deleted") || text.contains("is not finished");
                    assert!(is_ending, "seed {seed}: {text}");
                    "no verdict"
                }
                None => "left",
            };
            *counts.entry(kind).or_default() += 1;
        }
    }
    println!("{counts:?}");
    assert!(["accepted", "rejected", "left"].iter().all(|kind| counts[kind] > 50), "{counts:?}");
    assert!(counts.get("no verdict").is_none_or(|count| *count < 250), "{counts:?}");
}

fn call(from: u64, until: u64, wanted: &[(&str, Option<u64>)], answer: Answer) -> Call {
    let (now, millis) = (Instant::now(), Duration::from_millis);
    let wanted = wanted.iter().map(|(uuid, slots)| ((*uuid).to_owned(), *slots)).collect();
    Call { wanted, from: now + millis(from), answer: Some((now + millis(until), answer)) }
}

#[tokio::test(start_paused = true)]
async fn answers_that_no_order_explains_are_found() {
    let sale = |from, until, uuid, answer| call(from, until, &[(uuid, Some(3))], answer);
    let after = |uuids: &[&str]| uuids.iter().map(|uuid| ((*uuid).to_owned(), 3)).collect::<Sold>();
    let both = [sale(0, 10, "a", Answer::Accepted), sale(5, 15, "b", Answer::Accepted)];
    assert!(!is_linearizable(&both, &Sold::new(), &after(&["a", "b"]), 4), "sold twice");
    let one = [sale(0, 10, "a", Answer::Rejected), sale(5, 15, "b", Answer::Accepted)];
    assert!(is_linearizable(&one, &Sold::new(), &after(&["b"]), 4));
    assert!(!is_linearizable(&one, &Sold::new(), &after(&["a"]), 4), "the other one is stored");
    let late = [sale(0, 10, "a", Answer::Rejected), sale(15, 20, "b", Answer::Accepted)];
    assert!(!is_linearizable(&late, &Sold::new(), &after(&["b"]), 4), "rejected before anything was sold");
    let mut left = [sale(0, 10, "a", Answer::Accepted)];
    left[0].answer = None;
    assert!(is_linearizable(&left, &Sold::new(), &Sold::new(), 4));
    assert!(is_linearizable(&left, &Sold::new(), &after(&["a"]), 4));
}

const MANY_CLIENTS: usize = 50;
const HOSTS: u64 = 5;
const SLOTS_OF_HOST: u64 = 4;

/// What people do and what happens to hosts.
struct Disturbance {
    random: fastrand::Rng,
    next: Instant,
    created: u64,
    lost: usize,
}

impl Disturbance {
    /// Once in a while a person creates a slot, or a host is lost or comes back.
    fn act(&mut self, process: &Process) {
        if Instant::now() < self.next {
            return;
        }
        self.next += Duration::from_millis(self.random.u64(20..200));
        let server = &process.world.server;
        let host = format!("node{}", self.random.u64(1..=HOSTS));
        process.checker.act_as_user(|| match self.random.u8(0..4) {
            0 if server.get::<Hypervisor>(&host).is_ok() => {
                server.delete::<Hypervisor>(&host).unwrap();
                self.lost += 1;
            }
            0 | 1 => drop(server.create(&seeds::host(&host, SLOTS_OF_HOST))),
            _ => self.create_slot(server, host),
        });
    }

    fn create_slot(&mut self, server: &Server, host: String) {
        let uuid = uuid(self.random.usize(0..MANY_CLIENTS));
        if !exists(server, &uuid) {
            return;
        }
        let mut slot = testing::slot(&uuid, 100 + self.created);
        slot.spec.target_host = Some(host);
        self.created += u64::from(server.create(&slot).is_ok());
    }
}

async fn change_with_disturbance(seed: u64) -> (usize, u64, usize) {
    let mut random = fastrand::Rng::with_seed(seed);
    let clock = clock();
    let server = slow_server(&clock, SLOTS_OF_HOST, seed);
    for number in 2..=HOSTS {
        server.create(&seeds::host(&format!("node{number}"), SLOTS_OF_HOST)).unwrap();
    }
    let mut process = Process::start(&server, &clock);
    process.set_order(seed);
    let (service, calls) = (serve(&process, seed.is_multiple_of(2)), Calls::default());
    let client = |_| tokio::spawn(send_requests(service.clone(), calls.clone(), random.fork(), MANY_CLIENTS));
    let tasks: Vec<_> = (0..MANY_CLIENTS).map(client).collect();
    let mut disturbance = Disturbance { random: random.fork(), next: Instant::now(), created: 0, lost: 0 };
    process
        .work_until(|| {
            disturbance.act(&process);
            tasks.iter().all(JoinHandle::is_finished)
        })
        .await;
    for number in 1..=HOSTS {
        let create = || drop(server.create(&seeds::host(&format!("node{number}"), SLOTS_OF_HOST)));
        process.checker.act_as_user(create);
    }
    process.settle().await;
    for _ in 0..3 {
        process.wait(Duration::from_secs(20 * 60)).await;
    }
    process.settle_for_good().await;
    let accepted = calls.lock().iter().filter(|call| matches!(call.answer, Some((_, Answer::Accepted)))).count();
    (accepted, disturbance.created, disturbance.lost)
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sold_twice_to_fifty_clients_while_people_create_slots_and_hosts_are_lost() {
    let mut total = (0, 0, 0);
    for seed in 0..6 {
        let (accepted, created, lost) = change_with_disturbance(seed).await;
        total = (total.0 + accepted, total.1 + created, total.2 + lost);
    }
    println!("{total:?} changes accepted, slots created by hand and hosts lost");
    assert!(total.0 > 100 && total.1 > 10 && total.2 > 10, "{total:?}");
}
