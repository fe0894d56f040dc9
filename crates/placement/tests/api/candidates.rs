//! Candidates and lists over HTTP: the parts of a worked example that depend on the protocol.

use serde_json::{Value, json};

use crate::support::{Server, UNDEFINED, uuid};

async fn environment() -> Server {
    let server = Server::new();
    for name in ["CUSTOM_FAST", "CUSTOM_SSD"] {
        server.done(&format!("PUT /traits/{name}"), "").await;
    }
    let memory = r#""MEMORY_MB": {"total": 16384, "reserved": 1024, "allocation_ratio": 1.5}"#;
    server.provider("cn1", None, &format!(r#"{{{memory}, "DISK_GB": {{"total": 200}}}}"#)).await;
    let cores = r#"{"VCPU": {"total": 8, "allocation_ratio": 2.0}}"#;
    server.provider("n1a", Some("cn1"), cores).await;
    server.provider("n1b", Some("cn1"), cores).await;
    server.provider("g1", Some("n1b"), r#"{"VGPU": {"total": 4, "max_unit": 2}}"#).await;
    server.provider("cn2", None, r#"{"VCPU": {"total": 16, "max_unit": 8}, "MEMORY_MB": {"total": 32768}}"#).await;
    server.provider("ss", None, r#"{"DISK_GB": {"total": 1000, "reserved": 100}}"#).await;
    for (name, traits) in [
        ("cn1", &["COMPUTE_VOLUME_MULTI_ATTACH"][..]),
        ("n1a", &["HW_NUMA_ROOT"]),
        ("n1b", &["HW_NUMA_ROOT", "CUSTOM_FAST"]),
        ("cn2", &["CUSTOM_FAST"]),
        ("ss", &["MISC_SHARES_VIA_AGGREGATE", "CUSTOM_SSD"]),
    ] {
        let body = json!({"resource_provider_generation": 1, "traits": traits});
        server.done(&format!("PUT /resource_providers/{}/traits", uuid(name)), &body.to_string()).await;
    }
    for (name, aggregates) in [("cn1", vec![uuid("A")]), ("cn2", vec![uuid("A"), uuid("B")]), ("ss", vec![uuid("A")])] {
        let body = json!(aggregates).to_string();
        server.done(&format!("1.1 PUT /resource_providers/{}/aggregates", uuid(name)), &body).await;
    }
    let body = json!({
        "allocations": {uuid("n1a"): {"resources": {"VCPU": 10}}},
        "project_id": "p", "user_id": "u", "consumer_generation": null, "consumer_type": "INSTANCE",
    });
    server.done(&format!("PUT /allocations/{}", uuid("C")), &body.to_string()).await;
    server
}

/// The number of requests, and the providers with a summary.
async fn candidates(server: &Server, query: &str) -> (usize, Vec<String>) {
    let answer = server.done(&format!("GET /allocation_candidates?{query}"), "").await;
    assert_eq!(
        (answer.header("cache-control"), answer.header("content-type")),
        (Some("no-cache"), Some("application/json"))
    );
    let json = answer.json();
    let mut names: Vec<String> = json["provider_summaries"].as_object().unwrap().keys().cloned().collect();
    names.sort();
    (json["allocation_requests"].as_array().unwrap().len(), names)
}

const V: &str = "resources=VCPU:4,MEMORY_MB:2048,DISK_GB:20";

#[tokio::test]
async fn candidates_over_http() {
    let server = environment().await;
    let summaries = |names: &[&str]| {
        let mut uuids: Vec<String> = names.iter().map(|name| uuid(name)).collect();
        uuids.sort();
        uuids
    };
    let all = ["cn1", "n1a", "n1b", "g1", "cn2", "ss"];
    assert_eq!(candidates(&server, V).await, (5, summaries(&all)));
    assert_eq!(candidates(&server, &format!("{V}&required=!CUSTOM_SSD")).await, (2, summaries(&all[..4])));
    assert_eq!(candidates(&server, &format!("{V}&member_of={}", uuid("B"))).await, (0, Vec::new()));
    assert_eq!(candidates(&server, "resources_N=VCPU:4&resources_G=VGPU:2&group_policy=isolate").await.0, 2);
    let late = candidates(&server, "resources1=VCPU:9999&resources2=VCPU:1&required2=NOPE&group_policy=none").await;
    assert_eq!(late, (0, Vec::new()));
    let early = "GET /allocation_candidates?resources1=VCPU:1&required1=NOPE&resources2=VCPU:9999&group_policy=none";
    server.ask(early, "").await.is(400, UNDEFINED, "No such trait(s): NOPE.");
    server.ask("1.9 GET /allocation_candidates?resources=VCPU:1", "").await.is(404, "", "");
    server.ask("1.36 GET /allocation_candidates", "").await.is(
        400,
        "placement.query.missing_value",
        "There must be at least one",
    );
}

#[tokio::test]
async fn lists_over_http() {
    let server = environment().await;
    for (query, expected) in [
        ("resources=VCPU:6".to_owned(), &["n1a", "n1b", "cn2"][..]),
        ("resources=VCPU:9".to_owned(), &["n1b"]),
        (format!("member_of={}&member_of=!{}", uuid("A"), uuid("B")), &["cn1", "ss"]),
        ("required=in:CUSTOM_SSD,HW_NUMA_ROOT".to_owned(), &["n1a", "n1b", "ss"]),
        (format!("in_tree={}&resources=VCPU:7", uuid("g1")), &["n1b"]),
    ] {
        let answer = server.done(&format!("GET /resource_providers?{query}"), "").await.json();
        let names: Vec<&Value> =
            answer["resource_providers"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
        assert_eq!(names, expected, "{query}");
    }
}
