//! The limits of the API: bodies, queries and requests that are too many or too large, and clients that are too slow.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request};
use berth_openstack::authentication::{Authentication, Caller, Unknown};
use berth_placement::ledger::RequestError;
use berth_placement::protocol::cors::Cors;
use berth_placement::{Api, Bounds, policy};
use futures::StreamExt as _;
use futures::future::BoxFuture;
use tokio::time::Instant;
use tower::ServiceExt as _;

use crate::support::{Server, UNDEFINED};

fn bounded(bounds: Bounds) -> Server {
    Server::with(|api| api.with_bounds(bounds), policy::defaults(false))
}

fn post(body: Body) -> Request<Body> {
    let request = Request::builder().method("POST").uri("/resource_providers").header("x-auth-token", "admin");
    let request = request.header("openstack-api-version", "placement latest");
    request.header("content-type", "application/json").body(body).unwrap()
}

#[tokio::test]
async fn large_bodies_and_long_queries_are_refused() {
    let server = bounded(Bounds { body: 100, target: 100, ..Bounds::default() });
    let long = format!(r#"{{"name": "{}"}}"#, "x".repeat(100));
    server.ask("POST /resource_providers", &long).await.is(413, UNDEFINED, "a body may have 100 bytes");
    server.send(post(Body::from(long))).await.is(413, UNDEFINED, "a body may have 100 bytes");
    let query = format!("GET /resource_providers?name={}", "x".repeat(100));
    server.ask(&query, "").await.is(414, UNDEFINED, "use fewer or shorter parameters");
    let nested = format!("{}{}", "[".repeat(40), "]".repeat(40));
    server.ask("POST /resource_providers", &nested).await.is(400, UNDEFINED, "JSON does not validate");
    let deep = Server::new().ask("POST /resource_providers", &"[".repeat(1000)).await;
    deep.is(400, UNDEFINED, "Malformed JSON: recursion limit exceeded");
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_end_is_given_up() {
    let server = bounded(Bounds { deadline: Duration::from_secs(3), ..Bounds::default() });
    let never = futures::stream::pending::<Result<Vec<u8>, std::io::Error>>();
    server.send(post(Body::from_stream(never))).await.is(400, UNDEFINED, "the body of the request took too long");
    let broken = futures::stream::iter([Err::<Vec<u8>, _>(std::io::Error::other("gone"))]);
    server.send(post(Body::from_stream(broken))).await.is(400, UNDEFINED, "the body of the request broke off");
}

/// A request that announces a body and sends the beginning of it.
fn unfinished(begin: usize, length: usize) -> Request<Body> {
    let parts = futures::stream::iter([Ok::<_, std::io::Error>(vec![b' '; begin])]).chain(futures::stream::pending());
    let mut request = post(Body::from_stream(parts));
    request.headers_mut().insert("content-length", length.into());
    request
}

#[tokio::test(start_paused = true)]
async fn bodies_that_do_not_arrive_take_no_memory_of_others() {
    let server = bounded(Bounds { bodies: 128 * 1024, ..Bounds::default() });
    let slow = futures::future::join_all((0..100).map(|_| server.send(unfinished(1, 2 << 20))));
    let other = async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        let started = Instant::now();
        (server.ask("POST /resource_providers", r#"{"name": "a"}"#).await.status, started.elapsed())
    };
    let (_, (status, took)) = tokio::join!(slow, other);
    assert_eq!((status, took.as_secs()), (200, 0));
}

#[tokio::test(start_paused = true)]
async fn a_large_body_is_admitted_only_when_there_is_memory_for_all_of_it() {
    let server = bounded(Bounds { bodies: 256 * 1024, ..Bounds::default() });
    server.send(unfinished(70_000, 300_000)).await.is(503, UNDEFINED, "too many large bodies at once");
    server.send(unfinished(70_000, 200_000)).await.is(400, UNDEFINED, "the body of the request took too long");
}

#[tokio::test(start_paused = true)]
async fn what_does_not_fit_is_reported_to_come_again() {
    for (bounds, text) in [
        (Bounds { requests: 0, ..Bounds::default() }, "too many requests at once"),
        (Bounds { bodies: 1, ..Bounds::default() }, "too many large bodies at once"),
    ] {
        let answer = bounded(bounds).ask("POST /resource_providers", r#"{"name": "a"}"#).await;
        answer.is(503, UNDEFINED, text);
        assert_eq!(answer.header("retry-after"), Some("1"));
    }
}

#[tokio::test(start_paused = true)]
async fn only_long_searches_are_too_many_at_once() {
    let rounds = bounded(Bounds { rounds: 0, ..Bounds::default() });
    rounds.done("PUT /resource_classes/CUSTOM_PORT", "").await;
    rounds.provider("host", None, "").await;
    for device in 0..25 {
        rounds.provider(&format!("device-{device}"), Some("host"), r#"{"CUSTOM_PORT": {"total": 8}}"#).await;
    }
    rounds.done("GET /allocation_candidates?resources=CUSTOM_PORT:1", "").await;
    let three = "resources1=CUSTOM_PORT:1&resources2=CUSTOM_PORT:1&resources3=CUSTOM_PORT:1";
    let reported = rounds.ask(&format!("GET /allocation_candidates?{three}&group_policy=none"), "").await;
    reported.is(503, UNDEFINED, "too many queries for candidates at once");
    assert_eq!(*rounds.ledger.error.lock(), None::<RequestError>);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_not_read_is_not_held_completely_and_is_bounded() {
    let server = bounded(Bounds { unread: 100 * 1024, ..Bounds::default() });
    for host in 0..400 {
        server.provider(&format!("host-{host:03}"), None, r#"{"VCPU": {"total": 8}}"#).await;
    }
    let long = "GET /allocation_candidates?resources=VCPU:1";
    let request = Request::builder().uri("/allocation_candidates?resources=VCPU:1").header("x-auth-token", "admin");
    let request = request.header("openstack-api-version", "placement 1.39").body(Body::empty()).unwrap();
    let unread = server.router.clone().oneshot(request).await.unwrap();
    let reported = server.ask(long, "").await;
    reported.is(503, UNDEFINED, "too many unread answers at once");
    let short = server.ask("GET /allocation_candidates?resources=VCPU:1&limit=1", "").await;
    assert_eq!(short.json()["allocation_requests"].as_array().unwrap().len(), 1);
    let text = to_bytes(unread.into_body(), usize::MAX).await.unwrap();
    let again = server.done(long, "").await;
    assert_eq!(again.text.as_bytes(), text);
    assert_eq!(again.json()["provider_summaries"].as_object().unwrap().len(), 400);
}

fn site() -> Option<Cors> {
    Cors::new(vec!["http://valid.example.com".to_owned()], &[])
}

#[tokio::test]
async fn pages_of_other_sites_may_read_what_is_refused() {
    let long = format!(r#"{{"name": "{}"}}"#, "x".repeat(100));
    let far = format!("GET /resource_providers?name={}", "x".repeat(100));
    for (status, line, body, bounds) in [
        (413, "POST /resource_providers", long.as_str(), Bounds { body: 100, ..Bounds::default() }),
        (414, far.as_str(), "", Bounds { target: 100, ..Bounds::default() }),
        (503, "GET /traits", "", Bounds { requests: 0, wait: Duration::ZERO, ..Bounds::default() }),
    ] {
        let server = Server::with(|api| api.with_bounds(bounds).with_cors(site()), policy::defaults(false));
        let answer = server.ask_with(line, body, &[("origin", "http://valid.example.com")]).await;
        answer.is(status, UNDEFINED, "");
        assert_eq!(answer.header("access-control-allow-origin"), Some("http://valid.example.com"), "{status}");
    }
}

/// A token service without users, which panics when it is called.
struct Broken;

impl Authentication for Broken {
    fn caller<'a>(&'a self, _: &'a HeaderMap, _: Instant) -> BoxFuture<'a, Result<Caller, Unknown>> {
        panic!("a defect")
    }
}

#[tokio::test]
async fn a_defect_is_reported_like_every_other_fault() {
    let Server { ledger, .. } = Server::new();
    let api = Api::new(ledger.clone(), Arc::new(Broken), policy::defaults(false)).with_cors(site());
    let server = Server { ledger, router: api.router() };
    let answer = server.ask_with("GET /traits", "", &[("origin", "http://valid.example.com")]).await;
    answer.is(500, "", "a defect of the server");
    assert_eq!(answer.header("access-control-allow-origin"), Some("http://valid.example.com"));
    assert!(answer.header("x-openstack-request-id").is_some());
}
