use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::routing::{get, post};
use axum::{Json, Router};
use berth_telemetry::config::{self, Checks};
use berth_testkit::keystone::{Keystone, USER};
use clap::Parser as _;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::answers::{UsageCounts, UsageReport};
use super::login::Login;
use super::{check, merged};
use crate::args::{Arguments, Command};

const ID: (HeaderName, &str) = (HeaderName::from_static("x-request-id"), "r-7");

/// A LIQUID API that answers as a function says, and keeps the requests.
struct Api {
    answer: fn(&Value) -> (StatusCode, Value),
    requests: Mutex<Vec<Value>>,
    /// The token of each request, the info included.
    tokens: Mutex<Vec<Option<String>>>,
    /// The answer to a request for usage, and how many there were.
    usage: (StatusCode, Value),
    usage_requests: Mutex<Vec<(String, Value)>>,
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

/// A report with a VM that a commitment covers and one without.
fn usage() -> Value {
    let vm = |id: &str, commitment: Value| json!({ "id": id, "attributes": { "commitment_id": commitment, "status": "ACTIVE" } });
    let vms = [vm("a", json!("c")), vm("b", Value::Null)];
    let instances = json!({ "forbidden": false, "perAZ": { "z": { "usage": 2, "quota": -1, "subresources": vms } } });
    json!({ "infoVersion": 7, "resources": { "a_instances": instances } })
}

/// Runs the checks against such an API, with these keys.
async fn outcome(answer: fn(&Value) -> (StatusCode, Value), keys: &Value) -> (Result<(), String>, Vec<Value>) {
    let (outcome, api) = outcome_with(answer, keys, Login::Nothing).await;
    assert!(api.tokens.lock().iter().all(Option::is_none));
    let requests = api.requests.lock().clone();
    (outcome, requests)
}

async fn outcome_with(
    answer: fn(&Value) -> (StatusCode, Value),
    keys: &Value,
    login: Login,
) -> (Result<(), String>, Arc<Api>) {
    outcome_of(Api::new(answer, (StatusCode::OK, usage())), keys, login).await
}

async fn outcome_of(api: Api, keys: &Value, login: Login) -> (Result<(), String>, Arc<Api>) {
    let api = Arc::new(api);
    let change = async |State(api): State<Arc<Api>>, headers: HeaderMap, Json(request): Json<Value>| {
        api.note_token(&headers);
        let (status, body) = (api.answer)(&request);
        api.requests.lock().push(request);
        (status, [ID], Json(body))
    };
    let shown = async |State(api): State<Arc<Api>>, headers: HeaderMap| {
        api.note_token(&headers);
        ([ID], Json(info()))
    };
    let used = async |State(api): State<Arc<Api>>, Path(project): Path<String>, headers: HeaderMap, Json(request)| {
        api.note_token(&headers);
        api.usage_requests.lock().push((project, request));
        let (status, body) = api.usage.clone();
        (status, [ID], Json(body))
    };
    let routes = Router::new()
        .route("/commitments/v1/info", get(shown))
        .route("/commitments/v1/projects/{project}/report-usage", post(used))
        .route("/commitments/v1/change-commitments", post(change));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut keys = keys.clone();
    keys["baseURL"] = json!(format!("http://{}/", listener.local_addr().unwrap()));
    let server = tokio::spawn(axum::serve(listener, routes.with_state(api.clone())).into_future());
    let outcome = check(&checks(&keys), login).await;
    server.abort();
    (outcome, api)
}

impl Api {
    fn new(answer: fn(&Value) -> (StatusCode, Value), usage: (StatusCode, Value)) -> Self {
        let (requests, tokens, usage_requests) = (Mutex::default(), Mutex::default(), Mutex::default());
        Self { answer, requests, tokens, usage, usage_requests }
    }

    fn note_token(&self, headers: &HeaderMap) {
        let token = headers.get("x-auth-token").map(|token| token.to_str().unwrap().to_owned());
        self.tokens.lock().push(token);
    }

    fn have_token(&self, token: &str) -> bool {
        let tokens = self.tokens.lock();
        !tokens.is_empty() && tokens.iter().all(|shown| shown.as_deref() == Some(token))
    }
}

async fn login(flags: &[&str], keys: &Value) -> Result<Login, String> {
    let all = [&["berth", "e2e-commitments"], flags].concat();
    let Command::E2eCommitments(arguments) = Arguments::try_parse_from(all).unwrap().command else {
        panic!("{flags:?}");
    };
    let loaded = config::decode(keys.as_object().unwrap(), false).unwrap();
    Login::of(&arguments, &loaded.configuration).await.map_err(|error| error.to_string())
}

#[tokio::test]
async fn every_request_has_the_token_of_the_file() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let flag = format!("--token-file={}", file.path().display());
    for unusable in ["", "\n", "a b", "a\nb"] {
        std::fs::write(file.path(), unusable).unwrap();
        let refused = login(&[&flag], &json!({})).await.err().unwrap();
        assert!(refused.contains("has no token, or more than one line"), "{refused}");
    }
    std::fs::write(file.path(), "the-token\n").unwrap();
    let keys = json!({ "keystoneURL": "http://127.0.0.1:1", "osUsername": "u", "osPassword": "p" });
    let login = login(&[&flag], &keys).await.unwrap();
    let (passed, api) = outcome_with(accept, &json!({ "azs": ["z"] }), login).await;
    assert_eq!(passed, Ok(()));
    assert!(api.have_token("the-token"));
}

#[tokio::test]
async fn credentials_of_the_configuration_log_in_once() {
    let keystone = Keystone::start("s3cret").await.unwrap();
    let keys = |password: &str| {
        json!({
            "keystoneURL": keystone.url(), "osUsername": USER, "osPassword": password, "osProjectName": "service",
            "osUserDomainName": "Default", "osProjectDomainName": "Default",
        })
    };
    let right = login(&[], &keys("s3cret")).await.unwrap();
    let (passed, api) = outcome_with(accept, &json!({ "azs": ["z"] }), right).await;
    assert_eq!((passed, keystone.logins()), (Ok(()), 1));
    assert!(api.have_token("token-1"));
    let wrong = login(&[], &keys("wrong")).await.unwrap();
    let failed = outcome_with(accept, &json!({}), wrong).await.0.unwrap_err();
    assert!(failed.starts_with("info: no login to keystone: keystone refuses the credentials"), "{failed}");
    assert!(matches!(login(&[], &json!({})).await, Ok(Login::Nothing)));
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
async fn the_usage_is_read_after_each_accepted_creation() {
    let (passed, api) = outcome_with(accept, &json!({ "azs": ["z"], "projectID": "p" }), Login::Nothing).await;
    assert_eq!(passed, Ok(()));
    let asked = api.usage_requests.lock().clone();
    assert_eq!(asked, vec![("p".to_owned(), json!({ "allAZs": ["z"] })); 4]);
    let decoded: UsageReport = serde_json::from_value(usage()).unwrap();
    let counts = decoded.resources.unwrap()["a_instances"].counts();
    assert_eq!(counts, UsageCounts { usage: 2, subresources: 2, committed: 1 });
}

#[tokio::test]
async fn a_report_that_fails_is_a_failure_and_the_commitments_are_deleted_all_the_same() {
    for (status, body, text) in [
        (StatusCode::SERVICE_UNAVAILABLE, json!("no"), "report-usage: status 503 (X-Request-ID r-7): \"no\""),
        (StatusCode::OK, json!({ "infoVersion": 7, "more": 1 }), "unknown field `more`"),
    ] {
        let api = Api::new(accept, (status, body));
        let (failed, api) = outcome_of(api, &json!({ "azs": ["z"] }), Login::Nothing).await;
        let failed = failed.unwrap_err();
        assert!(failed.starts_with("round trip of a_ram in z: report-usage: ") && failed.contains(text), "{failed}");
        let requests = summaries(&api.requests.lock());
        assert_eq!(requests.last().unwrap(), "z a_ram 2>0 e2e confirmed>null 2");
    }
}

#[tokio::test]
async fn an_api_that_is_not_there_is_a_failure() {
    let failed = check(&checks(&json!({ "baseURL": "http://127.0.0.1:1" })), Login::Nothing).await.unwrap_err();
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
