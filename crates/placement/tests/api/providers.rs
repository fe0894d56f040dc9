//! Providers, inventories, classes, traits and aggregates over HTTP.

use serde_json::json;

use crate::support::{Server, UNDEFINED, uuid};

#[tokio::test]
async fn creation_by_version() {
    let server = Server::new();
    let body = |name: &str| format!(r#"{{"name": "{name}", "uuid": "{}"}}"#, uuid(name).to_uppercase());
    let old = server.done("1.19 POST /resource_providers", &body("a")).await;
    let url = format!("/resource_providers/{}", uuid("a"));
    assert_eq!((old.status, old.text.as_str(), old.header("location")), (201, "", Some(url.as_str())));
    assert_eq!(old.header("content-type").or(old.header("cache-control")), None);
    let new = server.done("POST /resource_providers", &body("b")).await;
    assert_eq!((new.status, new.json()["uuid"].as_str()), (200, Some(uuid("b").as_str())));
    assert_eq!(new.json()["root_provider_uuid"], uuid("b"));
    assert!(new.header("location").is_some() && new.header("last-modified").is_some());
    let random = server.done("POST /resource_providers", r#"{"name": "c"}"#).await.json();
    assert_eq!(random["uuid"].as_str().unwrap().len(), 36);
    let again = server.ask("POST /resource_providers", &body("b")).await;
    again.is(409, "placement.duplicate_name", "Conflicting resource provider ");
    server.ask("POST /resource_providers", "{}").await.is(400, UNDEFINED, "'name' is a required property");
    let parent = r#"{"name": "d", "parent_provider_uuid": null}"#;
    server.ask("1.13 POST /resource_providers", parent).await.is(400, "", "('parent_provider_uuid' was unexpected)");
}

#[tokio::test]
async fn show_update_delete() {
    let server = Server::new();
    server.provider("a", None, "").await;
    server.provider("b", Some("a"), "").await;
    let path = |name: &str| format!("/resource_providers/{}", uuid(name));
    let shown = server.done(&format!("GET {}", path("b")), "").await.json();
    assert_eq!((&shown["parent_provider_uuid"], &shown["root_provider_uuid"]), (&json!(uuid("a")), &json!(uuid("a"))));
    let absent = server.done(&format!("PUT {}", path("b")), r#"{"name": "renamed"}"#).await.json();
    assert_eq!((&absent["name"], &absent["parent_provider_uuid"]), (&json!("renamed"), &json!(uuid("a"))));
    let no = server.ask(&format!("1.36 PUT {}", path("b")), r#"{"name": "x", "parent_provider_uuid": null}"#).await;
    no.is(400, UNDEFINED, "un-parenting a provider is not currently allowed.");
    let free = server.done(&format!("1.37 PUT {}", path("b")), r#"{"name": "x", "parent_provider_uuid": null}"#).await;
    assert_eq!(free.json()["root_provider_uuid"], uuid("b"));
    assert_eq!(server.done(&format!("DELETE {}", path("b")), "").await.status, 204);
    let gone = format!("No resource provider with uuid {} found", uuid("b"));
    server.ask(&format!("GET {}", path("b")), "").await.is(404, UNDEFINED, &gone);
    server.ask(&format!("DELETE {}", path("b")), "").await.is(404, UNDEFINED, &format!("{gone} for delete"));
    let list = server.done("GET /resource_providers?name=a", "").await.json();
    assert_eq!(list["resource_providers"].as_array().unwrap().len(), 1);
    server.ask("1.3 GET /resource_providers?resources=VCPU:1", "").await.is(400, "", "Invalid query string parameters");
    server.ask("GET /resource_providers?name=%ff", "").await.is(400, UNDEFINED, "Invalid query string parameters");
}

#[tokio::test]
async fn inventories_are_written_and_shown() {
    let server = Server::new();
    server.provider("p", None, "").await;
    let path = format!("/resource_providers/{}/inventories", uuid("p"));
    let empty = server.done(&format!("GET {path}"), "").await;
    assert_eq!(empty.json(), json!({"resource_provider_generation": 0, "inventories": {}}));
    assert_eq!((empty.header("cache-control"), empty.header("last-modified")), (Some("no-cache"), None));
    let one = server.done(&format!("POST {path}"), r#"{"resource_class": "VCPU", "total": 4.0}"#).await;
    let url = format!("{path}/VCPU");
    assert_eq!((one.status, one.header("location")), (201, Some(url.as_str())));
    let expected = concat!(
        r#"{"resource_provider_generation":1,"total":4,"reserved":0,"min_unit":1,"max_unit":2147483647,"#,
        r#""step_size":1,"allocation_ratio":1.0}"#
    );
    assert_eq!(one.text, expected);
    let set = r#"{"resource_provider_generation": 1, "total": 8, "reserved": 8}"#;
    let reported = server.ask(&format!("1.25 PUT {path}/VCPU"), set).await;
    reported.is(400, UNDEFINED, "The reserved value is greater than or equal to total.");
    assert_eq!(server.done(&format!("PUT {path}/VCPU"), set).await.json()["resource_provider_generation"], 2);
    let shown = server.done(&format!("GET {path}/VCPU"), "").await;
    assert_eq!((&shown.json()["reserved"], shown.header("last-modified").is_some()), (&json!(8), true));
    let unknown = server.ask(&format!("GET {path}/NOPE"), "").await;
    unknown.is(404, UNDEFINED, &format!("No inventory of class NOPE for {}", uuid("p")));
    let missing = server.ask("GET /resource_providers/x/inventories", "").await;
    missing.is(404, UNDEFINED, "No resource provider with uuid x found : No resource provider with uuid x found");
    let odd = r#"{"resource_provider_generation": 2, "inventories": {"no class": {"x": 1}}}"#;
    server.ask(&format!("PUT {path}"), odd).await.is(
        400,
        UNDEFINED,
        "Unknown resource class in inventory for resource provider",
    );
    let all = r#"{"resource_provider_generation": 2, "inventories": {"DISK_GB": {"total": 1}}}"#;
    assert_eq!(server.done(&format!("PUT {path}"), all).await.json()["inventories"]["DISK_GB"]["total"], 1);
    assert_eq!(server.done(&format!("DELETE {path}/DISK_GB"), "").await.status, 204);
    assert_eq!(server.done(&format!("DELETE {path}"), "").await.status, 204);
}

#[tokio::test]
async fn classes_are_created_renamed_and_listed() {
    let server = Server::new();
    let all = server.done("GET /resource_classes", "").await.json();
    let first = json!({"name": "VCPU", "links": [{"rel": "self", "href": "/resource_classes/VCPU"}]});
    assert_eq!(all["resource_classes"][0], first);
    assert_eq!(server.ask("1.1 GET /resource_classes", "").await.status, 404);
    let created = server.done("POST /resource_classes", r#"{"name": "CUSTOM_A"}"#).await;
    assert_eq!(created.header("location"), Some("/resource_classes/CUSTOM_A"));
    assert_eq!((created.status, created.text.as_str()), (201, ""));
    server.ask("1.6 PUT /resource_classes/CUSTOM_A", "").await.is(415, "", "The media type None");
    let renamed = server.done("1.6 PUT /resource_classes/CUSTOM_A", r#"{"name": "CUSTOM_B"}"#).await;
    assert_eq!((renamed.status, &renamed.json()["name"]), (200, &json!("CUSTOM_B")));
    assert_eq!((renamed.header("last-modified"), renamed.header("cache-control")), (None, None));
    assert_eq!(server.done("1.7 PUT /resource_classes/CUSTOM_B", "").await.status, 204);
    assert_eq!(server.done("1.7 PUT /resource_classes/CUSTOM_C", "").await.status, 201);
    let standard = server.ask("PUT /resource_classes/VCPU", "").await;
    standard.is(400, UNDEFINED, "JSON does not validate: 'VCPU' does not match '^CUSTOM_[A-Z0-9_]+$'");
    server.ask("GET /resource_classes/NOPE", "").await.is(404, UNDEFINED, "No such resource class NOPE.");
    assert_eq!(server.done("DELETE /resource_classes/CUSTOM_C", "").await.status, 204);
}

#[tokio::test]
async fn traits_are_created_and_listed() {
    let server = Server::new();
    server.provider("p", None, "").await;
    let made = server.done("PUT /traits/CUSTOM_A", "").await;
    assert_eq!((made.status, made.header("location")), (201, Some("/traits/CUSTOM_A")));
    let again = server.done("1.15 PUT /traits/CUSTOM_A", "").await;
    assert_eq!((again.status, again.header("cache-control")), (204, Some("no-cache")));
    assert_eq!(server.done("GET /traits/CUSTOM_A", "").await.status, 204);
    server.ask("GET /traits/CUSTOM_B", "").await.is(404, UNDEFINED, "No such trait(s): CUSTOM_B.");
    server.ask("PUT /traits/HW_NEW", "").await.is(
        400,
        UNDEFINED,
        "The trait is invalid. A valid trait must be no longer",
    );
    let path = format!("/resource_providers/{}/traits", uuid("p"));
    let body = r#"{"resource_provider_generation": 0, "traits": ["CUSTOM_A", "HW_NUMA_ROOT", "CUSTOM_A"]}"#;
    let set = server.done(&format!("PUT {path}"), body).await.json();
    assert_eq!(set, json!({"traits": ["CUSTOM_A", "HW_NUMA_ROOT"], "resource_provider_generation": 1}));
    let associated = server.done("GET /traits?associated=true", "").await.json();
    assert_eq!(associated, json!({"traits": ["CUSTOM_A", "HW_NUMA_ROOT"]}));
    let none = server.done("GET /traits?associated=true&name=startswith:HW_CPU", "").await.json();
    assert_eq!(none, json!({"traits": []}));
    server.ask("GET /traits?x=1", "").await.is(
        400,
        UNDEFINED,
        "Additional properties are not allowed ('x' was unexpected)",
    );
    server.ask("DELETE /traits/CUSTOM_A", "").await.is(
        409,
        UNDEFINED,
        "The trait CUSTOM_A is in use by a resource provider.",
    );
    assert_eq!(server.done(&format!("DELETE {path}"), "").await.status, 204);
    assert_eq!(server.done(&format!("GET {path}"), "").await.json()["resource_provider_generation"], 2);
    let missing = server.ask("GET /resource_providers/x/traits", "").await;
    missing.is(404, UNDEFINED, "No resource provider with uuid x found: No resource provider with uuid x found");
}

#[tokio::test]
async fn aggregates_are_set_and_shown() {
    let server = Server::new();
    server.provider("p", None, "").await;
    let path = format!("/resource_providers/{}/aggregates", uuid("p"));
    let sent = uuid("agg").to_uppercase();
    let old = server.done(&format!("1.18 PUT {path}"), &format!(r#"["{sent}"]"#)).await;
    assert_eq!(old.json(), json!({ "aggregates": [sent] }));
    assert_eq!(server.done(&format!("1.1 GET {path}"), "").await.json(), json!({ "aggregates": [sent] }));
    let with_generation = format!(r#"{{"aggregates": ["{}"], "resource_provider_generation": 0}}"#, uuid("agg"));
    let new = server.done(&format!("PUT {path}"), &with_generation).await.json();
    assert_eq!(new, json!({"aggregates": [uuid("agg")], "resource_provider_generation": 1}));
    let stale = server.ask(&format!("PUT {path}"), &with_generation).await;
    stale.is(
        409,
        crate::support::CONCURRENT,
        "Resource provider's generation already changed. Please update the generation and try again.",
    );
}
