//! Sequences of allocation requests, step by step.

use serde_json::{Value, json};

use crate::support::{CONCURRENT, Server, UNDEFINED, uuid};

/// The amounts in the short form `P1 VCPU 4`.
fn amounts(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    match words[..] {
        [provider, class, amount] => format!(r#"{{"{}": {{"resources": {{"{class}": {amount}}}}}}}"#, uuid(provider)),
        _ => "{}".to_owned(),
    }
}

fn body(amount: &str, generation: &str, kind: &str) -> String {
    let allocations = amounts(amount);
    format!(
        r#"{{"allocations": {allocations}, "project_id": "alpha", "user_id": "u", "consumer_generation": {generation}, "consumer_type": "{kind}"}}"#
    )
}

async fn put(server: &Server, consumer: &str, amount: &str, generation: &str) -> crate::support::Answer {
    server.ask(&format!("PUT /allocations/{}", uuid(consumer)), &body(amount, generation, "INSTANCE")).await
}

async fn post(server: &Server, parts: &[(&str, &str, &str, &str)]) -> crate::support::Answer {
    let parts = parts.iter().map(|(consumer, amount, generation, kind)| {
        format!(r#""{}": {}"#, uuid(consumer), body(amount, generation, kind))
    });
    server.ask("POST /allocations", &format!("{{{}}}", parts.collect::<Vec<_>>().join(","))).await
}

async fn generations(server: &Server, p1: i64, p2: i64) {
    assert_eq!((server.generation("P1").await, server.generation("P2").await), (p1, p2));
}

async fn consumer_generation(server: &Server, consumer: &str) -> Value {
    server.done(&format!("GET /allocations/{}", uuid(consumer)), "").await.json()["consumer_generation"].clone()
}

async fn two_providers() -> Server {
    let server = Server::new();
    let p1 = r#"{"VCPU": {"total": 4, "reserved": 1, "allocation_ratio": 2.0},
        "MEMORY_MB": {"total": 1000, "min_unit": 64, "max_unit": 512, "step_size": 64}}"#;
    server.provider("P1", None, p1).await;
    server.provider("P2", None, r#"{"VCPU": {"total": 4}}"#).await;
    server
}

#[tokio::test]
async fn allocations_and_generations() {
    let server = two_providers().await;
    let exceed = "The requested amount would exceed the capacity.";
    assert_eq!(put(&server, "C1", "P1 VCPU 4", "null").await.status, 204);
    generations(&server, 2, 1).await;
    put(&server, "C2", "P1 VCPU 3", "null").await.is(409, UNDEFINED, exceed);
    generations(&server, 2, 1).await;
    assert_eq!(put(&server, "C2", "P1 VCPU 2", "null").await.status, 204);
    let stale = put(&server, "C1", "P1 VCPU 4", "0").await;
    stale.is(409, CONCURRENT, "consumer generation conflict - expected 1 but got 0");
    generations(&server, 3, 1).await;
    assert_eq!(put(&server, "C1", "", "1").await.status, 204);
    assert_eq!(server.done(&format!("GET /allocations/{}", uuid("C1")), "").await.json(), json!({"allocations": {}}));
    assert_eq!(put(&server, "C1", "P1 VCPU 4", "null").await.status, 204);
    assert_eq!(consumer_generation(&server, "C1").await, 1);
    generations(&server, 5, 1).await;
    for amount in [32, 100, 576, 513] {
        let reported = put(&server, "X", &format!("P1 MEMORY_MB {amount}"), "null").await;
        reported.is(409, UNDEFINED, "The requested amount would violate inventory constraints.");
    }
    assert_eq!(put(&server, "Y", "P1 MEMORY_MB 128", "null").await.status, 204);
    assert_eq!(put(&server, "Z", "P1 MEMORY_MB 512", "null").await.status, 204);
    generations(&server, 7, 1).await;
    let moved = [("M1", "P1 VCPU 4", "null", "MIGRATION"), ("C1", "P2 VCPU 4", "1", "INSTANCE")];
    assert_eq!(post(&server, &moved).await.status, 204);
    generations(&server, 8, 2).await;
    assert_eq!(
        (consumer_generation(&server, "C1").await, consumer_generation(&server, "M1").await),
        (json!(2), json!(1))
    );
    usages(&server).await;
    let back = [("M1", "", "1", "MIGRATION"), ("C1", "P1 VCPU 4", "2", "INSTANCE")];
    assert_eq!(post(&server, &back).await.status, 204);
    generations(&server, 9, 2).await;
    assert_eq!(server.done(&format!("DELETE /allocations/{}", uuid("C1")), "").await.status, 204);
    generations(&server, 9, 2).await;
    let gone = server.ask(&format!("DELETE /allocations/{}", uuid("C1")), "").await;
    gone.is(404, UNDEFINED, &format!("No allocations for consumer '{}'", uuid("C1")));
    let both = [("C3", "P2 VCPU 3", "null", "INSTANCE"), ("C4", "P2 VCPU 2", "null", "INSTANCE")];
    post(&server, &both).await.is(409, UNDEFINED, exceed);
    for consumer in ["C3", "C4"] {
        assert_eq!(consumer_generation(&server, consumer).await, Value::Null);
    }
    generations(&server, 9, 2).await;
}

async fn usages(server: &Server) {
    let asked = |line: &'static str| async move { server.done(line, "").await.json()["usages"].clone() };
    let instances = json!({"VCPU": 6, "MEMORY_MB": 640, "consumer_count": 4});
    let expected = json!({"INSTANCE": instances, "MIGRATION": {"VCPU": 4, "consumer_count": 1}});
    assert_eq!(asked("GET /usages?project_id=alpha").await, expected);
    let all = json!({"all": {"VCPU": 10, "MEMORY_MB": 640, "consumer_count": 5}});
    assert_eq!(asked("GET /usages?project_id=alpha&consumer_type=all").await, all);
    assert_eq!(asked("1.37 GET /usages?project_id=alpha").await, json!({"VCPU": 10, "MEMORY_MB": 640}));
    for line in
        ["GET /usages?project_id=x", "GET /usages?project_id=alpha&consumer_type=allx", "1.9 GET /usages?project_id=x"]
    {
        assert_eq!(asked(line).await, json!({}), "{line}");
    }
    server.ask("GET /usages", "").await.is(
        400,
        UNDEFINED,
        "Invalid query string parameters: 'project_id' is a required property",
    );
    let of_provider = server.done(&format!("GET /resource_providers/{}/usages", uuid("P1")), "").await.json();
    assert_eq!(of_provider, json!({"resource_provider_generation": 8, "usages": {"VCPU": 6, "MEMORY_MB": 640}}));
    let at = server.done(&format!("1.27 GET /resource_providers/{}/allocations", uuid("P2")), "").await.json();
    let expected = json!({"allocations": {uuid("C1"): {"resources": {"VCPU": 4}}}, "resource_provider_generation": 2});
    assert_eq!(at, expected);
    let consumer = server.done(&format!("GET /allocations/{}", uuid("C1")), "").await.json();
    let expected = json!({
        "allocations": {uuid("P2"): {"resources": {"VCPU": 4}, "generation": 2}},
        "project_id": "alpha", "user_id": "u", "consumer_generation": 2, "consumer_type": "INSTANCE",
    });
    assert_eq!(consumer, expected);
}

#[tokio::test]
async fn providers_of_a_consumer_are_listed_in_the_order_of_the_write() {
    let server = two_providers().await;
    for order in [["P1", "P2"], ["P2", "P1"]] {
        let parts = order.map(|provider| format!(r#""{}": {{"resources": {{"VCPU": 1}}}}"#, uuid(provider)));
        let body = format!(r#"{{"allocations": {{{}}}, "project_id": "alpha", "user_id": "u"}}"#, parts.join(","));
        server.done(&format!("1.12 PUT /allocations/{}", uuid("C1")), &body).await;
        let shown = server.done(&format!("GET /allocations/{}", uuid("C1")), "").await.text;
        let [first, second] = order.map(|provider| shown.find(&uuid(provider)).unwrap());
        assert!(first < second, "{order:?}: {shown}");
    }
}

#[tokio::test]
async fn an_inventory_may_shrink_below_its_usage() {
    let server = Server::new();
    server.provider("P", None, r#"{"VCPU": {"total": 8}}"#).await;
    assert_eq!(put(&server, "A", "P VCPU 8", "null").await.status, 204);
    let path = format!("PUT /resource_providers/{}/inventories/VCPU", uuid("P"));
    server.done(&path, r#"{"resource_provider_generation": 2, "total": 4}"#).await;
    let exceed = "The requested amount would exceed the capacity.";
    assert_eq!(put(&server, "A", "P VCPU 8", "1").await.status, 204);
    assert_eq!(put(&server, "A", "P VCPU 7", "2").await.status, 204);
    put(&server, "A", "P VCPU 8", "3").await.is(409, UNDEFINED, exceed);
    put(&server, "B", "P VCPU 1", "null").await.is(409, UNDEFINED, exceed);
    let moved = [("A", "", "3", "INSTANCE"), ("B", "P VCPU 7", "null", "INSTANCE")];
    assert_eq!(post(&server, &moved).await.status, 204);
}

#[tokio::test]
async fn the_reshaper_moves_inventories_and_allocations() {
    let server = Server::new();
    server.provider("P2", None, r#"{"VCPU": {"total": 4}}"#).await;
    server.provider("P3", Some("P2"), "").await;
    assert_eq!(put(&server, "C", "P2 VCPU 3", "null").await.status, 204);
    // Generation 3, as in the example.
    server
        .done(
            &format!("PUT /resource_providers/{}/inventories/VCPU", uuid("P2")),
            r#"{"resource_provider_generation": 2, "total": 4}"#,
        )
        .await;
    let inventories = format!(
        r#"{{"{}": {{"resource_provider_generation": 3, "inventories": {{}}}},
            "{}": {{"resource_provider_generation": 0, "inventories": {{"VCPU": {{"total": 4}}}}}}}}"#,
        uuid("P2"),
        uuid("P3")
    );
    let reshape = |allocations: String| format!(r#"{{"inventories": {inventories}, "allocations": {allocations}}}"#);
    let in_use = server.ask("POST /reshaper", &reshape("{}".to_owned())).await;
    let reported = format!("update conflict: Inventory for 'VCPU' on resource provider '{}' in use.", uuid("P2"));
    in_use.is(409, "placement.inventory.inuse", &reported);
    assert_eq!((server.generation("P2").await, server.generation("P3").await), (3, 0));
    let moved = format!(r#"{{"{}": {}}}"#, uuid("C"), body("P3 VCPU 3", "1", "INSTANCE"));
    assert_eq!(server.done("POST /reshaper", &reshape(moved)).await.status, 204);
    assert_eq!((server.generation("P2").await, server.generation("P3").await), (4, 3));
    assert_eq!(consumer_generation(&server, "C").await, 2);
}

#[tokio::test]
async fn the_old_form_and_owners() {
    let server = two_providers().await;
    let old = format!(
        r#"{{"allocations": [{{"resource_provider": {{"uuid": "{}"}}, "resources": {{"VCPU": 1}}}}]}}"#,
        uuid("P2")
    );
    assert_eq!(server.done(&format!("1.7 PUT /allocations/{}", uuid("C")), &old).await.status, 204);
    let shown = server.done(&format!("1.12 GET /allocations/{}", uuid("C")), "").await.json();
    assert_eq!(shown["project_id"], "00000000-0000-0000-0000-000000000000");
    assert_eq!(shown.get("consumer_generation"), None);
    let unknown = server.done(&format!("1.38 GET /allocations/{}", uuid("C")), "").await.json();
    assert_eq!(unknown["consumer_type"], "unknown");
    let nowhere = put(&server, "D", "nowhere VCPU 1", "null").await;
    nowhere.is(400, UNDEFINED, &format!("Allocation for resource provider '{}' that does not exist.", uuid("nowhere")));
    let huge = put(&server, "D", "P2 VCPU 99999999999999999999", "null").await;
    huge.is(409, UNDEFINED, "would ");
}
