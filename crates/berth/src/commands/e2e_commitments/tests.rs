use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderName, StatusCode};
use axum::routing::{get, post};
use axum::{Json, Router};
use berth_telemetry::config::{self, Checks};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{check, merged};

const ID: (HeaderName, &str) = (HeaderName::from_static("x-request-id"), "r-7");

/// A LIQUID API that answers as a function says, and keeps the requests.
struct Api {
    answer: fn(&Value) -> (StatusCode, Value),
    requests: Mutex<Vec<Value>>,
}

fn info() -> Value {
    let resource = |handles: bool| {
        json!({
            "displayName": "", "unit": "GiB", "topology": "az-separated", "hasCapacity": true,
            "needsResourceDemand": false, "hasQuota": true, "handlesCommitments": handles, "attributes": {}
        })
    };
    json!({
        "version": 7, "displayName": "", "categories": null, "rates": null, "capacityMetricFamilies": null,
        "usageMetricFamilies": null, "resources": { "b_ram": resource(true), "a_ram": resource(true), "a_x": resource(false) },
    })
}

/// Runs the checks against such an API, with these keys.
async fn outcome(answer: fn(&Value) -> (StatusCode, Value), keys: &Value) -> (Result<(), String>, Vec<Value>) {
    let api = Arc::new(Api { answer, requests: Mutex::default() });
    let change = async |State(api): State<Arc<Api>>, Json(request): Json<Value>| {
        let (status, body) = (api.answer)(&request);
        api.requests.lock().push(request);
        (status, [ID], Json(body))
    };
    let routes = Router::new()
        .route("/commitments/v1/info", get(async || ([ID], Json(info()))))
        .route("/commitments/v1/change-commitments", post(change));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut keys = keys.clone();
    keys["baseURL"] = json!(format!("http://{}/", listener.local_addr().unwrap()));
    let server = tokio::spawn(axum::serve(listener, routes.with_state(api.clone())).into_future());
    let outcome = check(&checks(&keys)).await;
    server.abort();
    let requests = api.requests.lock().clone();
    (outcome, requests)
}

fn checks(keys: &Value) -> Checks {
    config::decode(keys.as_object().unwrap(), true).unwrap().configuration.checks
}

fn is_batch(request: &Value) -> bool {
    request.to_string().contains("e2e-batch-b")
}

fn accept(_: &Value) -> (StatusCode, Value) {
    (StatusCode::OK, json!({}))
}

fn reject(reason: &str) -> (StatusCode, Value) {
    (StatusCode::OK, json!({ "rejectionReason": reason }))
}

/// Resource, totals, and the changes of the commitments, without numbers and times.
fn summary(request: &Value) -> String {
    let project = request["byProject"].as_object().unwrap().values().next().unwrap();
    let (resource, changeset) = project["byResource"].as_object().unwrap().iter().next().unwrap();
    let change = |one: &Value| {
        let name = one["uuid"].as_str().unwrap().rsplit_once('-').unwrap().0.to_owned();
        let word = |key: &str| one[key].as_str().unwrap_or("null").to_owned();
        format!("{name} {}>{} {}", word("oldStatus"), word("newStatus"), one["amount"])
    };
    let changes: Vec<_> = changeset["commitments"].as_array().unwrap().iter().map(change).collect();
    let (before, after) = (&changeset["totalConfirmedBefore"], &changeset["totalConfirmedAfter"]);
    format!("{} {resource} {before}>{after} {}", request["az"].as_str().unwrap(), changes.join(", "))
}

fn summaries(requests: &[Value]) -> Vec<String> {
    requests.iter().map(summary).collect()
}

#[tokio::test]
async fn every_resource_of_every_zone_is_checked_in_the_order_of_names_and_nothing_is_left() {
    let (passed, requests) = outcome(accept, &json!({ "azs": ["z"] })).await;
    assert_eq!(passed, Ok(()));
    assert_eq!(
        summaries(&requests),
        [
            "z a_ram 0>2 e2e-dry null>confirmed 2",
            "z b_ram 0>2 e2e-dry null>confirmed 2",
            "z a_ram 0>2 e2e null>confirmed 2",
            "z a_ram 2>0 e2e confirmed>null 2",
            "z b_ram 0>2 e2e null>confirmed 2",
            "z b_ram 2>0 e2e confirmed>null 2",
            "z a_ram 0>0 e2e-batch-a null>pending 1",
            "z a_ram 0>4 e2e-batch-a pending>confirmed 3, e2e-batch-b null>confirmed 1",
            "z a_ram 4>0 e2e-batch-a confirmed>null 3, e2e-batch-b confirmed>null 1",
            "z b_ram 0>0 e2e-batch-a null>pending 1",
            "z b_ram 0>4 e2e-batch-a pending>confirmed 3, e2e-batch-b null>confirmed 1",
            "z b_ram 4>0 e2e-batch-a confirmed>null 3, e2e-batch-b confirmed>null 1",
        ]
    );
    assert!(requests.iter().all(|request| request["infoVersion"] == 7));
    let dry_runs = requests.iter().filter(|request| request["dryRun"] == true).count();
    assert_eq!(dry_runs, 2);
}

#[tokio::test]
async fn without_cleanup_only_a_pending_commitment_goes() {
    let keys = json!({ "azs": ["z"], "noCleanup": true });
    let (passed, requests) = outcome(accept, &keys).await;
    assert_eq!((passed, requests.iter().filter(|one| summary(one).contains(">null")).count()), (Ok(()), 0));
    let full =
        |request: &Value| if is_batch(request) { reject("x: insufficient capacity: 1/2") } else { accept(request) };
    let (passed, requests) = outcome(full, &keys).await;
    let deleted: Vec<_> = summaries(&requests).into_iter().filter(|one| one.contains(">null")).collect();
    assert_eq!(passed, Ok(()));
    assert_eq!(deleted, ["z a_ram 0>0 e2e-batch-a pending>null 1", "z b_ram 0>0 e2e-batch-a pending>null 1"]);
}

#[tokio::test]
async fn a_full_zone_is_no_failure_and_any_other_reason_is_one_with_the_request_id() {
    let full = |request: &Value| {
        let is_refused = request["dryRun"] == true || !request.to_string().contains("batch-a");
        if is_refused { reject("insufficient CPU cores: 1 available, 2 requested") } else { accept(request) }
    };
    assert_eq!(outcome(full, &json!({ "azs": ["z"] })).await.0, Ok(()));
    let refused = outcome(|_| reject("no"), &json!({ "azs": ["z"] })).await.0.unwrap_err();
    assert_eq!(refused, "dry run of a_ram in z: dry run: rejected (X-Request-ID r-7): no");
}

#[tokio::test]
async fn another_status_and_an_unknown_member_are_failures_with_the_request_id() {
    let keys = json!({ "azs": ["z"] });
    let failed = outcome(|_| (StatusCode::SERVICE_UNAVAILABLE, json!("later")), &keys).await.0.unwrap_err();
    assert!(failed.contains("change-commitments: status 503 (X-Request-ID r-7): \"later\""), "{failed}");
    let unknown = outcome(|_| (StatusCode::OK, json!({ "reason": "no" })), &keys).await.0.unwrap_err();
    assert!(unknown.contains("(X-Request-ID r-7): unknown field `reason`"), "{unknown}");
}

#[tokio::test]
async fn an_api_that_is_not_there_is_a_failure() {
    let failed = check(&checks(&json!({ "baseURL": "http://127.0.0.1:1" }))).await.unwrap_err();
    assert!(failed.starts_with("info: GET info: no answer: "), "{failed}");
}

#[test]
fn the_argument_is_merged_over_the_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("conf.json");
    std::fs::write(&file, r#"{"projectID":"p","roundTripCheck":{"az":"old"}}"#).unwrap();
    let files = config::Files { config: Some(file), secrets: None };
    let read = |json| merged(&files, json).map(|loaded| loaded.configuration.checks);
    let checks = read(r#"{"azs":["z"],"requestTimeout":"5s"}"#).unwrap();
    assert_eq!(
        (checks.zones, checks.project_id.as_str(), checks.request_timeout.as_secs()),
        (vec!["z".to_owned()], "p", 5)
    );
    assert_eq!(read("{}").unwrap().zones, ["old"]);
    for wrong in ["", "[]", "{", r#"{"azs":5}"#] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}
