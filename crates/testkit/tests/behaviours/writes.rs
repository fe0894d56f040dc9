//! Creating and replacing objects.

use serde_json::{Value, json};

use crate::behaviours;
use crate::context::{COMMITMENTS, Context, RESERVATIONS, commitment, reservation, slot, text};

behaviours![
    create_gives_uid_generation_time_and_version,
    create_again_is_refused,
    create_makes_names,
    create_needs_a_name,
    create_refuses_names_of_wrong_letters,
    create_refuses_labels_of_wrong_letters,
    create_takes_no_version,
    create_takes_no_object_of_another_kind,
    create_gives_its_own_uid_and_generation,
    create_drops_the_status,
    create_as_a_dry_run_keeps_nothing,
    create_after_a_deletion_gives_another_uid,
    put_replaces_all_but_the_status,
    put_needs_a_version,
    put_of_an_old_version_is_a_conflict,
    put_with_another_uid_is_a_conflict,
    put_of_nothing_is_404,
    put_without_a_difference_changes_nothing,
    put_of_another_name_is_refused,
    put_of_a_status_changes_nothing_else,
    versions_of_all_kinds_grow_together,
];

fn count(object: &Value) -> (i64, String) {
    (object["metadata"]["generation"].as_i64().unwrap(), text(object, "resourceVersion"))
}

async fn create_gives_uid_generation_time_and_version(context: Context) {
    let answer = context.create(RESERVATIONS, &slot("a")).await;
    assert_eq!(answer.code, 201);
    let made = answer.ok();
    assert_eq!(text(&made, "uid").len(), 36);
    assert_eq!(count(&made).0, 1);
    let time = text(&made, "creationTimestamp");
    assert!(time.len() == 20 && time.ends_with('Z'), "{time}");
    assert!(count(&made).1.parse::<u64>().unwrap() > 0);
}

async fn create_again_is_refused(context: Context) {
    context.slot("a").await;
    let body = context.create(RESERVATIONS, &slot("a")).await.refused(409, "AlreadyExists");
    assert_eq!(body["message"], "reservations.cortex.cloud \"a\" already exists");
}

async fn create_makes_names(context: Context) {
    let mut object = slot("");
    object["metadata"] = json!({ "generateName": "slot-" });
    let mut names = Vec::new();
    for _ in 0..3 {
        names.push(text(&context.create(RESERVATIONS, &object).await.ok(), "name"));
    }
    assert!(names.iter().all(|name| name.starts_with("slot-") && name.len() == 10), "{names:?}");
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 3);
}

async fn create_needs_a_name(context: Context) {
    let mut object = slot("");
    object["metadata"] = json!({});
    let body = context.create(RESERVATIONS, &object).await.invalid(&["<nil>", "metadata.name"]);
    assert!(body["message"].as_str().unwrap().contains("name or generateName is required"));
}

async fn create_refuses_names_of_wrong_letters(context: Context) {
    for name in ["A", "a_b", "-a", "a..b"] {
        context.create(RESERVATIONS, &slot(name)).await.invalid(&["metadata.name"]);
    }
}

async fn create_refuses_labels_of_wrong_letters(context: Context) {
    for labels in [json!({ "x": "a b" }), json!({ "x y": "a" }), json!({ "x": "-" })] {
        let mut object = slot("a");
        object["metadata"]["labels"] = labels;
        context.create(RESERVATIONS, &object).await.invalid(&["metadata.labels"]);
    }
    let mut object = slot("a");
    object["metadata"]["labels"] = json!({ "x": 1 });
    assert_eq!(context.create(RESERVATIONS, &object).await.code, 400);
}

async fn create_takes_no_version(context: Context) {
    let mut object = slot("a");
    object["metadata"]["resourceVersion"] = json!("1");
    let answer = context.create(RESERVATIONS, &object).await;
    assert!(answer.code >= 400, "{}", answer.text);
    assert!(answer.text.contains("resourceVersion should not be set on objects to be created"), "{}", answer.text);
}

async fn create_takes_no_object_of_another_kind(context: Context) {
    let other = commitment("uuid-1");
    let answer = context.ask_quietly(http::Method::POST, RESERVATIONS, "application/json", Some(&other)).await;
    assert!(answer.code == 400 || answer.code == 422, "{}", answer.text);
    let mut object = slot("a");
    object["apiVersion"] = json!("cortex.cloud/v2");
    context.create(RESERVATIONS, &object).await.refused(400, "BadRequest");
}

async fn create_gives_its_own_uid_and_generation(context: Context) {
    let mut object = slot("a");
    object["metadata"]["uid"] = json!("mine");
    object["metadata"]["generation"] = json!(7);
    object["metadata"]["creationTimestamp"] = json!("2020-01-01T00:00:00Z");
    let made = context.create(RESERVATIONS, &object).await.ok();
    assert_ne!(text(&made, "uid"), "mine");
    assert_eq!(count(&made).0, 1);
    assert_ne!(text(&made, "creationTimestamp"), "2020-01-01T00:00:00Z");
}

async fn create_drops_the_status(context: Context) {
    let mut object = slot("a");
    object["status"] = json!({ "host": "h" });
    assert!(context.create(RESERVATIONS, &object).await.ok().get("status").is_none());
}

async fn create_as_a_dry_run_keeps_nothing(context: Context) {
    let query = format!("{RESERVATIONS}?dryRun=All");
    let made = context.create(&query, &slot("a")).await.ok();
    assert_eq!(text(&made, "name"), "a");
    context.get(&reservation("a")).await.refused(404, "NotFound");
    let mut wrong = slot("a");
    wrong["spec"]["type"] = json!("Other");
    context.create(&query, &wrong).await.refused(422, "Invalid");
}

async fn create_after_a_deletion_gives_another_uid(context: Context) {
    let first = context.slot("a").await;
    context.delete(&reservation("a"), json!({})).await.ok();
    let second = context.slot("a").await;
    assert_ne!(text(&first, "uid"), text(&second, "uid"));
    assert_ne!(count(&first).1, count(&second).1);
}

async fn put_replaces_all_but_the_status(context: Context) {
    let mut object = context.slot("a").await;
    context.merge(&format!("{}/status", reservation("a")), json!({ "status": { "host": "h" } })).await.ok();
    let version = text(&context.get(&reservation("a")).await.ok(), "resourceVersion");
    object["metadata"] = json!({ "name": "a", "resourceVersion": version, "labels": { "x": "1" } });
    object["spec"]["targetHost"] = json!("h");
    object["spec"].as_object_mut().unwrap().remove("schedulingDomain");
    object["status"] = json!({ "host": "lost" });
    let put = context.put(&reservation("a"), &object).await.ok();
    assert_eq!((&put["spec"], &put["status"]), (&object["spec"], &json!({ "host": "h" })));
    assert_eq!((count(&put).0, &put["metadata"]["labels"]), (2, &json!({ "x": "1" })));
    assert_ne!(count(&put).1, version);
}

async fn put_needs_a_version(context: Context) {
    context.slot("a").await;
    context.put(&reservation("a"), &slot("a")).await.invalid(&["metadata.resourceVersion"]);
}

async fn put_of_an_old_version_is_a_conflict(context: Context) {
    let old = context.slot("a").await;
    context.merge(&reservation("a"), json!({ "spec": { "targetHost": "h" } })).await.ok();
    let body = context.put(&reservation("a"), &old).await.refused(409, "Conflict");
    assert_eq!(
        body["message"],
        "Operation cannot be fulfilled on reservations.cortex.cloud \"a\": the object has been modified; please apply \
         your changes to the latest version and try again"
    );
}

async fn put_with_another_uid_is_a_conflict(context: Context) {
    let mut object = context.slot("a").await;
    object["metadata"]["uid"] = json!("00000000-1111-4111-8111-111111111111");
    object["spec"]["targetHost"] = json!("h");
    context.put(&reservation("a"), &object).await.refused(409, "Conflict");
}

async fn put_of_nothing_is_404(context: Context) {
    let mut object = slot("none");
    object["metadata"]["resourceVersion"] = json!("1");
    context.put(&reservation("none"), &object).await.refused(404, "NotFound");
}

async fn put_without_a_difference_changes_nothing(context: Context) {
    let object = context.slot("a").await;
    let put = context.put(&reservation("a"), &object).await.ok();
    assert_eq!(count(&put), count(&object));
}

async fn put_of_another_name_is_refused(context: Context) {
    let object = context.slot("a").await;
    context.put(&reservation("b"), &object).await.refused(400, "BadRequest");
}

async fn put_of_a_status_changes_nothing_else(context: Context) {
    let mut object = context.slot("a").await;
    let path = format!("{}/status", reservation("a"));
    object["status"] = json!({ "host": "h" });
    object["spec"]["targetHost"] = json!("lost");
    object["metadata"]["labels"] = json!({ "lost": "1" });
    let put = context.put(&path, &object).await.ok();
    assert_eq!((&put["status"], count(&put).0), (&json!({ "host": "h" }), 1));
    assert!(put["spec"].get("targetHost").is_none() && put["metadata"].get("labels").is_none());
    context.put(&path, &object).await.refused(409, "Conflict");
    assert_eq!(context.get(&path).await.ok(), put);
}

async fn versions_of_all_kinds_grow_together(context: Context) {
    let version = |object: &Value| count(object).1.parse::<u64>().unwrap();
    let first = version(&context.slot("a").await);
    let second = version(&context.create(COMMITMENTS, &commitment("uuid-1")).await.ok());
    let third = version(&context.slot("b").await);
    assert!(first < second && second < third, "{first} {second} {third}");
}
