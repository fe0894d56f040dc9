//! The election against a scripted API server, on a paused clock.

mod address;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use super::*;
use crate::testing::{Reply, Request, metrics, scripted};
use crate::{Lost, NotLeader};

/// The state of the API server.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Health {
    Well,
    /// It never answers, and changes nothing.
    Hangs,
    /// It performs the request, and the answer is lost.
    Mute,
    /// It answers with this code, and changes nothing.
    Sick(u16),
}

struct Server {
    lease: Option<Value>,
    version: u64,
    health: Health,
    log: Vec<(Duration, String)>,
    start: Instant,
}

impl Server {
    fn put(&mut self, mut lease: Value) -> Value {
        self.version += 1;
        lease["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.lease = Some(lease.clone());
        lease
    }

    fn handle(&mut self, request: &Request) -> Reply {
        let there = self.lease.clone();
        match (request.method.as_str(), there) {
            ("GET", Some(lease)) => Reply::Json(200, lease),
            ("GET", None) => Reply::not_found("berth"),
            ("POST", None) => Reply::Json(201, self.put(request.body.clone())),
            ("POST", Some(_)) => Reply::error(409, "AlreadyExists", "leases \"berth\" already exists"),
            (_, Some(lease)) if lease["metadata"]["resourceVersion"] == request.body["metadata"]["resourceVersion"] => {
                Reply::Json(200, self.put(request.body.clone()))
            }
            _ => Reply::error(409, "Conflict", "the object has been modified"),
        }
    }

    fn reply(&mut self, request: &Request) -> Reply {
        let spec = &request.body["spec"];
        self.log.push((self.start.elapsed(), format!("{} {}", request.method, spec["holderIdentity"])));
        match self.health {
            Health::Well => self.handle(request),
            Health::Hangs => Reply::Hang,
            Health::Sick(code) => Reply::error(code, "Sick", "not today"),
            Health::Mute => {
                self.handle(request);
                Reply::Cut
            }
        }
    }
}

struct Scene {
    server: Arc<Mutex<Server>>,
    leadership: Leadership,
    work: JoinHandle<Ended>,
    registry: berth_telemetry::metrics::Metrics,
    start: Instant,
}

fn scene(lease: Option<Value>) -> Scene {
    let start = Instant::now();
    let mut server = Server { lease: None, version: 0, health: Health::Well, log: Vec::new(), start };
    if let Some(lease) = lease {
        server.put(lease);
    }
    let server = Arc::new(Mutex::new(server));
    let script = server.clone();
    let cluster = scripted(move |request| script.lock().reply(request));
    let (registry, all) = metrics();
    let (leadership, work) = Election::new(&cluster, candidate("me", all.lease));
    Scene { server, leadership, work: tokio::spawn(work), registry, start }
}

fn foreign(seconds: i64) -> Value {
    json!({
        "metadata": { "name": "berth", "labels": { "keep": "me" } },
        "spec": {
            "holderIdentity": "other", "leaseDurationSeconds": seconds, "leaseTransitions": 3,
            "acquireTime": "2000-01-01T00:00:00.000000Z", "renewTime": "2000-01-01T00:00:00.000000Z",
        },
    })
}

impl Scene {
    fn is(&self, health: Health) {
        self.server.lock().health = health;
    }

    fn lease(&self) -> Value {
        self.server.lock().lease.clone().unwrap_or_default()
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn calls_since(&self, since: Duration) -> Vec<String> {
        let server = self.server.lock();
        let calls = server.log.iter().filter(|(at, _)| *at > since);
        calls.map(|(at, call)| format!("{:.0} {call}", at.saturating_sub(since).as_secs_f32())).collect()
    }

    async fn leads(&self) {
        timeout(Duration::from_secs(60), self.leadership.acquired()).await.unwrap();
    }

    /// Lets time pass until just after a renewal.
    async fn until_renewed(&self) -> Duration {
        sleep(Duration::from_millis(2_001)).await;
        let log = &self.server.lock().log;
        log.last().unwrap().0
    }
}

fn near(time: Duration, seconds: u64) -> bool {
    time.abs_diff(Duration::from_secs(seconds)) < Duration::from_millis(50)
}

#[tokio::test(start_paused = true)]
async fn a_missing_lease_is_created_and_renewed_every_two_seconds() {
    let scene = scene(None);
    scene.leads().await;
    assert!(near(scene.now(), 0));
    assert!(scene.leadership.is_leader() && scene.leadership.fence().check().is_ok());
    let first = scene.lease();
    let acquired = scene.now();
    sleep(Duration::from_secs(5)).await;
    assert_eq!(scene.calls_since(acquired), ["2 PUT \"me\"", "4 PUT \"me\""]);
    let (first, now) = (&first["spec"], &scene.lease()["spec"]);
    assert_eq!((&first["acquireTime"], &first["leaseTransitions"]), (&now["acquireTime"], &json!(0)));
    assert_ne!(first["renewTime"], now["renewTime"]);
    assert!(scene.registry.render().contains("berth_leader 1"));
}

#[tokio::test(start_paused = true)]
async fn a_foreign_lease_is_taken_when_it_has_not_changed_for_long_enough() {
    for (seconds, wait) in [(15, 15), (1, 15), (20, 20)] {
        let scene = scene(Some(foreign(seconds)));
        sleep(Duration::from_secs(1)).await;
        assert_eq!((scene.leadership.holder().as_deref(), scene.leadership.is_leader()), (Some("other"), false));
        assert_eq!(scene.leadership.fence().check(), Err(NotLeader));
        scene.leads().await;
        assert!(near(scene.now(), wait), "{:?}", scene.now());
        let lease = scene.lease();
        assert_eq!(
            (&lease["spec"]["leaseTransitions"], &lease["metadata"]["labels"]["keep"]),
            (&json!(4), &json!("me"))
        );
        assert_eq!(scene.leadership.holder().as_deref(), Some("me"));
        assert!(scene.registry.render().contains("berth_leader_transitions_total 1"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_read_soon_and_not_too_often_while_the_leader_seems_to_be_gone() {
    let scene = scene(Some(foreign(15)));
    sleep(Duration::from_secs(1)).await;
    let start = scene.now();
    for _ in 0..100 {
        scene.leadership.read_lease_soon();
        sleep(Duration::from_millis(10)).await;
    }
    let reads = scene.calls_since(start).len();
    assert!((3..=4).contains(&reads), "{reads}");
    let mut released = foreign(1);
    released["spec"]["holderIdentity"] = json!("");
    scene.server.lock().put(released);
    let at = scene.now();
    scene.leadership.read_lease_soon();
    scene.leads().await;
    assert!(scene.now().saturating_sub(at) < Duration::from_millis(300), "{:?}", scene.now());
}

#[tokio::test(start_paused = true)]
async fn a_leader_without_answers_has_lost_ten_seconds_after_its_last_renewal() {
    let scene = scene(None);
    scene.leads().await;
    let renewed = scene.until_renewed().await;
    scene.is(Health::Hangs);
    let lost = scene.leadership.lost().await;
    assert_eq!((lost, scene.work.await.unwrap()), (Lost::NotRenewed, Ended::Lost(Lost::NotRenewed)));
    assert!(near(scene.start.elapsed().checked_sub(renewed).unwrap(), 10));
    assert_eq!(scene.leadership.fence().check(), Err(NotLeader));
    assert!(scene.registry.render().contains("berth_leader 0"));
}

#[tokio::test(start_paused = true)]
async fn an_outage_that_is_over_in_time_changes_nothing() {
    for health in [Health::Hangs, Health::Mute, Health::Sick(500), Health::Sick(401), Health::Sick(403)] {
        let scene = scene(None);
        scene.leads().await;
        scene.until_renewed().await;
        scene.is(health);
        sleep(Duration::from_secs(7)).await;
        scene.is(Health::Well);
        sleep(Duration::from_secs(30)).await;
        assert!(scene.leadership.is_leader(), "{health:?}");
        assert!(!scene.work.is_finished() && scene.leadership.fence().check().is_ok(), "{health:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_candidate_goes_on_whatever_is_answered() {
    for health in [Health::Hangs, Health::Mute, Health::Sick(500), Health::Sick(401), Health::Sick(403)] {
        let scene = scene(Some(foreign(15)));
        scene.is(health);
        sleep(Duration::from_secs(100)).await;
        assert!(!scene.leadership.is_leader(), "{health:?}");
        scene.is(Health::Well);
        scene.leads().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_renewal_whose_answer_was_lost_counts_from_its_sending() {
    let scene = scene(None);
    scene.leads().await;
    let renewed = scene.until_renewed().await;
    scene.is(Health::Mute);
    sleep(Duration::from_secs(2)).await; // The renewal and the read after it get no answer.
    scene.is(Health::Hangs);
    let held = scene.lease()["spec"]["renewTime"].clone();
    sleep(Duration::from_millis(3_900)).await;
    scene.is(Health::Well);
    let calls = scene.calls_since(renewed);
    assert_eq!(calls[..2], ["2 PUT \"me\"", "2 GET null"], "{calls:?}");
    sleep(Duration::from_secs(30)).await;
    assert!(scene.leadership.is_leader());
    assert_ne!(scene.lease()["spec"]["renewTime"], held);
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_sees_another_holder_has_lost_at_once() {
    let scene = scene(None);
    scene.leads().await;
    let renewed = scene.until_renewed().await;
    scene.server.lock().put(foreign(15));
    assert_eq!(scene.leadership.lost().await, Lost::TakenBy("other".to_owned()));
    assert_eq!(scene.leadership.fence().check(), Err(NotLeader));
    assert_eq!(scene.calls_since(renewed), ["2 PUT \"me\"", "2 GET null"]);
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_given_back_is_free_when_no_write_can_land_any_more() {
    for (answered, seconds) in [(true, 0), (false, 5)] {
        let scene = scene(None);
        scene.leads().await;
        let sending = scene.leadership.fence().sending();
        if answered {
            sending.answered();
        } else {
            drop(sending);
        }
        let released = scene.now();
        scene.leadership.release().await;
        assert!(near(scene.now().saturating_sub(released), seconds), "{:?}", scene.now());
        assert_eq!(scene.work.await.unwrap(), Ended::Released);
        assert_eq!(scene.leadership.fence().check(), Err(NotLeader));
        let spec = scene.server.lock().lease.as_ref().unwrap()["spec"].clone();
        assert_eq!((&spec["holderIdentity"], &spec["leaseDurationSeconds"]), (&json!(""), &json!(1)));
    }
}

#[tokio::test(start_paused = true)]
async fn who_does_not_lead_gives_nothing_back() {
    let scene = scene(Some(foreign(15)));
    sleep(Duration::from_secs(1)).await;
    scene.leadership.release().await;
    assert_eq!(scene.lease()["spec"]["holderIdentity"], "other");
}

#[test]
fn a_lease_that_can_be_read_but_not_written_is_reported_once() {
    let key = ObjectKey::new(berth_core::ClusterName::home(), "berth");
    let call = Call { operation: write::Operation::Patch, kind: "Lease".to_owned(), key };
    let refused = WriteError::Unavailable { call, message: "not today".to_owned() };
    let mut errors = RenewalErrors::default();
    errors.met(&refused, Access::Write);
    errors.succeeded(Access::Read);
    assert!(errors.log.is_some(), "reading proves nothing about writing");
    errors.succeeded(Access::Write);
    assert!(errors.log.is_none());
    errors.met(&refused, Access::Read);
    errors.succeeded(Access::Read);
    assert!(errors.log.is_none());
}

fn candidate(identity: &str, metrics: Arc<LeaseMetrics>) -> Candidate {
    let [namespace, name, identity] = ["berth-system", "berth", identity].map(str::to_owned);
    Candidate {
        namespace,
        name,
        identity,
        address: None,
        clock: Arc::new(berth_telemetry::clock::SystemClock),
        metrics,
    }
}
