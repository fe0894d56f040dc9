//! Requests to the router: the order of checks, texts, headers and metrics.

mod callers;

use std::collections::BTreeMap;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode};
use axum::response::Response;
use berth_http::answer;
use berth_openstack::authentication::Off;
use berth_telemetry::metrics::Metrics;
use berth_vm_source::VmSource;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::*;
use crate::capacity::tests::reports_of_one_object;
use crate::info::tests::{changed, config, features, groups, knowledge, knowledges, source};
use crate::info::{InfoFacts, LiveCommitments, PublishedInfo, plan};
use crate::usage::tests::{reports, vms};

const INFO: &str = "/commitments/v1/info";
const CHANGE: &str = "/commitments/v1/change-commitments";
const CAPACITY: &str = "/commitments/v1/report-capacity";
const USAGE: &str = "/commitments/v1/projects/p-1/report-usage";
const QUOTA: &str = "/commitments/v1/projects/p-1/quota";

/// A router and what it counts.
struct Setting {
    router: Router,
    metrics: Metrics,
}

struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
}

/// Says what it was called with.
struct Echo;

impl ChangeHandler for Echo {
    fn change(&self, request: ChangeCall) -> BoxFuture<'_, Response> {
        let ChangeCall { body, headers, request_id } = request;
        let seen = json!({ "bytes": body.len(), "id": request_id, "header": headers.contains_key("x-auth-token") });
        let mut response = answer::json(StatusCode::OK, &seen);
        response.extensions_mut().insert(AnsweredChange { is_dry_run: true, is_rejected: true });
        async { response }.boxed()
    }
}

/// Takes every quota, unless its body is `no`.
struct Quota;

impl QuotaHandler for Quota {
    fn set_quota(&self, request: QuotaCall) -> BoxFuture<'_, Response> {
        let QuotaCall { project, body, headers, request_id } = request;
        let mut response = Response::default();
        *response.status_mut() = if body == "no" { StatusCode::INTERNAL_SERVER_ERROR } else { StatusCode::NO_CONTENT };
        let token = headers.get("x-auth-token").map_or("", |token| token.to_str().unwrap());
        let seen = format!("{project} {} {request_id} {token}", body.len());
        response.headers_mut().insert("x-seen", seen.parse().unwrap());
        async { response }.boxed()
    }
}

fn published() -> PublishedInfo {
    let facts = InfoFacts {
        groups: &groups(&features()),
        last_content_change: Some(changed()),
        config: &config(),
        live: &LiveCommitments::default(),
        trusted_now: None,
        now: changed(),
    };
    let published = PublishedInfo::default();
    published.offer(plan(None, &facts).unwrap().publication);
    published
}

impl Setting {
    fn new(change: impl FnOnce(&mut LiquidParts)) -> Self {
        let metrics = Metrics::new(&BTreeMap::new()).unwrap();
        let enabled = Switches { change_commitments: true, report_usage: true, report_capacity: true, quota: true };
        let mut parts = LiquidParts {
            source: source(&knowledges([knowledge(&features(), changed())])),
            published: published(),
            changes: Arc::new(Echo),
            quota: Arc::new(Quota),
            usage: reports(Vec::new(), vms(Vec::new())),
            capacity: reports_of_one_object(),
            switches: enabled,
            access: LiquidAccess::Open,
            callers: LiquidCallers { authentication: Arc::new(Off), policies: default_policies() },
            limits: BodyLimits::new(100),
            metrics: LiquidMetrics::register(&metrics).unwrap(),
        };
        change(&mut parts);
        Self { router: answer::refusals(router(Arc::new(LiquidApi::new(parts)))), metrics }
    }

    async fn ask(&self, method: Method, path: &str) -> Answer {
        self.send(Request::builder().method(method).uri(path).body(Body::empty()).unwrap()).await
    }

    async fn send(&self, request: Request<Body>) -> Answer {
        let (head, body) = self.router.clone().oneshot(request).await.unwrap().into_parts();
        let body = String::from_utf8(to_bytes(body, 1 << 20).await.unwrap().to_vec()).unwrap();
        Answer { status: head.status, headers: head.headers, body }
    }

    async fn text(&self, method: Method, path: &str) -> (u16, String) {
        let answer = self.ask(method, path).await;
        assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8");
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        (answer.status.as_u16(), answer.body.trim_end_matches('\n').to_owned())
    }

    fn counts(&self, line: &str) -> bool {
        self.metrics.render().lines().any(|shown| shown == line)
    }
}

impl Answer {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

fn setting() -> Setting {
    Setting::new(|_| {})
}

#[tokio::test]
async fn the_info_of_the_session_is_answered_with_its_request_id() {
    let request = Request::get(INFO).header("X-Request-ID", "s-0001").body(Body::empty()).unwrap();
    let answer = setting().send(request).await;
    assert_eq!((answer.status, answer.header("x-request-id")), (StatusCode::OK, "s-0001"));
    assert_eq!(answer.header("content-type"), "application/json");
    let gp = "usable by: gp_v1_c8_m32, gp_v1_c4_m32, gp_v1_c2_m8";
    let hana = "usable by: hana_v3_c120_m1920, hana_v3_c60_m960, hana_v3_c30_m480";
    let variable = r#""attributes":{"ramCoreRatioMin":4,"ramCoreRatioMax":8}"#;
    let fixed = r#""attributes":{"ramCoreRatio":16}"#;
    let resource = |name: &str, shown: String, unit: &str, handled: bool, attributes: &str| {
        let handled = if handled { r#""handlesCommitments":true,"# } else { "" };
        format!(
            r#""hw_version_{name}":{{"displayName":"{shown}","unit":"{unit}","topology":"az-separated","hasCapacity":true,"needsResourceDemand":false,"hasQuota":true,{handled}{attributes}}}"#
        )
    };
    let resources = [
        resource("gp_v1_cores", format!("CPU cores ({gp})"), "piece", true, variable),
        resource("gp_v1_instances", format!("instances ({gp})"), "piece", false, variable),
        resource("gp_v1_ram", format!("GiB of RAM ({gp})"), "GiB", true, variable),
        resource("hana_v3_cores", format!("CPU cores ({hana})"), "piece", false, fixed),
        resource("hana_v3_instances", format!("instances ({hana})"), "piece", false, fixed),
        resource("hana_v3_ram", format!("multiples of 480 GiB ({hana})"), "480 GiB", true, fixed),
    ];
    let expected = format!(
        r#"{{"version":1772439300,"displayName":"","categories":null,"resources":{{{}}},"rates":null,"capacityMetricFamilies":null,"usageMetricFamilies":null,"quotaUpdateNeedsProjectMetadata":true,"commitmentHandlingNeedsProjectMetadata":true}}"#,
        resources.join(",")
    );
    assert_eq!(answer.body, expected + "\n");
}

#[tokio::test]
async fn another_method_is_refused_with_the_allowed_one_before_anything_else() {
    let closed = Setting::new(|parts| {
        parts.access = LiquidAccess::Closed;
        parts.switches.quota = false;
    });
    for (path, allowed) in [(INFO, "GET"), (CHANGE, "POST"), (CAPACITY, "POST"), (USAGE, "POST"), (QUOTA, "PUT")] {
        for method in [Method::HEAD, Method::OPTIONS, Method::DELETE] {
            let answer = closed.ask(method.clone(), path).await;
            assert_eq!((answer.status.as_u16(), answer.header("allow")), (405, allowed), "{method} {path}");
            assert!(!answer.header("x-request-id").is_empty());
        }
        assert_eq!(closed.text(Method::PATCH, path).await, (405, "Method not allowed".to_owned()));
    }
    assert!(closed.counts(r#"cortex_committed_resource_info_api_requests_total{status_code="405"} 4"#));
}

#[tokio::test]
async fn unknown_paths_are_not_found() {
    let setting = setting();
    for path in ["/commitments/v1/projects/p-1/other", "/commitments/v1/projects/p-1/quota/"] {
        assert_eq!(setting.text(Method::PUT, path).await, (404, "Not found".to_owned()), "{path}");
    }
    for path in ["/commitments/v1/", "/commitments/v1/info/", "/commitments/v1/infos", "/commitments/v1/projects/"] {
        assert_eq!(setting.text(Method::GET, path).await.0, 404, "{path}");
    }
}

#[tokio::test]
async fn a_request_id_that_is_missing_or_unusable_is_replaced() {
    let setting = setting();
    for given in ["", "caf\u{e9}", &"x".repeat(129)] {
        let request = Request::get(INFO).header("X-Request-ID", given.as_bytes()).body(Body::empty()).unwrap();
        let answer = setting.send(request).await;
        assert_eq!(answer.header("x-request-id").len(), 36, "{given:?}");
    }
    let request = Request::get(CAPACITY).header("X-Request-ID", "mine").body(Body::empty()).unwrap();
    assert_eq!(setting.send(request).await.header("x-request-id"), "mine", "of an error too");
}

#[tokio::test]
async fn without_authentication_every_route_is_closed() {
    let closed = Setting::new(|parts| {
        parts.access = LiquidAccess::Closed;
        parts.switches.change_commitments = false;
    });
    let text = "no authentication is configured for this API".to_owned();
    for (method, path) in [(Method::GET, INFO), (Method::POST, CHANGE), (Method::PUT, QUOTA), (Method::POST, USAGE)] {
        assert_eq!(closed.text(method, path).await, (503, text.clone()), "{path}");
    }
}

#[tokio::test]
async fn a_switch_closes_its_endpoint_before_path_and_body_are_read() {
    let disabled = Setting::new(|parts| {
        parts.switches =
            Switches { change_commitments: false, report_usage: false, report_capacity: false, quota: false };
    });
    for (method, path, api) in [
        (Method::POST, CHANGE, "change-commitments"),
        (Method::POST, CAPACITY, "report-capacity"),
        (Method::POST, "/commitments/v1/projects/a/b/report-usage", "report-usage"),
        (Method::PUT, QUOTA, "Quota"),
    ] {
        assert_eq!(disabled.text(method, path).await, (503, format!("{api} API is disabled")));
    }
    assert_eq!(disabled.ask(Method::GET, INFO).await.status, StatusCode::OK, "the info has no switch");
}

#[tokio::test(start_paused = true)]
async fn a_usage_report_is_answered_in_json_with_the_request_id() {
    let setting = setting();
    let request =
        Request::post(USAGE).header("X-Request-ID", "s-1").body(Body::from(r#"{"allAZs": ["az-1"]}"#)).unwrap();
    let answer = setting.send(request).await;
    assert_eq!((answer.status, answer.header("x-request-id")), (StatusCode::OK, "s-1"));
    assert_eq!(answer.header("content-type"), "application/json");
    let report: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(report["resources"]["hw_version_gp_v1_cores"]["perAZ"]["az-1"]["usage"], 0);
    assert!(setting.counts(r#"cortex_committed_resource_usage_api_requests_total{status_code="200"} 1"#));
}

#[tokio::test(start_paused = true)]
async fn a_usage_report_checks_the_path_then_the_body_then_its_sources() {
    let setting = Setting::new(|parts| {
        parts.usage.vms = VmSource::none();
        parts.published = PublishedInfo::default();
    });
    let (status, text) = setting.text(Method::POST, USAGE).await;
    assert_eq!(status, 400);
    assert!(text.starts_with("Invalid request body: EOF"), "{text}");
    let send = async |setting: &Setting| {
        let answer = setting.send(Request::post(USAGE).body(Body::from("{}")).unwrap()).await;
        (answer.status.as_u16(), answer.body)
    };
    let unpublished = "Service temporarily unavailable: the service info is not published yet\n";
    assert_eq!(send(&setting).await, (503, unpublished.to_owned()));
    let setting = Setting::new(|parts| parts.usage.vms = VmSource::none());
    let text = "Failed to generate usage report: failed to get project VMs: vm source not configured\n";
    assert_eq!(send(&setting).await, (503, text.to_owned()));
}

/// A report of capacity, as status and text.
async fn capacity(setting: &Setting, body: &str) -> (u16, String) {
    let answer = setting.send(Request::post(CAPACITY).body(Body::from(body.to_owned())).unwrap()).await;
    (answer.status.as_u16(), answer.body)
}

#[tokio::test(start_paused = true)]
async fn a_capacity_report_is_answered_in_json_and_shown_in_the_metrics() {
    let setting = setting();
    let body = r#"{"allAZs": ["eu-x-1a", "nowhere"], "demandByResource": {}}"#;
    let request = Request::post(CAPACITY).header("X-Request-ID", "s-1").body(Body::from(body)).unwrap();
    let answer = setting.send(request).await;
    assert_eq!((answer.status, answer.header("x-request-id")), (StatusCode::OK, "s-1"));
    assert_eq!(answer.header("content-type"), "application/json");
    let report: Value = serde_json::from_str(&answer.body).unwrap();
    let cores = &report["resources"]["hw_version_gp_v1_cores"]["perAZ"];
    assert_eq!(*cores, json!({"eu-x-1a": {"capacity": 26, "usage": 20}, "nowhere": {"capacity": 0}}));
    assert!(setting.counts(r#"cortex_committed_resource_capacity_api_requests_total{status_code="200"} 1"#));
    let shown = |line: &str| setting.counts(&format!("cortex_committed_resource_reported_capacity{line}"));
    assert!(shown(r#"{az="eu-x-1a",resource="hw_version_gp_v1_ram",unit_size="1"} 104"#));
    assert!(shown(r#"{az="eu-x-1a",resource="hw_version_hana_v3_ram",unit_size="480"} 0"#));
    assert!(!shown(r#"{az="nowhere",resource="hw_version_gp_v1_ram",unit_size="1"} 0"#), "a zone of the client alone");
    assert_eq!(capacity(&setting, r#"{"allAZs": []}"#).await.0, 200);
    assert!(!shown(r#"{az="eu-x-1a",resource="hw_version_gp_v1_ram",unit_size="1"} 104"#), "not in the last report");
}

#[tokio::test(start_paused = true)]
async fn a_capacity_that_falls_to_zero_with_its_object_is_still_shown() {
    let mut object = None;
    let setting = Setting::new(|parts| object = Some(parts.capacity.capacities.clone()));
    let body = r#"{"allAZs": ["eu-x-1a"]}"#;
    assert_eq!(capacity(&setting, body).await.0, 200);
    let store = object.unwrap();
    let entry = store.all().remove(0);
    berth_cluster::testing::deleted(&store, &entry.key.cluster, (*entry.object).clone());
    assert_eq!(capacity(&setting, body).await.0, 200);
    let line = r#"{az="eu-x-1a",resource="hw_version_gp_v1_ram",unit_size="1"} 0"#;
    assert!(setting.counts(&format!("cortex_committed_resource_reported_capacity{line}")));
}

#[tokio::test(start_paused = true)]
async fn a_capacity_report_checks_the_body_then_its_sources() {
    let setting = Setting::new(|parts| {
        parts.published = PublishedInfo::default();
        parts.capacity.max_age = std::time::Duration::from_secs(60);
    });
    let (status, text) = capacity(&setting, r#"{"allAZs": 7}"#).await;
    assert_eq!(status, 400);
    assert!(text.starts_with("Invalid request body: allAZs: invalid type: integer"), "{text}");
    let unpublished = "Service temporarily unavailable: the service info is not published yet\n";
    assert_eq!(capacity(&setting, "").await, (503, unpublished.to_owned()), "an empty body is an empty request");

    let setting = Setting::new(|parts| parts.capacity.max_age = std::time::Duration::from_secs(60));
    assert_eq!(capacity(&setting, "").await.0, 200);
    tokio::time::advance(std::time::Duration::from_secs(61)).await;
    let not_ready = "Failed to calculate capacity: one or more FlavorGroupCapacity CRDs are not ready: \
                     flavorGroup=gp_v1 az=eu-x-1a\n";
    let body = r#"{"allAZs": ["eu-x-1a"]}"#;
    assert_eq!(capacity(&setting, body).await, (503, not_ready.to_owned()), "it was not written for too long");
    let answer = setting.send(Request::post(CAPACITY).body(Body::from(body)).unwrap()).await;
    assert_eq!(answer.header("retry-after"), "5");
    assert!(setting.counts(r#"cortex_committed_resource_capacity_api_requests_total{status_code="503"} 2"#));
}

#[tokio::test]
async fn the_path_of_a_project_has_one_segment_that_can_be_an_id() {
    let setting = setting();
    for (rest, text) in [
        ("report-usage", "path too short"),
        ("/report-usage", "empty project ID in path"),
        ("a/b/report-usage", "unexpected path format"),
        ("a_b/report-usage", "unexpected path format"),
        ("a%20b/report-usage", "unexpected path format"),
        (&format!("{}/report-usage", "a".repeat(65)), "unexpected path format"),
    ] {
        let path = format!("/commitments/v1/projects/{rest}");
        let expected = format!("Invalid URL path: {text}: {path}");
        assert_eq!(setting.text(Method::POST, &path).await, (400, expected));
    }
    let longest = format!("/commitments/v1/projects/{}/quota", "a".repeat(64));
    assert_eq!(setting.ask(Method::PUT, &longest).await.status, StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn until_an_info_was_published_the_answer_says_why_there_is_none() {
    let text = async |source_of: fn() -> crate::info::InfoSource| {
        let setting = Setting::new(|parts| {
            parts.published = PublishedInfo::default();
            parts.source = source_of();
        });
        assert_eq!(setting.ask(Method::GET, INFO).await.status, StatusCode::SERVICE_UNAVAILABLE);
        setting.text(Method::GET, INFO).await.1
    };
    let missing = "Service temporarily unavailable: failed to get flavor groups knowledge: knowledges.cortex.cloud \
                   \\\"flavor-groups\\\" not found";
    assert_eq!(text(|| source(&knowledges([]))).await, missing.replace('\\', ""));
    let empty = || source(&knowledges([knowledge(&[], changed())]));
    let not_ready = "Service temporarily unavailable: flavor groups knowledge is not ready: it has no flavor group";
    assert_eq!(text(empty).await, not_ready);
    let ready = || source(&knowledges([knowledge(&features(), changed())]));
    assert_eq!(text(ready).await, "Service temporarily unavailable: the service info is not published yet");
}

#[tokio::test]
async fn a_change_reaches_its_handler_with_body_headers_and_request_id() {
    let setting = setting();
    let request = Request::post(CHANGE).header("X-Request-ID", "s-1").header("X-Auth-Token", "t");
    let answer = setting.send(request.body(Body::from("{}")).unwrap()).await;
    assert_eq!((answer.status, answer.header("x-request-id")), (StatusCode::OK, "s-1"));
    let seen: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(seen, json!({ "bytes": 2, "id": "s-1", "header": true }));
    let counted = r#"{dry_run="true",result="rejected",status_code="200"} 1"#;
    assert!(setting.counts(&format!("cortex_committed_resource_change_api_requests_total{counted}")));
}

#[tokio::test]
async fn quota_reaches_its_handler_with_project_body_headers_and_request_id() {
    let setting = setting();
    let request = |body| Request::put(QUOTA).header("X-Request-ID", "s-1").header("X-Auth-Token", "t").body(body);
    let answer = setting.send(request(Body::from("{}")).unwrap()).await;
    assert_eq!((answer.status, answer.header("x-seen"), &*answer.body), (StatusCode::NO_CONTENT, "p-1 2 s-1 t", ""));
    assert_eq!((answer.header("x-request-id"), answer.header("content-type")), ("s-1", ""));
    assert_eq!(setting.send(request(Body::from("no")).unwrap()).await.status, StatusCode::INTERNAL_SERVER_ERROR);
    let too_large = setting.send(request(Body::from("x".repeat(101))).unwrap()).await;
    assert_eq!((too_large.status.as_u16(), &*too_large.body), (413, "request body too large\n"));
    for code in ["204", "500", "413"] {
        assert!(setting.counts(&format!(
            r#"cortex_committed_resource_quota_api_request_duration_seconds_count{{status_code="{code}"}} 1"#
        )));
        assert!(
            setting.counts(&format!(r#"cortex_committed_resource_quota_api_requests_total{{status_code="{code}"}} 1"#))
        );
    }
}

#[tokio::test]
async fn a_body_above_the_limit_is_refused_whether_its_length_is_announced_or_not() {
    let setting = setting();
    let announced = Request::post(CHANGE).header("content-length", "101").body(Body::from("x".repeat(101))).unwrap();
    let parts = futures::stream::iter((0..20).map(|_| Ok::<_, std::io::Error>(Bytes::from("1234567890"))));
    let streamed = Request::post(CHANGE).body(Body::from_stream(parts)).unwrap();
    for request in [announced, streamed] {
        let answer = setting.send(request).await;
        assert_eq!((answer.status.as_u16(), &*answer.body), (413, "request body too large\n"));
    }
    let fits = Request::post(CHANGE).body(Body::from("x".repeat(100))).unwrap();
    assert_eq!(setting.send(fits).await.status, StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_arrive_is_given_up_and_frees_its_memory() {
    let setting = Setting::new(|parts| parts.limits.bodies = 100);
    let never =
        || Request::post(CHANGE).body(Body::from_stream(futures::stream::pending::<Result<Bytes, std::io::Error>>()));
    let (first, second) = tokio::join!(setting.send(never().unwrap()), setting.send(never().unwrap()));
    assert_eq!((first.status.as_u16(), second.status.as_u16()), (408, 503));
    assert_eq!(second.header("retry-after"), "5");
    let fits = Request::post(CHANGE).body(Body::from("{}")).unwrap();
    assert_eq!(setting.send(fits).await.status, StatusCode::OK);
}

#[test]
fn the_usual_series_exist_from_the_start() {
    let setting = setting();
    for line in [
        r#"change_api_requests_total{dry_run="true",result="rejected",status_code="409"} 0"#,
        r#"change_api_request_duration_seconds_count{dry_run="false",status_code="500"} 0"#,
        r#"change_api_commitment_changes_total{az="",dry_run="true",result="accepted"} 0"#,
        r#"change_api_timeouts_total{dry_run="false"} 0"#,
        r#"info_api_requests_total{status_code="503"} 0"#,
        r#"capacity_api_requests_total{status_code="500"} 0"#,
        r#"usage_api_request_duration_seconds_count{status_code="400"} 0"#,
        r#"quota_api_requests_total{status_code="204"} 0"#,
    ] {
        assert!(setting.counts(&format!("cortex_committed_resource_{line}")), "{line}");
    }
}
