use std::fs;
use std::path::Path;
use std::sync::Arc;

use axum::http::{HeaderMap, StatusCode};
use axum::routing::get;
use axum::{Json, Router};
use berth_crds::Hypervisor;
use berth_scheduler_api::explain::{
    ClaimAnswer, LimesAnswer, MissingVm, Reconciliation, ReconciliationFailure, ReconciliationState, Size, SlotAnswer,
};
use berth_testkit::seeds::{slot_name, waiting_commitment};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::*;
use crate::commands::scene::{Scene, UUID, unasked};
use crate::commands::{explain_commitment, explain_host, explain_slot};

const ADDRESS: &str = "http://10.0.0.7:8080";
const SLOT: Size = Size { memory: 480 << 30, cpu: 30 };

fn answered(answer: LeaderAnswer) -> AskedOperator {
    let answer = LeaderAnswer { leader: "berth-0_1".to_owned(), ..answer };
    AskedOperator { address: Some(ADDRESS.to_owned()), failure: None, answer: Some(answer) }
}

fn time(text: &str) -> Timestamp {
    format!("2026-03-01T{text}Z").parse().unwrap()
}

fn idle(next: Option<&str>) -> Reconciliation {
    Reconciliation { state: ReconciliationState::Idle, next: next.map(time), failure: None }
}

fn slot() -> SlotAnswer {
    SlotAnswer {
        cluster: "home".to_owned(),
        name: slot_name(UUID, 0),
        reconciliation: idle(None),
        next_try: None,
        host_missing_since: None,
        missing_vms: Vec::new(),
    }
}

fn of_slot(slot: SlotAnswer) -> AskedOperator {
    let reconciliation = Some(slot.reconciliation.clone());
    answered(LeaderAnswer { reconciliation, slots: vec![slot], ..LeaderAnswer::default() })
}

fn claim(vm: &str) -> ClaimAnswer {
    let (project, host, until) = ("p-2".to_owned(), "node1".to_owned(), "2999-01-01T00:00:00Z".parse().unwrap());
    ClaimAnswer { vm: vm.to_owned(), project, host, size: SLOT, until, slot: None, listed: [].into() }
}

/// The `ConfigMap` of the claims has one for this VM.
fn read_claim(scene: &Scene, vm: &str) {
    let claim = json!({ "vm": vm, "project": "p-2", "host": "node1", "memory": SLOT.memory, "cpu": SLOT.cpu,
                        "until": "2999-01-01T00:00:00Z" });
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "berth-claims", "namespace": "elsewhere" },
        "data": { "claims": json!([claim]).to_string() },
    });
    scene.home.create_raw(map).unwrap();
}

fn has(text: &str, parts: &[&str]) {
    let squeezed = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in parts {
        assert!(squeezed.contains(part), "{part:?} is not in\n{text}");
    }
}

fn lacks(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(!text.contains(part), "{part:?} is in\n{text}");
    }
}

/// A full host, on which a commitment waits with three slots since a minute.
async fn waiting() -> Scene {
    let scene = Scene::new(&[("node1", 0)]);
    scene.commit(&waiting_commitment(UUID, 3)).await;
    scene
}

async fn in_force() -> Scene {
    let scene = Scene::new(&[("node1", 2)]);
    scene.commit(&waiting_commitment(UUID, 1)).await;
    scene
}

#[tokio::test(start_paused = true)]
async fn a_waiting_commitment_has_the_claims_and_the_times_of_the_leader() {
    let scene = waiting().await;
    read_claim(&scene, "vm-1");
    let tried = |number| SlotAnswer { name: slot_name(UUID, number), next_try: Some(time("12:03:00")), ..slot() };
    let reconciliation = Some(idle(Some("12:01:30")));
    let (slots, claims) = ([0, 1, 2].map(tried).into(), vec![claim("vm-9")]);
    let answer = LeaderAnswer { reconciliation, slots, claims, ..LeaderAnswer::default() };
    let (text, json) = explain_commitment::tests::shown(&scene, answered(answer.clone())).await;
    has(
        &text,
        &[
            "at 2026-03-01T12:03:00Z (in 2m 0s) 3 of its slots are tried again, together",
            "at 2026-03-01T12:01:30Z (in 30s) it is reconciled again, and at once after a change",
            "vm-9 p-2 node1 480 GiB, 30 cores 2999-01-01T00:00:00Z -",
            "The leader, berth-0_1 at http://10.0.0.7:8080, was asked for what only it knows.",
        ],
    );
    lacks(&text, &["vm-1", "within ", "Not included"]);
    assert_eq!((&json["operator"]["address"], &json["operator"]["failure"]), (&json!(ADDRESS), &Value::Null));
    assert_eq!(json["operator"]["answer"]["slots"][2]["nextTry"], json!("2026-03-01T12:03:00Z"));

    let left_out = LeaderAnswer { claims_left_out: 7, slots_left_out: 2, ..answer };
    let (text, _) = explain_commitment::tests::shown(&scene, answered(left_out)).await;
    has(&text, &["vm-1", "vm-9", "3 or more of its slots are tried again", "it left out 7 claims, 2 slots."]);
    let (text, json) = explain_commitment::tests::shown(&scene, unasked()).await;
    has(&text, &["vm-1", "within ", "Not included, because no process holds the Lease berth: "]);
    lacks(&text, &["vm-9", "tried again, together"]);
    assert_eq!(json["operator"]["failure"], json!("no process holds the Lease berth"));
}

#[tokio::test(start_paused = true)]
async fn a_commitment_says_what_limes_lists_and_since_when() {
    let scene = in_force().await;
    let listed = |listed: Option<&str>, incomplete: Option<&str>| LeaderAnswer {
        limes: Some(LimesAnswer {
            listed: listed.map(str::to_owned),
            since: listed.map(|_| time("11:00:00")),
            read_at: time("12:00:00"),
            incomplete: incomplete.map(str::to_owned),
        }),
        ..LeaderAnswer::default()
    };
    for (answer, line) in [
        (
            listed(Some("480Gi memory of mem_v4"), Some("half")),
            "Limes lists 480Gi memory of mem_v4, since 2026-03-01T11:00:00Z (1h 1m ago) (read at 2026-03-01T12:00:00Z (1m 0s ago))",
        ),
        (listed(None, None), "Limes does not list it (read at "),
        (
            listed(None, Some("half of it is missing")),
            "Limes does not list it, which means nothing, because half of it is missing (read",
        ),
    ] {
        let (text, _) = explain_commitment::tests::shown(&scene, answered(answer)).await;
        has(&text, &[line]);
    }
    let (text, _) = explain_commitment::tests::shown(&scene, answered(LeaderAnswer::default())).await;
    lacks(&text, &["Limes"]);
}

#[tokio::test(start_paused = true)]
async fn a_waiting_slot_is_tried_again_at_the_time_of_the_leader() {
    let scene = waiting().await;
    let tried = SlotAnswer { next_try: Some(time("12:03:00")), ..slot() };
    let line = "at 2026-03-01T12:03:00Z (in 2m 0s) it is tried again, with the other waiting slots of its commitment";
    let text = explain_slot::tests::shown(&scene, of_slot(tried.clone())).await;
    has(&text, &[line]);
    lacks(&text, &["reconciled again"]);
    // The one with the timer is not reconciled otherwise.
    let timed = SlotAnswer { reconciliation: idle(Some("12:03:00")), ..tried.clone() };
    lacks(&explain_slot::tests::shown(&scene, of_slot(timed)).await, &["reconciled again"]);
    let other = SlotAnswer { reconciliation: idle(Some("12:02:00")), ..tried };
    has(
        &explain_slot::tests::shown(&scene, of_slot(other)).await,
        &[line, "at 2026-03-01T12:02:00Z (in 1m 0s) it is reconciled again"],
    );
}

#[tokio::test(start_paused = true)]
async fn what_the_leader_does_with_a_slot_is_said() {
    let scene = in_force().await;
    let failure =
        |attempts| ReconciliationFailure { class: "transient".to_owned(), attempts, error: "a\nb".to_owned() };
    for (state, next, failure, part) in [
        (ReconciliationState::Running, None, None, "(now) the operator reconciles it Not"),
        (
            ReconciliationState::Queued,
            None,
            Some(failure(1)),
            "(now) it waits for its turn to be reconciled; it failed 1 time in a row (transient): a b",
        ),
        (
            ReconciliationState::Idle,
            Some(time("12:01:10")),
            Some(failure(3)),
            "(in 10s) it is reconciled again; it failed 3 times in a row (transient): a b",
        ),
        (
            ReconciliationState::Idle,
            Some(time("12:01:10")),
            None,
            "(in 10s) it is reconciled again, and at once after a change",
        ),
    ] {
        let text = explain_slot::tests::shown(
            &scene,
            of_slot(SlotAnswer { reconciliation: Reconciliation { state, next, failure }, ..slot() }),
        )
        .await;
        has(&text.replace("The leader", "Not"), &[part]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_missing_host_and_a_missing_vm_are_missing_since_a_time() {
    let scene = in_force().await;
    scene.expect_vm(0, "vm-1");
    scene.run_vms("node1", &["vm-1"]);
    scene.operate().await;
    scene.run_vms("node1", &[]);
    let missing_vms = vec![MissingVm { vm: "vm-1".to_owned(), since: time("12:00:30") }];
    let text = explain_slot::tests::shown(&scene, of_slot(SlotAnswer { missing_vms, ..slot() })).await;
    has(
        &text,
        &[
            "was here, no host has listed it since 2026-03-01T12:00:30Z; removed from the slot at 2026-03-01T12:01:30Z (in 30s)",
        ],
    );
    lacks(&text, &["when it has been missing for"]);
    scene.home.delete::<Hypervisor>("node1").unwrap();
    let text = explain_slot::tests::shown(
        &scene,
        of_slot(SlotAnswer { host_missing_since: Some(time("12:00:50")), ..slot() }),
    )
    .await;
    has(
        &text,
        &[
            "keeps node1 for now, which has no Hypervisor any more, since 2026-03-01T12:00:50Z (10s ago)",
            "at 2026-03-01T12:01:50Z (in 50s) the slot and the VMs in it lose their host, and the slot gets another one, if node1",
        ],
    );
    has(
        &explain_slot::tests::shown(&scene, unasked()).await,
        &["once node1 has been missing for 1m 0s (requeueIntervalGracePeriod)"],
    );
}

#[tokio::test(start_paused = true)]
async fn what_the_leader_has_promised_takes_capacity_of_a_host() {
    let scene = in_force().await;
    read_claim(&scene, "vm-1");
    has(&explain_host::tests::shown(&scene, unasked()).await, &["Free 0 0 ", "vm-1 p-2"]);
    let nothing = explain_host::tests::shown(&scene, answered(LeaderAnswer::default())).await;
    has(&nothing, &["Free 480 GiB 30 "]);
    lacks(&nothing, &["vm-1", "Decided and not observed yet"]);
    let entry = |number: u64, in_doubt| AssumedAnswer {
        slot: format!("home/{}", slot_name(UUID, number)),
        host: "node1".to_owned(),
        size: SLOT,
        vms: [].into(),
        in_doubt,
    };
    let assumed = vec![entry(1, false), entry(2, true)];
    let text = explain_host::tests::shown(&scene, answered(LeaderAnswer { assumed, ..LeaderAnswer::default() })).await;
    has(
        &text,
        &[
            "Free -480 GiB -30 ",
            "home/commitment-story-1-1 node1 480 GiB, 30 cores being written",
            "home/commitment-story-1-2 node1 480 GiB, 30 cores the outcome of its write is unknown",
        ],
    );
}

fn lease(annotations: &Value) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": { "name": "berth", "namespace": "elsewhere", "annotations": annotations },
        "spec": { "holderIdentity": "berth-0_1", "leaseDurationSeconds": 15 },
    })
}

async fn failure(scene: &Scene, operator: Option<&str>) -> String {
    let (flags, snapshot) = (LeaderArguments { operator: operator.map(str::to_owned) }, scene.snapshot().await);
    let asked = AskedOperator::ask(&snapshot, &flags, &Subject::Host("node1".into())).await;
    assert_eq!(asked.answer, None);
    asked.closing_line().split_once(": decisions that are not written yet").unwrap().0.to_owned()
}

#[tokio::test]
async fn the_operator_of_the_lease_is_asked_unless_another_one_is_named() {
    let scene = Scene::new(&[("node1", 1)]);
    let none = "Not included, because no process holds the Lease berth; give the URL of the operator with --operator";
    assert_eq!(failure(&scene, None).await, none);
    let given = failure(&scene, Some("http://127.0.0.1:2")).await;
    assert!(
        given.starts_with("Not included, because the operator at http://127.0.0.1:2 cannot be reached ("),
        "{given}"
    );
    scene.home.create_raw(lease(&json!({}))).unwrap();
    let text = "Not included, because the Lease berth has no address of its holder; give the URL of the operator with";
    assert!(failure(&scene, None).await.starts_with(text));
    scene.home.delete_raw("/apis/coordination.k8s.io/v1/leases", "elsewhere/berth").unwrap();
    let address = json!({ "reservations.cortex.cloud/api-address": "http://127.0.0.1:1" });
    scene.home.create_raw(lease(&address)).unwrap();
    let found = failure(&scene, None).await;
    assert!(
        found.starts_with("Not included, because the operator at http://127.0.0.1:1 cannot be reached ("),
        "{found}"
    );
}

/// An operator that answers the bearer of `own`, as it does outside of loopback; its URL and what it was shown.
async fn wanting_a_token() -> (String, Arc<Mutex<Vec<Option<String>>>>) {
    let shown = Arc::new(Mutex::new(Vec::new()));
    let noted = shown.clone();
    let answer = async move |headers: HeaderMap| {
        let token = headers.get("authorization").map(|shown| shown.to_str().unwrap().to_owned());
        noted.lock().push(token.clone());
        if token.as_deref() == Some("Bearer own") {
            Ok(Json(LeaderAnswer { leader: "berth-0".to_owned(), ..LeaderAnswer::default() }))
        } else {
            Err(StatusCode::UNAUTHORIZED)
        }
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().route("/v1/explain/hosts/node1", get(answer));
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url, shown)
}

fn kubeconfig(folder: &Path, user: &Value) -> std::path::PathBuf {
    let path = folder.join("kubeconfig");
    let content = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c", "users": [{ "name": "u", "user": user }],
        "clusters": [{ "name": "k", "cluster": { "server": "http://127.0.0.1:1" } }],
        "contexts": [{ "name": "c", "context": { "cluster": "k", "user": "u" } }],
    });
    fs::write(&path, content.to_string()).unwrap();
    path
}

#[tokio::test]
async fn the_token_of_the_kubeconfig_is_shown_to_an_operator_that_wants_one() {
    let scene = Scene::new(&[("node1", 1)]);
    let folder = tempfile::tempdir().unwrap();
    let certificate = json!({ "client-certificate-data": "QQ==", "client-key-data": "QQ==" });
    for (user, line) in [
        (json!({ "token": "own" }), "The leader, berth-0 at URL, was asked for what only it knows."),
        (
            json!({ "token": "other" }),
            "because the operator at URL does not accept the token of the kubeconfig; renew it",
        ),
        (
            certificate,
            "and the kubeconfig has none (a client certificate is for the API server only); put one that kubectl create token",
        ),
        (json!({ "tokenFile": "/nowhere/token" }), "URL wants a token, and that of the kubeconfig cannot be read ("),
    ] {
        let (url, shown) = wanting_a_token().await;
        let flags = LeaderArguments { operator: Some(url.clone()) };
        let kubeconfig = Some(kubeconfig(folder.path(), &user));
        let mut snapshot = scene.snapshot().await;
        snapshot.kubeconfig = kubeconfig;
        let asked = AskedOperator::ask(&snapshot, &flags, &Subject::Host("node1".into())).await;
        let closing = asked.closing_line().replace(&url, "URL");
        assert!(closing.contains(line) && closing.lines().count() == 1, "{user}: {closing}");
        assert_eq!(shown.lock()[0], None, "at first it is not shown");
        let token = user["token"].as_str().map(|token| format!("Bearer {token}"));
        assert_eq!(shown.lock().get(1).cloned().flatten(), token);
    }
}
