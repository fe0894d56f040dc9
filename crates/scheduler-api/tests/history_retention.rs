//! The deletion of old Histories on a double of an API server.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

mod support;

use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{Fence, Routes, Store, Writer};
use berth_crds::{History, HistorySpec};
use berth_scheduler_api::history::{HistoryRetention, HistoryRules, RetentionMetrics};
use berth_telemetry::clock::{Clock, TrustedTime, UntrustedClock};
use berth_testkit::{Fault, Verb, path_of};
use jiff::Timestamp;
use serde_json::json;
use tokio::time::sleep;

use support::Scene;

const HOUR: Duration = Duration::from_secs(3600);

/// A wall clock that nobody trusts.
struct Untrusted(Arc<dyn Clock>);

impl Clock for Untrusted {
    fn now(&self) -> Timestamp {
        self.0.now()
    }

    fn trusted_now(&self) -> TrustedTime {
        Err(UntrustedClock::NotCompared)
    }
}

/// A server with Histories `vm-<number>`, the first of which is the oldest, an hour apart.
fn begin(histories: u32) -> Scene {
    let scene = Scene::new();
    assert!(scene.server.install_kind::<History>());
    for number in 0..histories {
        decide(&scene, number, scene.clock.now() - HOUR * (histories - number));
    }
    scene
}

fn decide(scene: &Scene, number: u32, time: Timestamp) {
    let name = format!("vm-{number}");
    if scene.server.get::<History>(&name).is_err() {
        let spec = HistorySpec { scheduling_domain: "nova".to_owned(), ..HistorySpec::default() };
        scene.server.create(&History::new(&name, HistorySpec { resource_id: name.clone(), ..spec })).unwrap();
    }
    let status = json!({ "status": { "current": { "timestamp": time.to_string(), "successful": true } } });
    scene.server.edit_status::<History>(&name, &status).unwrap();
}

fn run(scene: &Scene, rules: HistoryRules, fence: Fence, clock: Arc<dyn Clock>) {
    let retention = HistoryRetention {
        rules,
        writer: Writer::new(Store::new(&[]), scene.cluster.clone()).fenced(fence),
        clusters: scene.cluster.clone().into(),
        routes: Routes::home_only(),
        clock,
        metrics: RetentionMetrics::register(&scene.metrics).unwrap(),
    };
    tokio::spawn(retention.work(scene.stop.clone()));
}

fn left(scene: &Scene) -> Vec<String> {
    let all = scene.server.all_raw(path_of::<History>("").trim_end_matches('/'));
    all.iter().map(|object| object["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

const LARGE: usize = 100_000;

#[tokio::test(start_paused = true)]
async fn histories_are_deleted_when_they_are_old_and_not_before() {
    let scene = begin(5);
    run(&scene, HistoryRules { retention: 3 * HOUR, max: LARGE }, Fence::open(), scene.clock.clone());
    sleep(Duration::from_secs(29)).await;
    assert_eq!(left(&scene).len(), 5);
    sleep(Duration::from_secs(10)).await;
    assert_eq!(left(&scene), ["vm-3", "vm-4"], "three hours are over for the third by now");
    decide(&scene, 3, scene.clock.now());
    sleep(2 * HOUR + Duration::from_secs(3000)).await;
    assert_eq!(left(&scene), ["vm-3"], "a new decision keeps it");
    sleep(2 * HOUR).await;
    assert!(left(&scene).is_empty());
    scene.counts("berth_histories_deleted_total{outcome=\"deleted\"} 5").await;
}

#[tokio::test(start_paused = true)]
async fn beyond_the_number_the_oldest_are_deleted_some_at_a_time() {
    let scene = begin(2503);
    run(&scene, HistoryRules { retention: Duration::ZERO, max: 3 }, Fence::open(), scene.clock.clone());
    sleep(Duration::from_secs(29)).await;
    let mut before = left(&scene).len();
    assert_eq!(before, 2503);
    for _ in 0..40 {
        sleep(Duration::from_secs(10)).await;
        let now = left(&scene).len();
        assert!(before - now <= 210, "{before} {now}");
        before = now;
    }
    let mut rest = left(&scene);
    rest.sort();
    assert_eq!(rest, ["vm-2500", "vm-2501", "vm-2502"]);
}

#[tokio::test(start_paused = true)]
async fn a_process_that_does_not_lead_or_does_not_know_the_time_deletes_nothing_old() {
    let scene = begin(5);
    let clock = Arc::new(Untrusted(scene.clock.clone()));
    run(&scene, HistoryRules { retention: HOUR, max: 4 }, Fence::open(), clock);
    sleep(2 * HOUR).await;
    assert_eq!(left(&scene).len(), 4, "the number holds whatever the time is");
    let scene = begin(5);
    run(&scene, HistoryRules { retention: HOUR, max: 1 }, Fence::closed(), scene.clock.clone());
    sleep(2 * HOUR).await;
    assert_eq!(left(&scene).len(), 5);
}

#[tokio::test(start_paused = true)]
async fn failures_end_a_run_and_the_next_one_tries_again() {
    let scene = begin(5);
    let path = path_of::<History>("vm-0");
    scene.server.fail(Verb::Delete, &path, 1, Fault::Forbidden);
    scene.server.fail(Verb::List, &path_of::<History>(""), 1, Fault::Unavailable);
    run(&scene, HistoryRules { retention: Duration::ZERO, max: 1 }, Fence::open(), scene.clock.clone());
    sleep(Duration::from_secs(45)).await;
    assert_eq!(left(&scene).len(), 5, "not listed");
    sleep(Duration::from_secs(30)).await;
    assert_eq!(left(&scene).len(), 5, "not deleted");
    sleep(Duration::from_secs(30)).await;
    assert_eq!(left(&scene), ["vm-4"]);
    scene.counts("berth_histories_deleted_total{outcome=\"failed\"} 1").await;
}

#[tokio::test(start_paused = true)]
async fn where_the_kind_is_not_installed_nothing_happens() {
    let scene = Scene::new();
    run(&scene, HistoryRules { retention: HOUR, max: 1 }, Fence::open(), scene.clock.clone());
    sleep(HOUR).await;
    let calls = scene.server.calls();
    assert!(calls.len() <= 12 && calls.iter().all(|call| call.contains(" 404")), "{calls:#?}");
}
