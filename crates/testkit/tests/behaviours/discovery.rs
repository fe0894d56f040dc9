//! Discovery, and kinds that are installed and removed.

use berth_cluster::{Cluster, Need, Verb, preflight};
use berth_core::ClusterName;
use berth_crds::{CommittedResource, Hypervisor, Knowledge, ProjectQuota, Reservation};
use serde_json::{Value, json};

use crate::behaviours;
use crate::context::{Context, QUOTAS, quota};

behaviours![
    the_version_is_1_36,
    a_group_reports_what_it_serves,
    groups_are_listed,
    an_unknown_kind_is_404_in_plain_text,
    an_unknown_group_is_404_in_plain_text,
    a_put_without_a_name_is_refused,
    rights_can_be_asked_for,
    preflight_finds_nothing_to_complain_of,
    a_kind_that_is_removed_and_installed_begins_empty,
];

async fn the_version_is_1_36(context: Context) {
    let body = context.get("/version").await.ok();
    assert_eq!((&body["major"], &body["minor"]), (&json!("1"), &json!("36")));
    assert!(body["gitVersion"].as_str().unwrap().starts_with("v1.36."), "{body}");
}

fn resource<'a>(list: &'a Value, name: &str) -> &'a Value {
    list["resources"].as_array().unwrap().iter().find(|one| one["name"] == name).unwrap()
}

async fn a_group_reports_what_it_serves(context: Context) {
    let body = context.get("/apis/cortex.cloud/v1alpha1").await.ok();
    assert_eq!((&body["kind"], &body["groupVersion"]), (&json!("APIResourceList"), &json!("cortex.cloud/v1alpha1")));
    let kind = resource(&body, "reservations");
    assert_eq!(
        (&kind["kind"], &kind["namespaced"], &kind["singularName"]),
        (&json!("Reservation"), &json!(false), &json!("reservation"))
    );
    let mut verbs: Vec<_> = kind["verbs"].as_array().unwrap().iter().map(|verb| verb.as_str().unwrap()).collect();
    verbs.sort_unstable();
    assert_eq!(verbs, ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]);
    assert_eq!(resource(&body, "reservations/status")["kind"], "Reservation");
    let body = context.get("/apis/coordination.k8s.io/v1").await.ok();
    assert_eq!(resource(&body, "leases")["namespaced"], true);
}

async fn groups_are_listed(context: Context) {
    let body = context.get("/apis").await.ok();
    let names: Vec<_> =
        body["groups"].as_array().unwrap().iter().map(|group| group["name"].as_str().unwrap()).collect();
    for name in ["cortex.cloud", "kvm.cloud.sap", "coordination.k8s.io", "events.k8s.io"] {
        assert!(names.contains(&name), "{names:?}");
    }
    let body = context.get("/apis/cortex.cloud").await.ok();
    assert_eq!(body["preferredVersion"]["groupVersion"], "cortex.cloud/v1alpha1");
    assert_eq!(context.get("/api").await.ok()["versions"], json!(["v1"]));
}

async fn an_unknown_kind_is_404_in_plain_text(context: Context) {
    for path in ["/apis/cortex.cloud/v1alpha1/nothings", "/apis/cortex.cloud/v1alpha1/nothings/a"] {
        let answer = context.get(path).await;
        assert_eq!((answer.code, answer.text.as_str()), (404, "404 page not found\n"));
    }
}

async fn an_unknown_group_is_404_in_plain_text(context: Context) {
    for path in ["/apis/nothing.test/v1", "/apis/cortex.cloud/v7", "/nothing"] {
        let answer = context.ask_quietly(http::Method::GET, path, "application/json", None).await;
        assert_eq!(answer.code, 404, "{}", answer.text);
    }
    assert_eq!(context.get("/apis/nothing.test/v1").await.text, "404 page not found\n");
}

async fn a_put_without_a_name_is_refused(context: Context) {
    context.put("/apis/cortex.cloud/v1alpha1/reservations", &json!({})).await.refused(400, "BadRequest");
}

async fn rights_can_be_asked_for(context: Context) {
    let attributes = json!({ "group": "cortex.cloud", "resource": "reservations", "verb": "list" });
    let review = json!({ "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
                         "spec": { "resourceAttributes": attributes } });
    let answer = context.create("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", &review).await;
    assert_eq!(answer.code, 201);
    assert_eq!(answer.ok()["status"]["allowed"], true);
}

async fn preflight_finds_nothing_to_complain_of(context: Context) {
    let cluster = Cluster { name: ClusterName::home(), client: context.client.clone() };
    let needs = [
        Need::kind::<CommittedResource>(Verb::READ),
        Need::kind::<Reservation>(&[Verb::Create, Verb::Patch, Verb::Delete]),
        Need::status::<Reservation>(&[Verb::Patch]),
        Need::kind::<Hypervisor>(Verb::READ),
        Need::kind::<Knowledge>(Verb::READ),
        Need::kind::<ProjectQuota>(Verb::READ),
        Need::namespaced("coordination.k8s.io", "v1", "leases", "default", &[Verb::Get, Verb::Create, Verb::Update]),
        Need::namespaced("events.k8s.io", "v1", "events", "default", &[Verb::Create, Verb::Patch]),
    ];
    assert_eq!(preflight(&cluster, &needs).await, Ok(()));
    context.get("/apis/events.k8s.io/v1").await.ok();
}

async fn a_kind_that_is_removed_and_installed_begins_empty(context: Context) {
    context.create(QUOTAS, &quota()).await.ok();
    context.special.remove_quotas().await;
    assert_eq!(context.get(QUOTAS).await.text, "404 page not found\n");
    assert_eq!(context.create(QUOTAS, &quota()).await.code, 404);
    context.special.install_quotas().await;
    assert_eq!(context.get(QUOTAS).await.ok()["items"], json!([]));
    context.create(QUOTAS, &quota()).await.ok();
}
