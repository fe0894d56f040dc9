//! Refusals, with status and text.

use axum::body::Body;
use axum::http::{Method, Request};
use serde_json::{Value, json};

use super::setting::{body, extra_specs, read_only, setting, spec};
use crate::server::PATH;

const PROCESS: &str = "failed to process scheduling decision: ";

#[tokio::test]
async fn other_methods_are_refused() {
    let setting = setting();
    for method in ["GET", "PUT", "DELETE", "OPTIONS", "BREW"] {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let seen = setting.send(Request::builder().method(method).uri(PATH).body(Body::empty()).unwrap()).await;
        seen.is(405, "invalid request method\n");
        assert_eq!(seen.header("allow"), "POST");
        assert_eq!(seen.header("content-type"), "text/plain; charset=utf-8");
        assert_eq!(seen.header("x-content-type-options"), "nosniff");
    }
    let head = setting.send(Request::head(PATH).body(Body::empty()).unwrap()).await;
    assert_eq!((head.status, head.header("allow")), (405, "POST"));
    let series =
        "cortex_scheduler_api_request_duration_seconds_count{error=\"invalid request method\",method=\"other\"";
    assert!(setting.counts(series));
}

#[tokio::test]
async fn the_path_is_exact() {
    for path in ["/scheduler/nova/external/", "/scheduler/nova", "/scheduler/nova/external/x", "/"] {
        assert_eq!(setting().send(Request::post(path).body(Body::empty()).unwrap()).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn requests_that_are_not_consistent_are_refused() {
    let mut negative = body("listed");
    spec(&mut negative)["num_instances"] = json!(-1);
    let hosts = |hosts: &[&str], weights: Value| {
        let hosts: Vec<Value> = hosts.iter().map(|host| json!({"host": host})).collect();
        json!({"hosts": hosts, "weights": weights, "pipeline": "listed"}).to_string()
    };
    for (body, text) in [
        (String::new(), "failed to decode request body: EOF while parsing a value at line 1 column 0"),
        (
            negative.to_string(),
            "failed to decode request body: spec.num_instances: expected a whole number from 0, found -1",
        ),
        (hosts(&["a", "b"], json!({"a": 0})), "missing weight for host: b"),
        (hosts(&["a"], json!({"a": 0, "z": 0})), "weight assigned to unknown host: z"),
        (hosts(&["a", "b"], json!({"a": 0, "z": 0})), "missing weight for host: b"),
        (hosts(&[], json!({})) + " x", "failed to decode request body: trailing characters at line 1 column 47"),
    ] {
        setting().post(body).await.is(400, &format!("{text}\n"));
    }
}

#[tokio::test]
async fn unknown_pipelines_are_refused() {
    let (hypervisor, flavor) = (
        "failed to determine hypervisor type from request data\n",
        "failed to determine flavor type from request data\n",
    );
    for (specs, text) in [
        (json!({}), hypervisor),
        (json!(null), hypervisor),
        (json!({"capabilities:hypervisor_type": "xen"}), hypervisor),
        (json!({"capabilities:hypervisor_type": "CH", "trait:CUSTOM_HANA_EXCLUSIVE_HOST": "maybe"}), flavor),
    ] {
        let mut request = body("");
        *extra_specs(&mut request) = specs;
        setting().post(request).await.is(400, text);
    }
}

/// 404 and 422 instead of 500.
#[tokio::test]
async fn a_wrong_hypervisor_type_is_refused() {
    let unknown = format!("{PROCESS}pipeline not found or not ready: \"nope\"\n");
    setting().post(body("nope")).await.is(404, &unknown);
    let mut request = body("listed");
    for (options, cause) in [
        (json!({"read_only": true}), "read-only runs must not write scheduling history: set SkipHistory=true"),
        (json!({"read_only": true, "skip_history": true}), "read-only runs cannot create inflight reservations"),
        (
            json!({"read_only": true, "skip_history": true, "skip_inflight": true}),
            "read-only runs must not write CR reservation allocations: set SkipCommittedResourceTracking=true",
        ),
    ] {
        request["options"] = options;
        setting().post(&request).await.is(422, &format!("{PROCESS}{cause}\n"));
    }
}

#[tokio::test]
async fn causes_of_gathering() {
    let mut request = body("gathering");
    *extra_specs(&mut request) = json!({"capabilities:hypervisor_type": "VMware vCenter Server"});
    let cause = "cannot gather all placement candidates for hypervisor type \"vmware vcenter server\"\n";
    setting().post(&request).await.is(400, &format!("{PROCESS}{cause}"));
    *extra_specs(&mut request) = json!({"a": "b\nc"});
    let cause = "missing hypervisor_type in flavor extra specs: {\"a\": \"b\\nc\"}\n";
    setting().post(&request).await.is(400, &format!("{PROCESS}{cause}"));
}

#[tokio::test]
async fn texts_stay_short_whatever_the_request_holds() {
    let mut request = body(&"n\u{7}".repeat(200_000));
    let seen = setting().post(&request).await;
    assert_eq!(seen.status, 404);
    assert!(seen.text.len() < 1100 && seen.text.lines().count() == 1, "{}", seen.text);
    request["pipeline"] = json!("gathering");
    *extra_specs(&mut request) = json!({"x": "y".repeat(1_000_000)});
    assert!(setting().post(&request).await.text.len() < 1100);
}

#[tokio::test]
async fn a_process_that_is_not_ready_reports_why_and_when_to_come_back() {
    let setting = setting();
    *setting.api.backend().not_ready.lock() = Some("hypervisors of cluster home are not read yet".to_owned());
    let mut request = body("listed");
    request["options"] = read_only();
    let seen = setting.post(request).await;
    seen.is(503, "not ready: hypervisors of cluster home are not read yet; try again\n");
    assert_eq!(seen.header("retry-after"), "1");
    assert!(setting.counts("cortex_scheduler_api_request_duration_seconds_count{error=\"not ready\""));
}
