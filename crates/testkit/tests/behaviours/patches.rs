//! Patches: their changes and preconditions.

use http::Method;
use serde_json::{Value, json};

use crate::behaviours;
use crate::context::{Context, LEASES, lease, reservation, slot, text};

behaviours![
    merge_patch_takes_away_with_null,
    merge_patch_replaces_lists,
    merge_patch_without_a_difference_changes_nothing,
    merge_patch_of_an_old_version_is_a_conflict,
    merge_patch_with_another_uid_is_refused,
    merge_patch_of_nothing_is_404,
    merge_patch_that_renames_is_refused,
    merge_patch_leaves_what_belongs_to_the_server,
    merge_patch_leaves_the_status,
    merge_patch_must_be_an_object,
    status_patch_changes_the_status_only,
    status_patch_without_a_difference_changes_nothing,
    status_patch_of_an_old_version_is_a_conflict,
    status_patch_ignores_the_uid,
    status_patch_may_take_the_status_away,
    json_patch_changes_what_it_names,
    json_patch_with_a_test_that_fails_changes_nothing,
    json_patch_of_a_missing_path_is_refused,
    json_patch_of_the_status,
    json_patch_may_insist_on_a_version,
    strategic_merge_of_our_kinds_is_refused,
    a_patch_of_an_unknown_form_is_refused,
];

fn status(name: &str) -> String {
    format!("{}/status", reservation(name))
}

fn host(name: &str) -> Value {
    json!({ "spec": { "targetHost": name } })
}

async fn same(context: &Context, object: &Value) {
    assert_eq!(context.get(&reservation("a")).await.ok(), *object);
}

async fn merge_patch_takes_away_with_null(context: Context) {
    let mut object = slot("a");
    object["metadata"]["labels"] = json!({ "x": "1", "y": "2" });
    context.create(crate::context::RESERVATIONS, &object).await.ok();
    let patch = json!({ "metadata": { "labels": { "x": null, "none": null } }, "spec": { "schedulingDomain": null } });
    let new = context.merge(&reservation("a"), patch).await.ok();
    assert_eq!(new["metadata"]["labels"], json!({ "y": "2" }));
    assert!(new["spec"].get("schedulingDomain").is_none());
    assert_eq!(new["metadata"]["generation"], 2);
    let new = context.merge(&reservation("a"), json!({ "metadata": { "labels": null } })).await.ok();
    assert!(new["metadata"].get("labels").is_none());
}

async fn merge_patch_replaces_lists(context: Context) {
    context.slot("a").await;
    let first = json!({ "metadata": { "finalizers": ["berth.test/a", "berth.test/b"] } });
    context.merge(&reservation("a"), first).await.ok();
    let second = json!({ "metadata": { "finalizers": ["berth.test/c"] } });
    let new = context.merge(&reservation("a"), second).await.ok();
    assert_eq!(new["metadata"]["finalizers"], json!(["berth.test/c"]));
    assert_eq!(new["metadata"]["generation"], 1);
}

async fn merge_patch_without_a_difference_changes_nothing(context: Context) {
    let object = context.slot("a").await;
    for patch in
        [json!({}), json!({ "spec": { "targetHost": null } }), json!({ "spec": { "type": object["spec"]["type"] } })]
    {
        assert_eq!(context.merge(&reservation("a"), patch).await.ok(), object);
    }
    same(&context, &object).await;
}

async fn merge_patch_of_an_old_version_is_a_conflict(context: Context) {
    let old = text(&context.slot("a").await, "resourceVersion");
    let new = context.merge(&reservation("a"), host("h")).await.ok();
    let with_version =
        |version: &str| json!({ "metadata": { "resourceVersion": version }, "spec": { "targetHost": "other" } });
    context.merge(&reservation("a"), with_version(&old)).await.refused(409, "Conflict");
    same(&context, &new).await;
    context.merge(&reservation("a"), with_version(&text(&new, "resourceVersion"))).await.ok();
}

async fn merge_patch_with_another_uid_is_refused(context: Context) {
    let object = context.slot("a").await;
    let with_version = |uid: &str| json!({ "metadata": { "uid": uid }, "spec": { "targetHost": "h" } });
    let other = with_version("00000000-1111-4111-8111-111111111111");
    // A uid in a patch is no precondition but a change of an immutable field.
    context.merge(&reservation("a"), other).await.invalid(&["metadata.uid", "metadata.uid"]);
    same(&context, &object).await;
    context.merge(&reservation("a"), with_version(&text(&object, "uid"))).await.ok();
}

async fn merge_patch_of_nothing_is_404(context: Context) {
    context.merge(&reservation("none"), host("h")).await.refused(404, "NotFound");
    context.merge(&status("none"), json!({ "status": {} })).await.refused(404, "NotFound");
}

async fn merge_patch_that_renames_is_refused(context: Context) {
    context.slot("a").await;
    context.merge(&reservation("a"), json!({ "metadata": { "name": "b" } })).await.refused(400, "BadRequest");
}

async fn merge_patch_leaves_what_belongs_to_the_server(context: Context) {
    let object = context.slot("a").await;
    let patch = json!({ "metadata": { "generation": 9, "creationTimestamp": "2020-01-01T00:00:00Z" }, "spec": { "targetHost": "h" } });
    let new = context.merge(&reservation("a"), patch).await.ok();
    assert_eq!(new["metadata"]["generation"], 2);
    assert_eq!(text(&new, "creationTimestamp"), text(&object, "creationTimestamp"));
}

async fn merge_patch_leaves_the_status(context: Context) {
    context.slot("a").await;
    let object = context.merge(&status("a"), json!({ "status": { "host": "h" } })).await.ok();
    let new = context.merge(&reservation("a"), json!({ "status": { "host": "lost" } })).await.ok();
    assert_eq!(new, object);
    let new = context.merge(&reservation("a"), json!({ "status": null, "spec": { "targetHost": "h" } })).await.ok();
    assert_eq!(new["status"], json!({ "host": "h" }));
}

async fn merge_patch_must_be_an_object(context: Context) {
    context.slot("a").await;
    assert_eq!(context.merge(&reservation("a"), json!([])).await.code, 400);
}

async fn status_patch_changes_the_status_only(context: Context) {
    let old = context.slot("a").await;
    let patch = json!({ "metadata": { "labels": { "x": "1" }, "finalizers": ["berth.test/a"] },
                        "spec": { "targetHost": "lost" }, "status": { "host": "h" } });
    let new = context.merge(&status("a"), patch).await.ok();
    assert_eq!((&new["spec"], &new["status"]), (&old["spec"], &json!({ "host": "h" })));
    assert!(new["metadata"].get("labels").is_none() && new["metadata"].get("finalizers").is_none());
    assert_eq!(new["metadata"]["generation"], 1);
    assert_ne!(text(&new, "resourceVersion"), text(&old, "resourceVersion"));
}

async fn status_patch_without_a_difference_changes_nothing(context: Context) {
    context.slot("a").await;
    let patch = || json!({ "status": { "host": "h" } });
    let first = context.merge(&status("a"), patch()).await.ok();
    assert_eq!(context.merge(&status("a"), patch()).await.ok(), first);
}

async fn status_patch_of_an_old_version_is_a_conflict(context: Context) {
    let old = text(&context.slot("a").await, "resourceVersion");
    context.merge(&reservation("a"), host("h")).await.ok();
    let patch = json!({ "metadata": { "resourceVersion": old }, "status": { "host": "h" } });
    context.merge(&status("a"), patch).await.refused(409, "Conflict");
}

async fn status_patch_ignores_the_uid(context: Context) {
    context.slot("a").await;
    let patch = json!({ "metadata": { "uid": "00000000-1111-4111-8111-111111111111" }, "status": { "host": "h" } });
    let new = context.merge(&status("a"), patch).await.ok();
    assert_eq!(new["status"], json!({ "host": "h" }));
}

async fn status_patch_may_take_the_status_away(context: Context) {
    context.slot("a").await;
    context.merge(&status("a"), json!({ "status": { "host": "h" } })).await.ok();
    let new = context.merge(&status("a"), json!({ "status": null })).await.ok();
    assert!(new.get("status").is_none());
}

async fn json_patch_changes_what_it_names(context: Context) {
    context.slot("a").await;
    let patch = json!([
        { "op": "add", "path": "/metadata/finalizers", "value": ["berth.test/a"] },
        { "op": "add", "path": "/metadata/finalizers/-", "value": "berth.test/b" },
        { "op": "replace", "path": "/spec/resources/memory", "value": "960Gi" },
        { "op": "remove", "path": "/spec/schedulingDomain" },
    ]);
    let new = context.json_patch(&reservation("a"), patch).await.ok();
    assert_eq!(new["metadata"]["finalizers"], json!(["berth.test/a", "berth.test/b"]));
    assert_eq!((&new["spec"]["resources"]["memory"], &new["metadata"]["generation"]), (&json!("960Gi"), &json!(2)));
    assert!(new["spec"].get("schedulingDomain").is_none());
}

async fn json_patch_with_a_test_that_fails_changes_nothing(context: Context) {
    let object = context.slot("a").await;
    let patch = json!([
        { "op": "add", "path": "/spec/targetHost", "value": "h" },
        { "op": "test", "path": "/spec/type", "value": "Other" },
    ]);
    assert_eq!(context.json_patch(&reservation("a"), patch).await.code, 422);
    same(&context, &object).await;
}

async fn json_patch_of_a_missing_path_is_refused(context: Context) {
    context.slot("a").await;
    let remove = json!([{ "op": "remove", "path": "/spec/targetHost" }]);
    assert_eq!(context.json_patch(&reservation("a"), remove).await.code, 422);
    assert_eq!(context.json_patch(&reservation("a"), json!({ "op": "remove" })).await.code, 400);
}

async fn json_patch_of_the_status(context: Context) {
    context.slot("a").await;
    let patch = json!([
        { "op": "add", "path": "/status", "value": { "host": "h" } },
        { "op": "add", "path": "/spec/targetHost", "value": "lost" },
    ]);
    let new = context.json_patch(&status("a"), patch).await.ok();
    assert_eq!((&new["status"], new["spec"].get("targetHost")), (&json!({ "host": "h" }), None));
}

async fn json_patch_may_insist_on_a_version(context: Context) {
    let old = text(&context.slot("a").await, "resourceVersion");
    context.merge(&reservation("a"), host("h")).await.ok();
    let patch = json!([
        { "op": "replace", "path": "/metadata/resourceVersion", "value": old },
        { "op": "add", "path": "/spec/targetHost", "value": "other" },
    ]);
    context.json_patch(&reservation("a"), patch).await.refused(409, "Conflict");
}

async fn strategic_merge_of_our_kinds_is_refused(context: Context) {
    context.slot("a").await;
    let content = "application/strategic-merge-patch+json";
    let answer = context.ask(Method::PATCH, &reservation("a"), content, Some(&host("h"))).await;
    answer.refused(415, "UnsupportedMediaType");
}

async fn a_patch_of_an_unknown_form_is_refused(context: Context) {
    context.create(LEASES, &lease("a")).await.ok();
    let path = format!("{LEASES}/berth");
    let answer = context.ask(Method::PATCH, &path, "application/json", Some(&json!({}))).await;
    answer.refused(415, "UnsupportedMediaType");
}
