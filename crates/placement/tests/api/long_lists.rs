//! Lists that are longer than a page: they are sent in pages, and what clients have not read yet is bounded.

use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody as _, to_bytes};
use axum::http::Request;
use axum::response::Response;
use berth_placement::{Bounds, policy};
use futures::StreamExt as _;
use serde_json::{Map, Value, json};
use tower::ServiceExt as _;

use crate::support::{Server, UNDEFINED, uuid};

/// An answer that has more bytes is in pages.
const PAGE: usize = 48 * 1024;
/// More names than fit on a page.
const MANY: usize = 250;

fn name(number: usize) -> String {
    format!("CUSTOM_{}_{number}", "X".repeat(240))
}

/// A server with long lists of everything.
async fn long_lists(bounds: Bounds) -> Server {
    let server = Server::with(|api| api.with_bounds(bounds), policy::defaults(false));
    server.provider("big", None, "").await;
    for number in 0..MANY {
        server.done(&format!("PUT /resource_classes/{}", name(number)), "").await;
        server.done(&format!("PUT /traits/{}", name(number)), "").await;
    }
    let big = format!("/resource_providers/{}", uuid("big"));
    let put = async |path: &str, member: &str, value: Value| {
        let generation = server.generation("big").await;
        let body = json!({ "resource_provider_generation": generation, member: value }).to_string();
        server.send(put(&format!("{big}/{path}"), body)).await
    };
    let mut inventories: Map<String, Value> = (0..MANY).map(|number| (name(number), json!({ "total": 9 }))).collect();
    inventories.insert("VCPU".to_owned(), json!({ "total": 100_000 }));
    put("inventories", "inventories", inventories.into()).await;
    put("traits", "traits", (0..MANY).map(name).collect()).await;
    put("aggregates", "aggregates", (0..2 * PAGE / 40).map(|number| uuid(&format!("{number}"))).collect()).await;
    claim(&server).await;
    for host in 0..MANY {
        server.provider(&format!("host-{host:03}-{}", "x".repeat(100)), None, "").await;
    }
    server
}

fn put(path: &str, body: String) -> Request<Body> {
    let request = Request::builder().method("PUT").uri(path).header("x-auth-token", "admin");
    let request = request.header("openstack-api-version", "placement 1.39").header("content-type", "application/json");
    request.header("content-length", body.len()).body(Body::from(body)).unwrap()
}

/// One consumer of all classes, and many of one.
async fn claim(server: &Server) {
    let all: Map<String, Value> = (0..MANY).map(|number| (name(number), json!(1))).collect();
    let consumer = |resources: Value| {
        json!({
            "allocations": { uuid("big"): { "resources": resources } },
            "project_id": "p", "user_id": "u", "consumer_generation": null, "consumer_type": "INSTANCE",
        })
    };
    let few = (0..2 * MANY).map(|number| (uuid(&format!("c{number}")), consumer(json!({ "VCPU": 1 }))));
    let body: Map<String, Value> = few.chain([(uuid("all"), consumer(all.into()))]).collect();
    server.done("POST /allocations", &Value::from(body).to_string()).await;
}

/// The paths of long lists, and the number of elements of each.
fn lists() -> Vec<(String, &'static str, usize)> {
    let big = format!("/resource_providers/{}", uuid("big"));
    vec![
        ("/resource_providers".to_owned(), "/resource_providers", MANY + 1),
        ("/traits?name=startswith:CUSTOM_X".to_owned(), "/traits", MANY),
        (format!("{big}/traits"), "/traits", MANY),
        (format!("{big}/aggregates"), "/aggregates", 2 * PAGE / 40),
        (format!("{big}/inventories"), "/inventories", MANY + 1),
        (format!("{big}/usages"), "/usages", MANY + 1),
        (format!("{big}/allocations"), "/allocations", 2 * MANY + 1),
        (format!("/allocations/{}", uuid("all")), ALL_OF_CONSUMER, MANY),
        ("/usages?project_id=p".to_owned(), "/usages/INSTANCE", MANY + 2),
        ("/usages?project_id=p&consumer_type=all".to_owned(), "/usages/all", MANY + 2),
    ]
}

/// Where the amounts of a consumer at the provider `big` are.
const ALL_OF_CONSUMER: &str = "/allocations/62696700-0000-0000-0000-000000000000/resources";

async fn respond(server: &Server, path: &str) -> Response {
    let request = Request::builder().uri(path).header("x-auth-token", "admin");
    let request = request.header("openstack-api-version", "placement 1.39").body(Body::empty()).unwrap();
    server.router.clone().oneshot(request).await.unwrap()
}

fn count(body: &[u8], pointer: &str) -> usize {
    let value: Value = serde_json::from_slice(body).unwrap();
    match value.pointer(pointer) {
        Some(Value::Array(elements)) => elements.len(),
        Some(Value::Object(members)) => members.len(),
        other => panic!("{pointer}: {other:?}"),
    }
}

#[tokio::test]
async fn long_lists_are_sent_in_pages_and_short_ones_whole() {
    let server = long_lists(Bounds::default()).await;
    for (path, pointer, elements) in lists() {
        let body = respond(&server, &path).await.into_body();
        assert_eq!(body.size_hint().exact(), None, "{path} is built whole");
        let pages: Vec<Bytes> = body.into_data_stream().map(Result::unwrap).collect().await;
        assert!(pages.len() > 1 && pages.iter().all(|page| page.len() < 3 * PAGE), "{path}: {}", pages.len());
        assert_eq!(count(&pages.concat(), pointer), elements, "{path}");
    }
    let classes = respond(&server, "/resource_classes").await.into_body();
    assert_eq!(classes.size_hint().exact(), None);
    assert!(count(&to_bytes(classes, usize::MAX).await.unwrap(), "/resource_classes") > MANY);
    for short in ["/traits?name=startswith:HW_CPU_X86_A", "/resource_providers?name=big", "/usages?project_id=q"] {
        assert!(respond(&server, short).await.into_body().size_hint().exact().is_some(), "{short}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_not_read_takes_memory_of_other_long_ones_until_it_is_sent() {
    let server = long_lists(Bounds { unread: 200 * 1024, ..Bounds::default() }).await;
    for (path, ..) in lists() {
        let unread = respond(&server, &path).await;
        server.ask(&format!("GET {path}"), "").await.is(503, UNDEFINED, "too many unread answers at once");
        server.done("GET /resource_providers?name=big", "").await;
        let pages: Vec<Bytes> = unread.into_body().into_data_stream().map(Result::unwrap).collect().await;
        server.ask(&format!("GET {path}"), "").await.is(503, UNDEFINED, "too many unread answers at once");
        drop(pages);
        server.done(&format!("GET {path}"), "").await;
    }
}

#[tokio::test(start_paused = true)]
async fn few_answers_wait_for_memory_at_once() {
    let bounds = Bounds { unread: 200 * 1024, waiting: 2, wait: Duration::from_secs(3600), ..Bounds::default() };
    let server = long_lists(Bounds { deadline: Duration::from_secs(7200), ..bounds }).await;
    let unread = respond(&server, "/traits").await;
    let ask = || {
        let server = server.clone();
        tokio::spawn(async move { server.ask("GET /traits", "").await.status })
    };
    let waiting = [ask(), ask()];
    tokio::time::sleep(Duration::from_secs(1)).await;
    server.ask("GET /traits", "").await.is(503, UNDEFINED, "too many unread answers at once");
    drop(unread);
    for waited in waiting {
        assert_eq!(waited.await.unwrap(), 200);
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_quotes_much_of_its_request_takes_memory_too() {
    let unknown: Vec<String> = (0..MANY).map(|number| format!("CUSTOM_{}_{number}", "Y".repeat(240))).collect();
    for (bounds, status) in [(Bounds::default(), 400), (Bounds { unread: 0, ..Bounds::default() }, 503)] {
        let server = Server::with(|api| api.with_bounds(bounds), policy::defaults(false));
        server.provider("p", None, "").await;
        let body = json!({ "resource_provider_generation": 0, "traits": unknown }).to_string();
        let refused = server.send(put(&format!("/resource_providers/{}/traits", uuid("p")), body)).await;
        assert_eq!((refused.status, refused.text.len() > PAGE), (status, status == 400), "{}", refused.text.len());
    }
}
