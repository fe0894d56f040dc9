//! The answers when hosts are found, and when none are.

use axum::http::Request;
use berth_scheduler::{Intent, SchedulerError};
use serde_json::{Value, json};

use super::setting::{body, extra_specs, read_only, setting, spec};
use crate::server::PATH;

#[tokio::test]
async fn the_answer_has_exactly_one_member() {
    let setting = setting();
    let seen = setting.post(body("listed")).await;
    seen.is(200, "{\"hosts\":[\"a\",\"b\",\"c\"]}\n");
    assert_eq!(seen.header("content-type"), "application/json");
    for pipeline in ["listed", "gathering", "capacity", "", "kvm-hana-bin-packing"] {
        let answer: Value = serde_json::from_str(&setting.post(body(pipeline)).await.text).unwrap();
        let members = answer.as_object().unwrap();
        assert!(members.len() == 1 && members["hosts"].is_array(), "{pipeline}: {answer}");
    }
}

/// An empty list, where the reference has `null`.
#[tokio::test]
async fn no_host_is_an_empty_list() {
    let mut large = body("capacity");
    spec(&mut large)["flavor"]["nova_object.data"]["vcpus"] = json!(4000);
    setting().post(large).await.is(200, "{\"hosts\":[]}\n");
    setting().post(json!({"pipeline": "listed"})).await.is(200, "{\"hosts\":[]}\n");
}

#[tokio::test]
async fn the_pipeline_is_inferred_from_the_request() {
    for kind in ["Qemu", "CH"] {
        let (setting, mut request) = (setting(), body(""));
        *extra_specs(&mut request) =
            json!({"capabilities:hypervisor_type": kind, "trait:CUSTOM_HANA_EXCLUSIVE_HOST": "Required"});
        assert_eq!(setting.post(request).await.status, 200);
        assert!(setting.counts("cortex_filter_weigher_pipeline_requests_total{pipeline=\"kvm-hana-bin-packing\"} 1"));
    }
}

#[tokio::test]
async fn the_smallest_requests() {
    let setting = setting();
    let minimal = r#"{"spec": {"nova_object.data": {"instance_uuid": "i", "num_instances": 1}},
        "hosts": [{"host": "a"}], "weights": {"a": 1.5}, "pipeline": "listed"}"#;
    setting.post(minimal).await.is(200, "{\"hosts\":[\"a\"]}\n");
    setting.post("null").await.is(400, "failed to determine hypervisor type from request data\n");
}

/// An error for clients of our own kind, an empty list for Nova.
#[tokio::test]
async fn a_filter_that_fails_removes_all_hosts() {
    let mut nothing = body("capacity");
    spec(&mut nothing)["flavor"]["nova_object.data"]["vcpus"] = json!(0);
    setting().post(&nothing).await.is(200, "{\"hosts\":[]}\n");
    spec(&mut nothing)["scheduler_hints"] = json!({"_nova_check_type": "evacuate"});
    setting().post(&nothing).await.is(200, "{\"hosts\":[]}\n");
    for intent in ["reserve_for_committed_resource", "reserve_for_failover", "capacity_probe"] {
        spec(&mut nothing)["scheduler_hints"] = json!({"_nova_check_type": intent});
        let seen = setting().post(&nothing).await;
        assert_eq!(seen.status, 400);
        let beginning = "failed to process scheduling decision: filter_has_enough_capacity failed: ";
        assert!(seen.text.starts_with(beginning), "{}", seen.text);
    }
}

#[tokio::test]
async fn what_was_decided_is_reported_before_it_is_answered() {
    let (setting, mut request) = (setting(), body("listed"));
    spec(&mut request)["scheduler_hints"] = json!({"_nova_check_type": ["resize"]});
    request["context"]["global_request_id"] = json!("g");
    setting.post(&request).await;
    request["pipeline"] = json!("nope");
    setting.post(&request).await;
    setting.post("{").await;
    let outcomes = setting.api.backend().outcomes.lock();
    assert_eq!(outcomes.len(), 2);
    assert_eq!((outcomes[0].request_id.as_str(), outcomes[0].global_request_id.as_str()), ("r", "g"));
    assert_eq!(outcomes[0].request.intent(), Some(Intent::Resize));
    assert_eq!(outcomes[0].result.as_ref().unwrap().hosts.len(), 3);
    assert_eq!(outcomes[1].result, Err(SchedulerError::Pipeline("nope".to_owned())));
}

#[tokio::test]
async fn the_content_type_does_not_matter_and_the_size_of_a_body_decides_nothing() {
    let (setting, mut request) = (setting(), body("listed"));
    request["ignored"] = json!("x".repeat(3 << 20));
    let sent = Request::post(PATH).header("content-type", "text/plain").body(request.to_string().into()).unwrap();
    setting.send(sent).await.is(200, "{\"hosts\":[\"a\",\"b\",\"c\"]}\n");
}

#[tokio::test]
async fn requests_and_runs_are_counted() {
    let (setting, mut request) = (setting(), body("listed"));
    request["options"] = read_only();
    setting.post(&request).await;
    for line in [
        "cortex_scheduler_api_request_duration_seconds_count{error=\"Success\",method=\"POST\",path=\"/scheduler/nova/\
            external\",status=\"200\"} 1",
        "berth_scheduler_api_requests_in_flight 0",
        "cortex_filter_weigher_pipeline_requests_total{pipeline=\"listed\"} 1",
        "cortex_filter_weigher_pipeline_host_number_in_sum{pipeline=\"listed\"} 3",
        "cortex_filter_weigher_pipeline_host_number_out_sum{pipeline=\"listed\"} 3",
        "cortex_filter_weigher_pipeline_run_duration_seconds_count{pipeline=\"listed\"} 1",
    ] {
        assert!(setting.counts(line), "{line} is not in\n{}", setting.metrics.render());
    }
}
