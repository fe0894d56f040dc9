//! The injected faults of the double, seen by the real client.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

use std::sync::Arc;
use std::time::Duration;

use berth_cluster::{Need, Verb as Right, preflight};
use berth_core::ClusterName;
use berth_crds::{Reservation, testing};
use berth_telemetry::clock::TokioClock;
use berth_testkit::{Fault, Rule, Server, Stop, Verb, path_of};
use futures::future::join_all;
use futures::{StreamExt, pin_mut};
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

const A: &str = "commitment-uuid-1-0";

fn server() -> Server {
    Server::new(Arc::new(TokioClock::new("2026-03-01T08:00:00Z".parse().unwrap())))
}

fn api(server: &Server) -> Api<Reservation> {
    Api::all(server.cluster().client)
}

async fn host(api: &Api<Reservation>, name: &str, host: &str) -> kube::Result<Reservation> {
    let patch = Patch::Merge(json!({ "spec": { "targetHost": host } }));
    api.patch(name, &PatchParams::default(), &patch).await
}

async fn create(api: &Api<Reservation>, number: u64) -> kube::Result<Reservation> {
    api.create(&PostParams::default(), &testing::slot("uuid-1", number)).await
}

fn code<T: std::fmt::Debug>(answer: kube::Result<T>) -> u16 {
    match answer {
        Err(kube::Error::Api(status)) => status.code,
        Err(kube::Error::Service(_)) => 0,
        other => panic!("{other:?}"),
    }
}

fn is_on(server: &Server, host: Option<&str>) -> bool {
    server.get::<Reservation>(A).unwrap().spec.target_host.as_deref() == host
}

#[tokio::test(start_paused = true)]
async fn every_refusal_has_its_code_and_is_counted() {
    let server = server();
    let api = api(&server);
    server.create(&testing::slot("uuid-1", 0)).unwrap();
    let faults = [
        (Fault::Unauthorized, 401),
        (Fault::Forbidden, 403),
        (Fault::Conflict, 409),
        (Fault::Gone, 410),
        (Fault::TooMany { retry_after: 3 }, 429),
        (Fault::Internal, 500),
        (Fault::Unavailable, 503),
        (Fault::Timeout, 504),
        (Fault::CutBefore, 0),
    ];
    for (fault, expected) in faults {
        server.rule(Rule::new(fault).writes());
        assert_eq!(code(host(&api, A, "h").await), expected);
        assert_eq!(server.fault_counts()[fault.name()], 1);
    }
    assert!(is_on(&server, None));
    for (fault, expected) in [(Fault::TimeoutAfterwards, 504), (Fault::LoseAnswer, 0)] {
        server.rule(Rule::new(fault).writes());
        assert_eq!(code(host(&api, A, fault.name()).await), expected);
        assert!(is_on(&server, Some(fault.name())));
    }
    server.rule(Rule::new(Fault::Hang));
    assert!(timeout(Duration::from_secs(69), api.get(A)).await.is_err());
    assert_eq!(server.fault_counts().len(), 12);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_of_too_many_reports_when_to_come_back() {
    let server = server();
    server.rule(Rule::new(Fault::TooMany { retry_after: 7 }));
    let request = http::Request::get(path_of::<Reservation>("a")).body(kube::client::Body::empty()).unwrap();
    let response = server.cluster().client.send(request).await.unwrap();
    assert_eq!(response.headers()["retry-after"], "7");
}

#[tokio::test(start_paused = true)]
async fn a_slow_request_takes_effect_although_its_client_has_gone_away() {
    let server = server();
    let api = api(&server);
    server.create(&testing::slot("uuid-1", 0)).unwrap();
    server.latency(Duration::from_secs(5)..=Duration::from_secs(5), Duration::from_secs(1)..=Duration::from_secs(1));
    let started = Instant::now();
    assert!(timeout(Duration::from_secs(4), host(&api, A, "h")).await.is_err());
    assert!(is_on(&server, None));
    sleep(Duration::from_secs(2)).await;
    assert!(is_on(&server, Some("h")));
    api.get(A).await.unwrap();
    assert_eq!(started.elapsed(), Duration::from_secs(12));
    assert!(server.calls()[0].contains(" 200 changed "), "{:?}", server.calls());
}

#[tokio::test(start_paused = true)]
async fn a_stop_before_a_write_keeps_it_away_and_is_for_one_client_if_it_reports_it() {
    let server = server();
    let (api, other) = (api(&server), Api::<Reservation>::all(server.client_as("other")));
    server.stop_client_before("berth", 2);
    create(&api, 0).await.unwrap();
    assert!(timeout(Duration::from_secs(9), create(&api, 1)).await.is_err());
    server.stopped().await;
    assert!(timeout(Duration::from_secs(9), api.get(A)).await.is_err());
    assert_eq!(other.list(&ListParams::default()).await.unwrap().items.len(), 1);
    server.heal();
    create(&api, 1).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_is_on_its_way_at_a_stop_takes_effect_or_does_not_and_is_never_answered() {
    let server = server();
    let api = api(&server);
    server.latency(Duration::from_millis(1)..=Duration::from_millis(9), Duration::ZERO..=Duration::ZERO);
    server.stop_after(1);
    let creations = (0..40).map(|number| timeout(Duration::from_secs(1), create(&api, number)));
    let answered = join_all(creations).await.into_iter().flatten().count();
    assert_eq!(answered, 0);
    let effects = server.effects();
    assert!((10..30).contains(&effects.changed), "{effects:?}");
    assert_eq!(server.all::<Reservation>().unwrap().len(), effects.changed);
    assert_eq!(effects.asked, 40);
    server.answer_again();
    create(&api, 40).await.unwrap();
    assert_eq!(server.effects().changed, effects.changed + 1);
}

#[tokio::test(start_paused = true)]
async fn a_stop_counts_the_writes_at_all_servers_that_it_is_for() {
    let servers = [server(), server()];
    let [first, second] = servers.each_ref().map(api);
    let stop = Stop::before(3);
    for server in &servers {
        server.stop(&stop);
    }
    create(&first, 0).await.unwrap();
    create(&second, 0).await.unwrap();
    assert!(!stop.has_come());
    assert!(timeout(Duration::from_secs(9), create(&second, 1)).await.is_err());
    stop.comes().await;
    assert!(timeout(Duration::from_secs(9), first.get(A)).await.is_err());
    servers.iter().for_each(Server::heal);
    assert!(first.get(A).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_away_breaks_watches_and_comes_back() {
    let server = server();
    let api = api(&server);
    let watch = api.watch(&WatchParams::default(), "0").await.unwrap();
    pin_mut!(watch);
    server.go_away();
    assert!(watch.next().await.unwrap().is_err());
    assert_eq!(code(create(&api, 0).await), 0);
    server.come_back();
    create(&api, 0).await.unwrap();
    assert_eq!(server.fault_counts()["away"], 1);
}

/// The number of events of a watch until it ends, and whether it broke.
async fn events(api: &Api<Reservation>, version: &str) -> (usize, bool) {
    let watch = api.watch(&WatchParams::default().timeout(10), version).await.unwrap();
    let all: Vec<_> = watch.collect().await;
    let count = all.iter().filter(|one| matches!(one, Ok(WatchEvent::Added(_) | WatchEvent::Modified(_)))).count();
    (count, all.iter().any(Result::is_err))
}

#[tokio::test(start_paused = true)]
async fn watches_end_break_or_are_late() {
    let server = server();
    let api = api(&server);
    for number in 0..3 {
        create(&api, number).await.unwrap();
    }
    server.rule(Rule::new(Fault::EndWatch { after: 2 }));
    assert_eq!(events(&api, "0").await, (2, false));
    server.rule(Rule::new(Fault::BreakWatch { after: 1 }));
    assert_eq!(events(&api, "0").await, (1, true));
    server.rule(Rule::new(Fault::LateWatch { by: Duration::from_secs(3) }));
    let watch = api.watch(&WatchParams::default(), "3").await.unwrap();
    pin_mut!(watch);
    let started = Instant::now();
    host(&api, A, "h").await.unwrap();
    assert!(matches!(watch.next().await, Some(Ok(WatchEvent::Modified(_)))));
    assert_eq!(started.elapsed().as_secs(), 3);
    server.end_watches("");
    assert!(watch.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_stale_list_is_of_one_older_state() {
    let server = server();
    let api = api(&server);
    for number in 0..3 {
        create(&api, number).await.unwrap();
    }
    server.rule(Rule::new(Fault::Stale { versions: 2 }).verb(Verb::List));
    let list = api.list(&ListParams::default()).await.unwrap();
    assert_eq!((list.items.len(), list.metadata.resource_version.as_deref()), (1, Some("1")));
    server.rule(Rule::new(Fault::Stale { versions: 1 }).verb(Verb::Get));
    assert_eq!(code(api.get("commitment-uuid-1-2").await), 404);
    assert_eq!(api.list(&ListParams::default()).await.unwrap().items.len(), 3);
    let page = api.list(&ListParams::default().limit(1)).await.unwrap();
    server.compact();
    host(&api, A, "h").await.unwrap();
    server.compact();
    let token = page.metadata.continue_.unwrap();
    assert_eq!(code(api.list(&ListParams::default().limit(1).continue_token(&token)).await), 410);
}

#[tokio::test(start_paused = true)]
async fn rights_that_are_taken_away_are_refused_and_reported() {
    let server = server();
    server.deny_client("berth", "patch", "cortex.cloud", "reservations/status");
    let needs = [Need::kind::<Reservation>(Right::READ), Need::status::<Reservation>(&[Right::Patch])];
    let problems = preflight(&server.cluster(), &needs).await.unwrap_err();
    assert_eq!(problems.len(), 1);
    assert!(problems[0].to_string().contains("may not patch reservations/status.cortex.cloud"), "{}", problems[0]);
    assert_eq!(preflight(&server.cluster_as(ClusterName::home(), "other"), &needs).await, Ok(()));
    server.create(&testing::slot("uuid-1", 0)).unwrap();
    let patch = Patch::Merge(json!({ "status": { "host": "h" } }));
    assert_eq!(code(api(&server).patch_status(A, &PatchParams::default(), &patch).await), 403);
    server.remove_kind::<Reservation>();
    assert!(preflight(&server.cluster(), &needs).await.unwrap_err()[0].to_string().contains("is not served"));
}

#[tokio::test(start_paused = true)]
async fn every_write_that_changes_something_is_shown_and_others_are_counted() {
    let server = server();
    let api = api(&server);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let notes = seen.clone();
    server.on_write(move |snapshot, event| {
        let count = snapshot.all(&event.kind).count();
        notes.lock().push((event.version, count, event.previous.is_some()));
    });
    create(&api, 0).await.unwrap();
    host(&api, A, "h").await.unwrap();
    host(&api, A, "h").await.unwrap();
    server.delete::<Reservation>(A).unwrap();
    assert_eq!(*seen.lock(), [(1, 1, false), (2, 1, true), (3, 0, true)]);
    assert_eq!(server.no_op_writes(), 1);
    let calls = server.calls();
    assert_eq!(calls.len(), 3);
    let patch = "berth patch /apis/cortex.cloud/v1alpha1/reservations/commitment-uuid-1-0 200";
    let body = r#"{"spec":{"targetHost":"h"}}"#;
    assert_eq!(calls[1], format!("2 0.000000 {patch} changed {body}"));
    assert_eq!(calls[2], format!("3 0.000000 {patch} same {body}"));
}

#[tokio::test(start_paused = true)]
async fn objects_that_todays_rules_refuse_can_be_there() {
    let server = server();
    let mut old: Value = json!(testing::slot("uuid-1", 0));
    old["spec"]["resources"] = json!({ "disk": "0.5" });
    server.create_raw(old).unwrap();
    assert_eq!(code(host(&api(&server), A, "h").await), 422);
    let patch = Patch::Merge(json!({ "metadata": { "finalizers": ["berth.test/a"] } }));
    api(&server).patch(A, &PatchParams::default(), &patch).await.unwrap();
    let kind = path_of::<Reservation>("");
    server.edit_raw(&kind, A, &json!({ "spec": { "targetHost": 7 } })).unwrap();
    assert_eq!(server.get_raw(&kind, A).unwrap()["spec"]["targetHost"], 7);
    assert_eq!(server.all_raw(&kind).len(), 1);
}

/// Twenty clients with all random faults.
async fn storm(seed: u64) -> Vec<String> {
    let server = server();
    server.seed(seed);
    server.latency(Duration::ZERO..=Duration::from_millis(50), Duration::ZERO..=Duration::from_millis(50));
    for fault in [Fault::Conflict, Fault::Internal, Fault::LoseAnswer, Fault::TooMany { retry_after: 1 }] {
        server.rule(Rule::new(fault).per_mille(100));
    }
    let tasks: Vec<_> = (0..20)
        .map(|number| {
            let api = Api::<Reservation>::all(server.client_as(&format!("client-{number}")));
            tokio::spawn(async move {
                for round in 0..10 {
                    let _ = create(&api, number).await;
                    let _ = host(&api, &format!("commitment-uuid-1-{number}"), &format!("h{round}")).await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert!(server.fault_counts().values().all(|hits| *hits > 5), "{:?}", server.fault_counts());
    server.calls()
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_gives_the_same_calls_byte_for_byte() {
    let first = storm(1).await;
    assert_eq!(first.len(), 400);
    assert_eq!(first, storm(1).await);
    assert_ne!(first, storm(2).await);
}
