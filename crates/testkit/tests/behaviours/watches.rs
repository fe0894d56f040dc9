//! Watches: where they start, what they deliver, and how they end.

use serde_json::{Value, json};

use crate::behaviours;
use crate::context::{Context, QUOTAS, RESERVATIONS, kept_slot, quota, reservation, text};

behaviours![
    watch_tells_in_order_what_happens_after_a_version,
    watch_without_a_version_begins_with_everything,
    watch_at_version_0_begins_with_everything,
    watch_tells_nothing_of_writes_without_a_difference,
    watch_tells_of_writes_of_the_status,
    watch_tells_of_the_end_with_the_last_state_and_a_new_version,
    watch_tells_of_a_deletion_that_waits_for_finalizers,
    watch_sees_objects_come_into_and_leave_its_selection,
    watch_of_one_name_tells_of_that_only,
    watch_ends_when_its_time_is_over,
    watch_has_a_bookmark_before_it_ends,
    watch_of_a_version_that_is_too_old_ends_with_410,
    watch_tells_of_other_kinds_nothing,
    watch_of_a_version_that_is_none_is_refused,
    watch_of_a_kind_that_is_removed_tells_of_the_objects_and_ends,
];

async fn after(context: &Context, version: &str, more: &str) -> crate::context::Watch {
    context.watch(RESERVATIONS, &format!("&resourceVersion={version}{more}")).await
}

async fn host(context: &Context, name: &str, host: &str) -> Value {
    context.merge(&reservation(name), json!({ "spec": { "targetHost": host } })).await.ok()
}

async fn watch_tells_in_order_what_happens_after_a_version(context: Context) {
    context.slot("before").await;
    let version = context.version().await;
    context.slot("b").await;
    context.slot("a").await;
    host(&context, "b", "h").await;
    let mut watch = after(&context, &version, "").await;
    assert_eq!(watch.names(3).await, ["ADDED b", "ADDED a", "MODIFIED b"]);
    context.delete(&reservation("a"), json!({})).await.ok();
    host(&context, "b", "other").await;
    assert_eq!(watch.names(2).await, ["DELETED a", "MODIFIED b"]);
}

async fn watch_without_a_version_begins_with_everything(context: Context) {
    context.slot("b").await;
    context.slot("a").await;
    let mut watch = context.watch(RESERVATIONS, "").await;
    assert_eq!(watch.names(2).await, ["ADDED a", "ADDED b"]);
    host(&context, "a", "h").await;
    assert_eq!(watch.names(1).await, ["MODIFIED a"]);
}

async fn watch_at_version_0_begins_with_everything(context: Context) {
    let made = context.slot("a").await;
    context.version().await;
    let mut watch = after(&context, "0", "").await;
    let (kind, object) = watch.next().await.unwrap();
    assert_eq!((kind.as_str(), object), ("ADDED", made));
}

async fn watch_tells_nothing_of_writes_without_a_difference(context: Context) {
    context.slot("a").await;
    let version = context.version().await;
    let mut watch = after(&context, &version, "").await;
    context.merge(&reservation("a"), json!({ "metadata": { "labels": {} } })).await.ok();
    context.slot("b").await;
    assert_eq!(watch.names(1).await, ["ADDED b"]);
}

async fn watch_tells_of_writes_of_the_status(context: Context) {
    context.slot("a").await;
    let version = context.version().await;
    let mut watch = after(&context, &version, "").await;
    let patch = json!({ "status": { "host": "h" } });
    let new = context.merge(&format!("{}/status", reservation("a")), patch).await.ok();
    assert_eq!(watch.next().await.unwrap(), ("MODIFIED".to_owned(), new));
}

async fn watch_tells_of_the_end_with_the_last_state_and_a_new_version(context: Context) {
    context.slot("a").await;
    let last = host(&context, "a", "h").await;
    let mut watch = after(&context, &text(&last, "resourceVersion"), "").await;
    context.delete(&reservation("a"), json!({})).await.ok();
    let (kind, object) = watch.next().await.unwrap();
    assert_eq!((kind.as_str(), &object["spec"]), ("DELETED", &last["spec"]));
    let version = |object: &Value| text(object, "resourceVersion").parse::<u64>().unwrap();
    assert!(version(&object) > version(&last));
}

async fn watch_tells_of_a_deletion_that_waits_for_finalizers(context: Context) {
    let made = context.create(RESERVATIONS, &kept_slot("a")).await.ok();
    let mut watch = after(&context, &text(&made, "resourceVersion"), "").await;
    context.delete(&reservation("a"), json!({})).await.ok();
    let (kind, object) = watch.next().await.unwrap();
    assert!(kind == "MODIFIED" && !text(&object, "deletionTimestamp").is_empty());
    context.merge(&reservation("a"), json!({ "metadata": { "finalizers": [] } })).await.ok();
    let (kind, object) = watch.next().await.unwrap();
    assert_eq!(kind, "DELETED");
    // The event has the object as it was stored last, with its finalizer.
    assert!(object["metadata"].get("finalizers").is_some(), "{object}");
}

async fn watch_sees_objects_come_into_and_leave_its_selection(context: Context) {
    context.slot("a").await;
    let version = context.version().await;
    let mut watch = after(&context, &version, "&fieldSelector=spec.targetHost%3Dh").await;
    host(&context, "a", "h").await;
    context.merge(&reservation("a"), json!({ "metadata": { "labels": { "x": "1" } } })).await.ok();
    let left = host(&context, "a", "other").await;
    host(&context, "a", "h").await;
    assert_eq!(watch.names(2).await, ["ADDED a", "MODIFIED a"]);
    let (kind, object) = watch.next().await.unwrap();
    assert_eq!((kind.as_str(), &object["spec"]["targetHost"]), ("DELETED", &json!("h")));
    assert_eq!(text(&object, "resourceVersion"), text(&left, "resourceVersion"));
    assert_eq!(watch.names(1).await, ["ADDED a"]);
}

async fn watch_of_one_name_tells_of_that_only(context: Context) {
    let version = context.version().await;
    let mut watch = after(&context, &version, "&fieldSelector=metadata.name%3Db").await;
    context.slot("a").await;
    context.slot("b").await;
    assert_eq!(watch.names(1).await, ["ADDED b"]);
}

async fn watch_ends_when_its_time_is_over(context: Context) {
    let version = context.version().await;
    let mut watch = after(&context, &version, "&timeoutSeconds=1").await;
    context.slot("a").await;
    assert_eq!(watch.names(1).await, ["ADDED a"]);
    watch.ends().await;
}

async fn watch_has_a_bookmark_before_it_ends(context: Context) {
    context.slot("a").await;
    let version = context.version().await;
    let mut watch = after(&context, &version, "&timeoutSeconds=4&allowWatchBookmarks=true").await;
    context.slot("b").await;
    assert_eq!(watch.names(1).await, ["ADDED b"]);
    let (kind, object) = watch.next().await.unwrap();
    assert_eq!((kind.as_str(), &object["kind"]), ("BOOKMARK", &json!("Reservation")));
    assert!(text(&object, "resourceVersion").parse::<u64>().unwrap() > version.parse().unwrap());
    assert!(object.get("spec").is_none_or(|spec| *spec == json!({})), "{object}");
}

async fn watch_of_a_version_that_is_too_old_ends_with_410(context: Context) {
    context.slot("a").await;
    host(&context, "a", "h").await;
    context.delete(&reservation("a"), json!({})).await.ok();
    let version = context.special.too_old();
    let mut watch = after(&context, &version, "").await;
    let (kind, status) = watch.next().await.unwrap();
    assert_eq!((kind.as_str(), &status["code"], &status["reason"]), ("ERROR", &json!(410), &json!("Expired")));
    assert!(status["message"].as_str().unwrap().starts_with("too old resource version: 1 ("), "{status}");
    watch.ends().await;
}

async fn watch_tells_of_other_kinds_nothing(context: Context) {
    let version = context.version().await;
    let mut watch = after(&context, &version, "").await;
    context.create(QUOTAS, &quota()).await.ok();
    context.slot("a").await;
    assert_eq!(watch.names(1).await, ["ADDED a"]);
}

async fn watch_of_a_version_that_is_none_is_refused(context: Context) {
    let answer = context.get(&format!("{RESERVATIONS}?watch=true&resourceVersion=nonsense")).await;
    assert!(answer.code >= 400, "{}", answer.text);
}

async fn watch_of_a_kind_that_is_removed_tells_of_the_objects_and_ends(context: Context) {
    let made = context.create(QUOTAS, &quota()).await.ok();
    let mut watch = context.watch(QUOTAS, &format!("&resourceVersion={}", text(&made, "resourceVersion"))).await;
    context.special.remove_quotas().await;
    assert_eq!(watch.names(1).await, ["DELETED quota-p-z"]);
    watch.ends().await;
    context.special.install_quotas().await;
}
