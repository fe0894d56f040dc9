//! Reading one object, and lists.

use serde_json::{Value, json};

use crate::behaviours;
use crate::context::{Context, RESERVATIONS, reservation, slot, text};

behaviours![
    get_of_nothing_is_404_and_reports_what_was_meant,
    get_gives_what_was_created,
    get_at_version_0_gives_the_object,
    list_has_kind_version_and_items,
    list_is_in_the_order_of_names,
    list_of_nothing_has_no_items,
    list_comes_in_pages_of_one_state,
    list_tells_no_rest_when_it_selects,
    list_of_an_exact_version_is_what_was_then,
    list_of_an_exact_version_comes_in_pages,
    list_may_ask_for_no_older_than,
    list_of_a_version_to_come_times_out,
    list_with_a_match_and_no_version_is_refused,
    list_that_goes_on_takes_no_version,
    list_refuses_a_token_that_is_none,
    list_selects_by_name,
    list_selects_by_the_fields_of_reservations,
    list_refuses_a_field_that_is_not_selectable,
    list_selects_by_labels,
];

fn names(list: &Value) -> Vec<String> {
    list["items"].as_array().unwrap().iter().map(|object| text(object, "name")).collect()
}

async fn list(context: &Context, query: &str) -> Value {
    context.get(&format!("{RESERVATIONS}?{query}")).await.ok()
}

async fn five(context: &Context) {
    for name in ["a", "b", "c", "d", "e"] {
        context.slot(name).await;
    }
}

async fn get_of_nothing_is_404_and_reports_what_was_meant(context: Context) {
    let body = context.get(&reservation("none")).await.refused(404, "NotFound");
    assert_eq!(body["message"], "reservations.cortex.cloud \"none\" not found");
    assert_eq!(body["details"], json!({ "name": "none", "group": "cortex.cloud", "kind": "reservations" }));
}

async fn get_gives_what_was_created(context: Context) {
    let made = context.slot("a").await;
    let read = context.get(&reservation("a")).await.ok();
    assert_eq!(read, made);
    assert_eq!(read["spec"], slot("a")["spec"]);
    assert_eq!((&read["kind"], &read["apiVersion"]), (&json!("Reservation"), &json!("cortex.cloud/v1alpha1")));
}

async fn get_at_version_0_gives_the_object(context: Context) {
    let made = context.slot("a").await;
    // It may come from a cache that is behind.
    let read =
        context.ask_quietly(http::Method::GET, &format!("{}?resourceVersion=0", reservation("a")), "", None).await;
    assert!(read.code == 404 || read.body == made);
    assert_eq!(context.get(&reservation("a")).await.ok(), made);
}

async fn list_has_kind_version_and_items(context: Context) {
    let made = context.slot("a").await;
    let list = list(&context, "").await;
    assert_eq!((&list["kind"], &list["apiVersion"]), (&json!("ReservationList"), &json!("cortex.cloud/v1alpha1")));
    assert_eq!(list["items"], json!([made]));
    assert!(text(&list, "resourceVersion").parse::<u64>().unwrap() >= text(&made, "resourceVersion").parse().unwrap());
    assert!(list["metadata"].get("continue").is_none_or(|token| token == ""));
}

async fn list_is_in_the_order_of_names(context: Context) {
    for name in ["b", "a.b", "a", "a-b"] {
        context.slot(name).await;
    }
    assert_eq!(names(&list(&context, "").await), ["a", "a-b", "a.b", "b"]);
}

async fn list_of_nothing_has_no_items(context: Context) {
    assert_eq!(list(&context, "limit=5").await["items"], json!([]));
}

async fn list_comes_in_pages_of_one_state(context: Context) {
    five(&context).await;
    let first = list(&context, "limit=2").await;
    assert_eq!(
        (names(&first), &first["metadata"]["remainingItemCount"]),
        (vec!["a".to_owned(), "b".to_owned()], &json!(3))
    );
    context.delete(&reservation("d"), json!({})).await.ok();
    context.slot("f").await;
    let second = list(&context, &format!("limit=2&continue={}", text(&first, "continue"))).await;
    assert_eq!(names(&second), ["c", "d"]);
    assert_eq!(text(&second, "resourceVersion"), text(&first, "resourceVersion"));
    let third = list(&context, &format!("limit=2&continue={}", text(&second, "continue"))).await;
    assert_eq!((names(&third), text(&third, "continue")), (vec!["e".to_owned()], String::new()));
}

async fn list_tells_no_rest_when_it_selects(context: Context) {
    five(&context).await;
    let first = list(&context, "limit=2&fieldSelector=metadata.name!%3Dc").await;
    assert!(!text(&first, "continue").is_empty());
    assert!(first["metadata"].get("remainingItemCount").is_none(), "{}", first["metadata"]);
    let rest = list(&context, &format!("fieldSelector=metadata.name!%3Dc&continue={}", text(&first, "continue"))).await;
    assert_eq!(names(&rest), ["d", "e"]);
}

async fn list_of_an_exact_version_is_what_was_then(context: Context) {
    context.slot("a").await;
    let version = text(&context.slot("b").await, "resourceVersion");
    context.delete(&reservation("a"), json!({})).await.ok();
    context.merge(&reservation("b"), json!({ "spec": { "targetHost": "h" } })).await.ok();
    let then = list(&context, &format!("resourceVersion={version}&resourceVersionMatch=Exact")).await;
    assert_eq!((names(&then), text(&then, "resourceVersion")), (vec!["a".to_owned(), "b".to_owned()], version));
    assert!(then["items"][1]["spec"].get("targetHost").is_none());
}

async fn list_of_an_exact_version_comes_in_pages(context: Context) {
    context.slot("a").await;
    let version = text(&context.slot("b").await, "resourceVersion");
    context.slot("c").await;
    let first = list(&context, &format!("limit=1&resourceVersion={version}&resourceVersionMatch=Exact")).await;
    assert_eq!(first["metadata"]["remainingItemCount"], 1);
    let second = list(&context, &format!("continue={}", text(&first, "continue"))).await;
    assert_eq!(names(&second), ["b"]);
}

async fn list_may_ask_for_no_older_than(context: Context) {
    let version = text(&context.slot("a").await, "resourceVersion");
    context.slot("b").await;
    let newer = list(&context, &format!("resourceVersion={version}&resourceVersionMatch=NotOlderThan")).await;
    assert!(names(&newer).contains(&"a".to_owned()));
    assert!(text(&newer, "resourceVersion").parse::<u64>().unwrap() >= version.parse().unwrap());
}

async fn list_of_a_version_to_come_times_out(context: Context) {
    let query = format!("{RESERVATIONS}?resourceVersion=999999999&resourceVersionMatch=NotOlderThan");
    let body = context.get(&query).await.refused(504, "Timeout");
    assert_eq!(body["details"]["causes"][0]["reason"], "ResourceVersionTooLarge", "{body}");
}

async fn list_with_a_match_and_no_version_is_refused(context: Context) {
    context.get(&format!("{RESERVATIONS}?resourceVersionMatch=Exact")).await.refused(422, "Invalid");
    context.get(&format!("{RESERVATIONS}?resourceVersion=0&resourceVersionMatch=Exact")).await.refused(422, "Invalid");
}

async fn list_that_goes_on_takes_no_version(context: Context) {
    five(&context).await;
    let first = list(&context, "limit=2").await;
    let token = text(&first, "continue");
    let query = format!("{RESERVATIONS}?limit=2&continue={token}&resourceVersion={}", text(&first, "resourceVersion"));
    context.get(&query).await.refused(400, "BadRequest");
}

async fn list_refuses_a_token_that_is_none(context: Context) {
    context.get(&format!("{RESERVATIONS}?limit=2&continue=nonsense")).await.refused(400, "BadRequest");
}

async fn list_selects_by_name(context: Context) {
    five(&context).await;
    assert_eq!(names(&list(&context, "fieldSelector=metadata.name%3Dc").await), ["c"]);
    assert_eq!(names(&list(&context, "fieldSelector=metadata.name%3Dnone").await), [""; 0]);
}

async fn list_selects_by_the_fields_of_reservations(context: Context) {
    five(&context).await;
    context.merge(&reservation("b"), json!({ "spec": { "targetHost": "h" } })).await.ok();
    let select = async |fields: &str| names(&list(&context, &format!("fieldSelector={fields}")).await);
    assert_eq!(select("spec.targetHost%3Dh").await, ["b"]);
    assert_eq!(select("spec.targetHost!%3Dh").await, ["a", "c", "d", "e"]);
    assert_eq!(select("spec.targetHost%3D").await, ["a", "c", "d", "e"]);
    assert_eq!(select("spec.type%3DCommittedResourceReservation,spec.targetHost%3Dh").await, ["b"]);
}

async fn list_refuses_a_field_that_is_not_selectable(context: Context) {
    let body =
        context.get(&format!("{RESERVATIONS}?fieldSelector=spec.startTime%3Dx")).await.refused(400, "BadRequest");
    assert!(body["message"].as_str().unwrap().contains("field label not supported: spec.startTime"), "{body}");
}

async fn list_selects_by_labels(context: Context) {
    for (name, label) in [("a", Some("1")), ("b", Some("2")), ("c", None)] {
        let mut object = slot(name);
        object["metadata"]["labels"] = json!(label.map(|label| json!({ "x/y": label })));
        context.create(RESERVATIONS, &object).await.ok();
    }
    let select = async |labels: &str| names(&list(&context, &format!("labelSelector={labels}")).await);
    assert_eq!(select("x%2Fy%3D1").await, ["a"]);
    assert_eq!(select("x%2Fy%3D%3D2").await, ["b"]);
    assert_eq!(select("x%2Fy!%3D1").await, ["b", "c"]);
    assert_eq!(select("x%2Fy").await, ["a", "b"]);
    assert_eq!(select("!x%2Fy").await, ["c"]);
    assert_eq!(select("x%2Fy,x%2Fy!%3D1").await, ["b"]);
}
