//! Leases and Events as far as we use them.

use serde_json::{Value, json};

use crate::behaviours;
use crate::context::{Context, EVENTS, LEASES, lease, text};

behaviours![
    a_lease_is_created_read_and_taken_over_by_its_version,
    a_lease_of_an_old_version_is_a_conflict,
    a_lease_needs_a_version_to_be_replaced,
    a_lease_that_is_put_in_place_of_nothing_is_created,
    a_lease_has_a_duration_above_0,
    a_lease_is_at_the_path_of_its_namespace,
    a_lease_patch_may_insist_on_a_version,
    leases_of_all_namespaces_are_listed_together,
    a_watch_of_a_namespace_tells_of_its_leases,
    an_event_is_created_and_its_series_patched,
    an_event_needs_what_the_api_reports,
];

fn path() -> String {
    format!("{LEASES}/berth")
}

async fn a_lease_is_created_read_and_taken_over_by_its_version(context: Context) {
    let mut made = context.create(LEASES, &lease("a")).await.ok();
    assert_eq!(context.get(&path()).await.ok(), made);
    assert_eq!((text(&made, "namespace").as_str(), made["metadata"].get("generation")), ("default", None));
    made["spec"]["holderIdentity"] = json!("b");
    made["spec"]["leaseTransitions"] = json!(1);
    let put = context.put(&path(), &made).await.ok();
    assert_eq!(put["spec"], made["spec"]);
    assert_ne!(text(&put, "resourceVersion"), text(&made, "resourceVersion"));
    assert_eq!(context.put(&path(), &put).await.ok(), put);
}

async fn a_lease_of_an_old_version_is_a_conflict(context: Context) {
    let made = context.create(LEASES, &lease("a")).await.ok();
    let put = |holder: &str| {
        let mut object = made.clone();
        object["spec"]["holderIdentity"] = json!(holder);
        object
    };
    context.put(&path(), &put("b")).await.ok();
    let body = context.put(&path(), &put("c")).await.refused(409, "Conflict");
    assert!(body["message"].as_str().unwrap().contains("leases.coordination.k8s.io \"berth\""), "{body}");
    context.create(LEASES, &lease("d")).await.refused(409, "AlreadyExists");
}

async fn a_lease_needs_a_version_to_be_replaced(context: Context) {
    context.create(LEASES, &lease("a")).await.ok();
    context.put(&path(), &lease("b")).await.invalid(&["metadata.resourceVersion"]);
}

async fn a_lease_that_is_put_in_place_of_nothing_is_created(context: Context) {
    let answer = context.put(&path(), &lease("a")).await;
    assert_eq!(answer.code, 201, "{}", answer.text);
    assert!(!text(&answer.ok(), "uid").is_empty());
}

async fn a_lease_has_a_duration_above_0(context: Context) {
    let mut object = lease("a");
    object["spec"]["leaseDurationSeconds"] = json!(0);
    context.create(LEASES, &object).await.invalid(&["spec.leaseDurationSeconds"]);
}

async fn a_lease_is_at_the_path_of_its_namespace(context: Context) {
    context.create(LEASES, &lease("a")).await.ok();
    let elsewhere = LEASES.replace("/default/", "/kube-system/");
    context.get(&format!("{elsewhere}/berth")).await.refused(404, "NotFound");
    let mut object = lease("a");
    object["metadata"]["namespace"] = json!("kube-system");
    context.create(LEASES, &object).await.refused(400, "BadRequest");
}

async fn a_lease_patch_may_insist_on_a_version(context: Context) {
    let made = context.create(LEASES, &lease("a")).await.ok();
    let patch = |holder: &str| {
        let version = text(&made, "resourceVersion");
        json!({ "metadata": { "resourceVersion": version }, "spec": { "holderIdentity": holder } })
    };
    let new = context.merge(&path(), patch("b")).await.ok();
    assert_eq!(new["spec"]["holderIdentity"], "b");
    context.merge(&path(), patch("c")).await.refused(409, "Conflict");
}

async fn leases_of_all_namespaces_are_listed_together(context: Context) {
    context.create(LEASES, &lease("a")).await.ok();
    let all = context.get("/apis/coordination.k8s.io/v1/leases").await.ok();
    let names = |list: &Value| {
        let items = list["items"].as_array().unwrap().iter();
        items.map(|one| (text(one, "namespace"), text(one, "name"))).collect::<Vec<_>>()
    };
    assert!(names(&all).contains(&("default".to_owned(), "berth".to_owned())), "{all}");
    let here = context.get(&format!("{LEASES}?fieldSelector=metadata.name%3Dberth")).await.ok();
    assert_eq!((here["kind"].as_str(), names(&here).len()), (Some("LeaseList"), 1));
}

async fn a_watch_of_a_namespace_tells_of_its_leases(context: Context) {
    let version = text(&context.get(LEASES).await.ok(), "resourceVersion");
    let mut watch = context.watch(LEASES, &format!("&resourceVersion={version}")).await;
    context.create(LEASES, &lease("a")).await.ok();
    context.merge(&path(), json!({ "spec": { "holderIdentity": "b" } })).await.ok();
    assert_eq!(watch.names(2).await, ["ADDED berth", "MODIFIED berth"]);
}

fn event() -> Value {
    json!({ "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": { "name": "e" },
            "eventTime": "2026-03-01T08:00:00.000000Z", "reportingController": "berth.test/controller",
            "reportingInstance": "berth-0", "action": "Place", "reason": "Placed", "type": "Normal", "note": "on node1",
            "regarding": { "apiVersion": "cortex.cloud/v1alpha1", "kind": "Reservation", "name": "a" } })
}

async fn an_event_is_created_and_its_series_patched(context: Context) {
    let made = context.create(EVENTS, &event()).await.ok();
    assert_eq!((&made["note"], &made["reason"]), (&json!("on node1"), &json!("Placed")));
    let series = json!({ "count": 2, "lastObservedTime": "2026-03-01T08:01:00.000000Z" });
    let new = context.merge(&format!("{EVENTS}/e"), json!({ "series": series })).await.ok();
    assert_eq!(new["series"], series);
}

async fn an_event_needs_what_the_api_reports(context: Context) {
    for field in ["reportingController", "reportingInstance", "action", "reason", "type", "eventTime"] {
        let mut object = event();
        object.as_object_mut().unwrap().remove(field);
        let answer = context.ask_quietly(http::Method::POST, EVENTS, "application/json", Some(&object)).await;
        assert_eq!(answer.code, 422, "{field}: {}", answer.text);
    }
    let mut object = event();
    object["type"] = json!("Odd");
    assert_eq!(context.create(EVENTS, &object).await.code, 422);
}
