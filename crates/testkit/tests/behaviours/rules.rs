//! Validation of objects: types, defaults, unknown fields, and the rules of our CRDs.

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::behaviours;
use crate::context::{
    COMMITMENTS, Context, HYPERVISORS, PIPELINES, QUOTAS, RESERVATIONS, commitment, condition, host, quota,
    reservation, slot,
};

behaviours![
    unknown_fields_are_dropped,
    fields_that_may_be_anything_are_kept,
    nulls_are_dropped_before_anything_is_checked,
    defaults_are_filled_in,
    a_default_that_is_taken_away_comes_back,
    required_fields_must_be_there,
    types_must_be_right,
    values_must_be_of_a_list,
    patterns_must_match,
    bounds_must_be_kept,
    times_must_be_times,
    quantities_keep_their_type,
    rules_are_checked_on_creation,
    rules_say_what_was_found,
    rules_about_changes_are_checked_on_updates,
    rules_wait_until_the_types_are_right,
    rules_of_lists_and_maps_name_the_element,
    times_are_compared_as_times,
    lists_by_type_have_each_type_once,
    lists_by_type_are_replaced_as_a_whole,
    a_status_is_checked_too,
    an_old_fault_that_is_left_alone_is_not_checked,
    an_old_fault_may_stay_beside_a_change,
    an_update_that_breaks_a_rule_changes_nothing,
];

/// The answer to the creation of a slot with a change of its spec.
async fn changed(context: &Context, change: Value) -> Answer {
    let mut object = slot("a");
    for (key, value) in change.as_object().unwrap() {
        object["spec"][key] = value.clone();
    }
    context.create(RESERVATIONS, &object).await
}

fn status() -> String {
    format!("{}/status", reservation("a"))
}

async fn unknown_fields_are_dropped(context: Context) {
    let mut object = slot("a");
    object["odd"] = json!(1);
    object["spec"]["odd"] = json!({ "deep": 1 });
    object["metadata"]["odd"] = json!("1");
    object["spec"]["committedResourceReservation"]["odd"] = json!(1);
    let made = context.create(RESERVATIONS, &object).await.ok();
    assert_eq!(made["spec"], slot("a")["spec"]);
    assert!(made.get("odd").is_none() && made["metadata"].get("odd").is_none());
    let same = context.merge(&reservation("a"), json!({ "spec": { "odd": 2 } })).await.ok();
    assert_eq!(same, made);
}

async fn fields_that_may_be_anything_are_kept(context: Context) {
    let mut object = pipeline();
    object["spec"]["filters"] = json!([{ "name": "f", "params": [{ "key": "k", "stringValue": "v" }] }]);
    let made = context.create(PIPELINES, &object).await.ok();
    assert_eq!(made["spec"]["filters"][0]["params"], object["spec"]["filters"][0]["params"]);
    let mut one = slot("a");
    one["spec"]["committedResourceReservation"]["allocations"] =
        json!({ "any-key": { "creationTimestamp": "2026-03-01T08:00:00Z", "resources": { "memory": "1Gi" } } });
    let made = context.create(RESERVATIONS, &one).await.ok();
    assert_eq!(made["spec"], one["spec"]);
}

async fn nulls_are_dropped_before_anything_is_checked(context: Context) {
    let made = changed(&context, json!({ "startTime": null, "targetHost": null })).await.ok();
    assert_eq!(made["spec"], slot("a")["spec"]);
}

fn pipeline() -> Value {
    json!({ "apiVersion": "cortex.cloud/v1alpha1", "kind": "Pipeline", "metadata": { "name": "p" },
            "spec": { "schedulingDomain": "nova", "type": "filter-weigher", "filters": [], "weighers": [] } })
}

async fn defaults_are_filled_in(context: Context) {
    let mut object = host();
    object.as_object_mut().unwrap().remove("spec");
    let without = context.create(HYPERVISORS, &object).await.ok();
    assert!(without.get("spec").is_none(), "{without}");
    let with = host();
    context.delete(&format!("{HYPERVISORS}/node1"), json!({})).await.ok();
    let made = context.create(HYPERVISORS, &with).await.ok();
    assert!(made["spec"].as_object().unwrap().len() >= 3, "{made}");
    let again = context.merge(&format!("{HYPERVISORS}/node1"), json!({ "spec": {} })).await.ok();
    assert_eq!(again, made);
}

async fn a_default_that_is_taken_away_comes_back(context: Context) {
    let made = context.create(HYPERVISORS, &host()).await.ok();
    let patch = json!({ "spec": { "lifecycleEnabled": null, "skipTests": null } });
    assert_eq!(context.merge(&format!("{HYPERVISORS}/node1"), patch).await.ok(), made);
}

async fn required_fields_must_be_there(context: Context) {
    let mut object = commitment("uuid-1");
    object["spec"].as_object_mut().unwrap().remove("projectID");
    context.create(COMMITMENTS, &object).await.invalid(&["<nil>", "spec.projectID"]);
    object.as_object_mut().unwrap().remove("spec");
    context.create(COMMITMENTS, &object).await.invalid(&["<nil>", "spec"]);
}

async fn types_must_be_right(context: Context) {
    changed(&context, json!({ "targetHost": 1 })).await.invalid(&["<nil>", "spec.targetHost"]);
    changed(&context, json!({ "resources": [] })).await.invalid(&["<nil>", "spec.resources"]);
    let memory = json!({ "resources": { "memory": true, "cpu": "1" } });
    changed(&context, memory).await.invalid(&["<nil>", "<nil>", "spec.resources.memory", "spec.resources.memory"]);
    let mut object = quota();
    object["spec"]["quota"] = json!({ "a": "1", "b": 1.5 });
    context.create(QUOTAS, &object).await.invalid(&["<nil>", "<nil>", "spec.quota.a", "spec.quota.b"]);
}

async fn values_must_be_of_a_list(context: Context) {
    let mut object = commitment("uuid-1");
    object["spec"]["state"] = json!("waiting");
    let body = context.create(COMMITMENTS, &object).await.invalid(&["<nil>", "spec.state"]);
    assert!(body["message"].as_str().unwrap().contains("Unsupported value: \"waiting\""), "{body}");
}

async fn patterns_must_match(context: Context) {
    let mut object = commitment("uuid-1");
    object["spec"]["amount"] = json!("0.5Gi");
    let fields = context.create(COMMITMENTS, &object).await.refused(422, "Invalid");
    assert!(fields["message"].as_str().unwrap().contains("spec.amount in body should match"), "{fields}");
}

async fn bounds_must_be_kept(context: Context) {
    let mut object = quota();
    object["spec"]["quota"] = json!({ "a": -1 });
    let body = context.create(QUOTAS, &object).await.invalid(&["spec.quota.a"]);
    assert!(body["message"].as_str().unwrap().contains("should be greater than or equal to 0"), "{body}");
    let mut object = commitment("uuid-1");
    object["spec"]["projectID"] = json!("");
    let body = context.create(COMMITMENTS, &object).await.invalid(&["spec.projectID"]);
    assert!(body["message"].as_str().unwrap().contains("should be at least 1 chars long"), "{body}");
}

async fn times_must_be_times(context: Context) {
    changed(&context, json!({ "startTime": "soon" })).await.refused(422, "Invalid");
    changed(&context, json!({ "startTime": "2026-03-01T08:00:00.123+02:00" })).await.ok();
}

async fn quantities_keep_their_type(context: Context) {
    let made = changed(&context, json!({ "resources": { "memory": "480Gi", "cpu": 30 } })).await.ok();
    assert_eq!(made["spec"]["resources"], json!({ "memory": "480Gi", "cpu": 30 }));
    let same = context.merge(&reservation("a"), json!({ "spec": { "resources": { "cpu": 30 } } })).await.ok();
    assert_eq!(same["metadata"]["generation"], 1);
    let other = context.merge(&reservation("a"), json!({ "spec": { "resources": { "cpu": "30" } } })).await.ok();
    assert_eq!(other["metadata"]["generation"], 2);
}

async fn rules_are_checked_on_creation(context: Context) {
    changed(&context, json!({ "failoverReservation": {} })).await.invalid(&["spec.failoverReservation"]);
    changed(&context, json!({ "resources": { "memory": "0", "cpu": "1" } })).await.invalid(&["spec.resources"]);
    changed(&context, json!({ "resources": { "memory": "1Gi" } })).await.invalid(&["spec.resources"]);
    changed(&context, json!({ "type": "InFlightReservation" })).await.refused(422, "Invalid");
}

async fn rules_say_what_was_found(context: Context) {
    let mut object = commitment("UUID-1");
    object["metadata"]["name"] = json!("other");
    let body = context.create(COMMITMENTS, &object).await.refused(422, "Invalid");
    let message = body["message"].as_str().unwrap();
    let found = "metadata.name is other, but must be commitment-uuid-1, after spec.commitmentUUID";
    assert!(message.contains(found), "{message}");
    object["metadata"]["name"] = json!("commitment-uuid-1");
    context.create(COMMITMENTS, &object).await.ok();
}

async fn rules_about_changes_are_checked_on_updates(context: Context) {
    context.create(COMMITMENTS, &commitment("uuid-1")).await.ok();
    let path = format!("{COMMITMENTS}/commitment-uuid-1");
    let patch = json!({ "spec": { "commitmentUUID": "uuid-2" } });
    let body = context.merge(&path, patch).await.invalid(&["spec.commitmentUUID"]);
    assert!(body["message"].as_str().unwrap().contains("commitmentUUID cannot be changed"), "{body}");
    context.merge(&path, json!({ "spec": { "amount": "1920Gi" } })).await.ok();
}

async fn rules_wait_until_the_types_are_right(context: Context) {
    let wrong = json!({ "targetHost": 1, "failoverReservation": {} });
    let body = changed(&context, wrong).await.invalid(&["<nil>", "spec.targetHost"]);
    assert!(body["message"].as_str().unwrap().contains("some validation rules were not checked"), "{body}");
}

async fn rules_of_lists_and_maps_name_the_element(context: Context) {
    let mut object = host();
    object["spec"]["groups"] = json!([{ "trait": { "name": "A" } }, {}]);
    context.create(HYPERVISORS, &object).await.invalid(&["spec.groups[1]"]);
    let mut object = host();
    object["spec"]["overcommit"] = json!({ "cpu": 0.5 });
    context.create(HYPERVISORS, &object).await.invalid(&["spec.overcommit"]);
    object["spec"]["overcommit"] = json!({ "cpu": 1 });
    context.create(HYPERVISORS, &object).await.ok();
}

async fn times_are_compared_as_times(context: Context) {
    let times = |start: &str, end: &str| json!({ "startTime": start, "endTime": end });
    changed(&context, times("2026-03-01T10:00:00+02:00", "2026-03-01T09:00:00Z")).await.ok();
    context.delete(&reservation("a"), json!({})).await.ok();
    let wrong = times("2026-03-01T08:00:00-02:00", "2026-03-01T09:00:00Z");
    changed(&context, wrong).await.invalid(&["spec.endTime"]);
}

async fn lists_by_type_have_each_type_once(context: Context) {
    context.slot("a").await;
    let twice = json!({ "status": { "conditions": [condition("Ready", "True"), condition("Ready", "False")] } });
    let body = context.merge(&status(), twice).await.invalid(&["status.conditions[1]"]);
    assert!(body["message"].as_str().unwrap().contains("Duplicate value: {\"type\":\"Ready\"}"), "{body}");
}

async fn lists_by_type_are_replaced_as_a_whole(context: Context) {
    context.slot("a").await;
    let conditions = |all: Value| json!({ "status": { "conditions": all } });
    context.merge(&status(), conditions(json!([condition("Ready", "True")]))).await.ok();
    let new = context.merge(&status(), conditions(json!([condition("Other", "True")]))).await.ok();
    assert_eq!(new["status"]["conditions"], json!([condition("Other", "True")]));
}

async fn a_status_is_checked_too(context: Context) {
    context.slot("a").await;
    let conditions = |all: Value| json!({ "status": { "conditions": all } });
    let wrong = conditions(json!([condition("Ready", "Perhaps")]));
    context.merge(&status(), wrong).await.invalid(&["<nil>", "status.conditions[0].status"]);
    let mut lacking = condition("Ready", "True");
    lacking.as_object_mut().unwrap().remove("message");
    let body = context.merge(&status(), conditions(json!([lacking]))).await.refused(422, "Invalid");
    assert!(body["message"].as_str().unwrap().contains("status.conditions[0].message: Required value"), "{body}");
    let extra = json!({ "status": { "host": "h", "odd": 1 } });
    assert_eq!(context.merge(&status(), extra).await.ok()["status"], json!({ "host": "h" }));
}

async fn an_old_fault_that_is_left_alone_is_not_checked(context: Context) {
    let mut old = slot("a");
    old["spec"]["resources"] = json!({ "memory": "0.5Gi", "disk": "1" });
    context.special.store_old(&old).await;
    context.merge(&status(), json!({ "status": { "host": "h" } })).await.ok();
    context.merge(&reservation("a"), json!({ "metadata": { "finalizers": ["berth.test/a"] } })).await.ok();
    let body = context.merge(&reservation("a"), json!({ "spec": { "targetHost": "h" } })).await.refused(422, "Invalid");
    assert!(body["message"].as_str().unwrap().contains("resources must have the keys memory and cpu"), "{body}");
    context.merge(&reservation("a"), json!({ "metadata": { "finalizers": null } })).await.ok();
    context.delete(&reservation("a"), json!({})).await.ok();
}

async fn an_old_fault_may_stay_beside_a_change(context: Context) {
    let mut old = slot("a");
    old["spec"]["startTime"] = json!("2026-03-01T01:00:00+02:00");
    old["spec"]["endTime"] = json!("2026-02-28T22:30:00Z");
    for field in ["resourceName", "resourceGroup", "projectID"] {
        old["spec"]["committedResourceReservation"][field] = json!("");
    }
    context.special.store_old(&old).await;
    let change = json!({ "spec": { "targetHost": "h", "committedResourceReservation": { "parentGeneration": 9 } } });
    context.merge(&reservation("a"), change).await.ok();
    let corrected = json!({ "spec": { "endTime": "2026-03-01T00:00:00Z",
                                      "committedResourceReservation": { "resourceName": "f" } } });
    context.merge(&reservation("a"), corrected).await.ok();
    let again = json!({ "spec": { "endTime": "2026-02-28T22:30:00Z",
                                  "committedResourceReservation": { "resourceName": null } } });
    let fields = ["spec.committedResourceReservation.resourceName", "spec.endTime"];
    context.merge(&reservation("a"), again).await.invalid(&fields);
}

async fn an_update_that_breaks_a_rule_changes_nothing(context: Context) {
    let object = context.slot("a").await;
    let patch = json!({ "spec": { "targetHost": "h", "type": "FailoverReservation" } });
    let fields = ["spec.committedResourceReservation", "spec.failoverReservation", "spec.type"];
    context.merge(&reservation("a"), patch).await.invalid(&fields);
    assert_eq!(context.get(&reservation("a")).await.ok(), object);
}
