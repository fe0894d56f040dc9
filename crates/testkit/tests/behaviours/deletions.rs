//! Deletion, its preconditions, and finalizers.

use serde_json::{Value, json};

use crate::behaviours;
use crate::context::{Context, FINALIZER, RESERVATIONS, kept_slot, reservation, slot, text};

behaviours![
    delete_reports_what_is_gone,
    delete_of_nothing_is_404,
    delete_may_insist_on_a_uid,
    delete_may_insist_on_a_version,
    delete_without_options_is_taken,
    a_finalizer_keeps_an_object_that_is_deleted,
    a_second_deletion_changes_nothing,
    the_last_finalizer_ends_an_object,
    a_dying_object_takes_no_new_finalizer,
    a_dying_object_can_still_be_changed,
    a_dying_object_cannot_be_created_again,
    finalizers_have_names_of_certain_letters,
    deletion_of_many_takes_those_selected,
];

async fn kept(context: &Context, name: &str) -> Value {
    context.create(RESERVATIONS, &kept_slot(name)).await.ok()
}

async fn dying(context: &Context) -> Value {
    kept(context, "a").await;
    context.delete(&reservation("a"), json!({})).await.ok()
}

async fn delete_reports_what_is_gone(context: Context) {
    let made = context.slot("a").await;
    let body = context.delete(&reservation("a"), json!({})).await.ok();
    assert_eq!((&body["kind"], &body["status"]), (&json!("Status"), &json!("Success")));
    let details = json!({ "name": "a", "group": "cortex.cloud", "kind": "reservations", "uid": text(&made, "uid") });
    assert_eq!(body["details"], details);
    context.get(&reservation("a")).await.refused(404, "NotFound");
}

async fn delete_of_nothing_is_404(context: Context) {
    context.delete(&reservation("none"), json!({})).await.refused(404, "NotFound");
}

async fn delete_may_insist_on_a_uid(context: Context) {
    let made = context.slot("a").await;
    let options = |uid: &str| json!({ "preconditions": { "uid": uid } });
    let wrong = options("00000000-1111-4111-8111-111111111111");
    let body = context.delete(&reservation("a"), wrong).await.refused(409, "Conflict");
    assert!(body["message"].as_str().unwrap().contains("does not match the UID in record"), "{body}");
    context.delete(&reservation("a"), options(&text(&made, "uid"))).await.ok();
}

async fn delete_may_insist_on_a_version(context: Context) {
    let old = text(&context.slot("a").await, "resourceVersion");
    let new = context.merge(&reservation("a"), json!({ "spec": { "targetHost": "h" } })).await.ok();
    let options = |version: &str| json!({ "preconditions": { "resourceVersion": version } });
    context.delete(&reservation("a"), options(&old)).await.refused(409, "Conflict");
    context.delete(&reservation("a"), options(&text(&new, "resourceVersion"))).await.ok();
}

async fn delete_without_options_is_taken(context: Context) {
    context.slot("a").await;
    context.ask(http::Method::DELETE, &reservation("a"), "application/json", None).await.ok();
}

async fn a_finalizer_keeps_an_object_that_is_deleted(context: Context) {
    let made = kept(&context, "a").await;
    let dying = context.delete(&reservation("a"), json!({})).await.ok();
    assert_eq!(dying["kind"], "Reservation");
    assert_eq!(
        (&dying["metadata"]["generation"], &dying["metadata"]["deletionGracePeriodSeconds"]),
        (&json!(2), &json!(0))
    );
    assert!(!text(&dying, "deletionTimestamp").is_empty());
    assert_ne!(text(&dying, "resourceVersion"), text(&made, "resourceVersion"));
    assert_eq!(context.get(&reservation("a")).await.ok(), dying);
}

async fn a_second_deletion_changes_nothing(context: Context) {
    let dying = dying(&context).await;
    assert_eq!(context.delete(&reservation("a"), json!({})).await.ok(), dying);
}

async fn the_last_finalizer_ends_an_object(context: Context) {
    dying(&context).await;
    let last = context.merge(&reservation("a"), json!({ "metadata": { "finalizers": null } })).await.ok();
    assert_eq!(text(&last, "name"), "a");
    context.get(&reservation("a")).await.refused(404, "NotFound");
    context.slot("a").await;
}

async fn a_dying_object_takes_no_new_finalizer(context: Context) {
    dying(&context).await;
    let more = json!({ "metadata": { "finalizers": [FINALIZER, "berth.test/more"] } });
    let body = context.merge(&reservation("a"), more).await.invalid(&["metadata.finalizers", "metadata.finalizers"]);
    let message = body["message"].as_str().unwrap();
    assert!(message.contains("no new finalizers can be added if the object is being deleted"), "{message}");
}

async fn a_dying_object_can_still_be_changed(context: Context) {
    dying(&context).await;
    let new = context.merge(&reservation("a"), json!({ "spec": { "targetHost": "h" } })).await.ok();
    assert_eq!(new["metadata"]["generation"], 3);
    let path = format!("{}/status", reservation("a"));
    let new = context.merge(&path, json!({ "status": { "host": "h" } })).await.ok();
    assert_eq!((&new["metadata"]["generation"], &new["status"]["host"]), (&json!(3), &json!("h")));
    let patch = json!({ "metadata": { "deletionTimestamp": null } });
    let new = context.merge(&reservation("a"), patch).await.ok();
    assert!(!text(&new, "deletionTimestamp").is_empty());
}

async fn a_dying_object_cannot_be_created_again(context: Context) {
    dying(&context).await;
    context.create(RESERVATIONS, &slot("a")).await.refused(409, "AlreadyExists");
}

async fn finalizers_have_names_of_certain_letters(context: Context) {
    let mut object = slot("a");
    object["metadata"]["finalizers"] = json!(["a b"]);
    let answer = context.create(RESERVATIONS, &object).await;
    assert_eq!(answer.code, 422, "{}", answer.text);
}

async fn deletion_of_many_takes_those_selected(context: Context) {
    for (name, label) in [("a", "1"), ("b", "2"), ("c", "1")] {
        let mut object = slot(name);
        object["metadata"]["labels"] = json!({ "x": label });
        context.create(RESERVATIONS, &object).await.ok();
    }
    context.delete(&format!("{RESERVATIONS}?labelSelector=x%3D1"), json!({})).await.ok();
    let left = context.get(RESERVATIONS).await.ok();
    assert_eq!(left["items"].as_array().unwrap().len(), 1);
    assert_eq!(text(&left["items"][0], "name"), "b");
}
