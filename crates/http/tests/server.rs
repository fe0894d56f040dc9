//! A server on a real socket, as seen by clients, including misbehaving ones.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use berth_http::metrics::{self, HttpMetrics};
use berth_http::{Limits, Readiness, health};
use berth_telemetry::metrics::Metrics;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use support::{Running, has, server};

#[tokio::test]
async fn requests_have_a_name_that_is_kept_or_made() {
    let running = Running::start(server()).await;
    let named = running.send("GET /id HTTP/1.1\r\nhost: a\r\nconnection: close\r\nx-request-id: s-0001\r\n\r\n").await;
    has(&named, &["200 OK", "x-request-id: s-0001", "\r\n\r\ns-0001"]);
    let unnamed = running.get("/id").await;
    let id = unnamed.split("\r\n\r\n").nth(1).unwrap();
    assert_eq!(id.len(), 36);
    has(&unnamed, &[&format!("x-request-id: {id}")]);
    has(&running.get("/peer").await, &["127.0.0.1"]);
}

#[tokio::test]
async fn unknown_paths_wrong_methods_and_panics_are_answered_in_plain_text_with_a_name() {
    let running = Running::start(server()).await;
    let plain = ["content-type: text/plain; charset=utf-8", "x-content-type-options: nosniff", "x-request-id: "];
    let not_found = running.get("/nothing").await;
    has(&not_found, &[&plain[..], &["404 Not Found", "no such path\n"]].concat());
    let wrong = running.get("/echo").await;
    has(&wrong, &[&plain[..], &["405 Method Not Allowed", "allow: POST", "method not allowed\n"]].concat());
    let panicked = running.get("/panic").await;
    has(&panicked, &[&plain[..], &["500 Internal", "internal error, request id "]].concat());
    assert!(!panicked.contains("on purpose"), "{panicked}");
    has(&running.get("/item/x").await, &["200 OK", "content-type: application/json", "[\"a\"]\n"]);
}

#[tokio::test]
async fn bodies_are_limited_when_a_handler_reads_them() {
    let running = Running::start(server()).await;
    let post = |path: &str, body: &str| {
        let length = body.len();
        format!("POST {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}")
    };
    has(&running.send(&post("/echo", "0123456789")).await, &["200 OK", "\r\n\r\n0123456789"]);
    has(&running.send(&post("/echo", "0123456789x")).await, &["413 Payload Too Large", "request body too large\n"]);
    has(&running.send(&post("/nothing", "0123456789x")).await, &["404 Not Found"]);
    has(&running.send(&post("/id", "0123456789x")).await, &["405 Method Not Allowed", "allow: GET,HEAD"]);
}

#[tokio::test]
async fn clients_that_send_slowly_are_given_up() {
    let short = Duration::from_millis(200);
    let limits = Limits { headers: short, pause: short, idle: Duration::from_secs(20), ..Limits::default() };
    let running = Running::start(server().with_limits(limits)).await;
    let started = Instant::now();
    assert_eq!(running.send("GET /id HTTP/1.1\r\nhost: a").await, "", "headers that never end");
    assert_eq!(running.send("").await, "", "no headers at all");
    let broken =
        running.send("POST /echo HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 9\r\n\r\nab").await;
    has(&broken, &["400 Bad Request", "failed to read request body\n"]);
    assert!(started.elapsed() < Duration::from_secs(20), "not before the idle timeout");
}

#[tokio::test]
async fn a_connection_may_rest_longer_than_headers_may_take() {
    let limits = Limits { headers: Duration::from_millis(200), idle: Duration::from_millis(1500), ..Limits::default() };
    let running = Running::start(server().with_limits(limits)).await;
    let mut stream = running.connect().await;
    let mut buffer = [0; 1024];
    for _ in 0..2 {
        stream.write_all(b"GET /id HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
        let read = stream.read(&mut buffer).await.unwrap();
        has(&String::from_utf8_lossy(&buffer[..read]), &["200 OK"]);
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    stream.write_all(b"GET /id HT").await.unwrap();
    assert_eq!(stream.read(&mut buffer).await.unwrap_or(0), 0, "second half of the headers is missing");
    let mut idle = running.connect().await;
    idle.write_all(b"GET /id HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    assert!(idle.read(&mut buffer).await.unwrap() > 0);
    assert_eq!(idle.read(&mut buffer).await.unwrap_or(0), 0, "closed after the idle timeout");
}

#[tokio::test]
async fn an_answer_that_takes_too_long_becomes_503() {
    let limits = Limits { answer: Duration::from_millis(100), ..Limits::default() };
    let running = Running::start(server().with_limits(limits)).await;
    has(
        &running.get("/stuck").await,
        &["503 Service Unavailable", "no answer within 0.1s, request id ", "; try again\n"],
    );
}

#[tokio::test]
async fn a_stop_lets_running_requests_end_and_cuts_off_the_rest() {
    let running = Running::start(server()).await;
    let slow = tokio::spawn({
        let mut stream = running.connect().await;
        async move {
            stream.write_all(b"GET /slow HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.map(|_| answer)
        }
    });
    let mut stuck = running.connect().await;
    stuck.write_all(b"GET /stuck HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    running.entered(2).await;
    let started = Instant::now();
    running.stop.cancel();
    has(&slow.await.unwrap().unwrap(), &["200 OK", "connection: close"]);
    running.task.await.unwrap().unwrap();
    let took = started.elapsed();
    assert!(took >= Duration::from_millis(1500) && took < Duration::from_secs(30), "{took:?}");
    assert!(TcpStream::connect(("127.0.0.1", running.port)).await.is_err(), "still listening");
}

#[tokio::test]
async fn a_stop_without_requests_takes_no_time() {
    let limits = Limits { drain: Duration::from_secs(3600), ..Limits::default() };
    let running = Running::start(server().with_limits(limits)).await;
    let mut resting = running.connect().await;
    resting.write_all(b"GET /id HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    assert!(resting.read(&mut [0; 1024]).await.unwrap() > 0);
    running.stop.cancel();
    running.task.await.unwrap().unwrap();
}

#[tokio::test]
async fn requests_and_connections_are_counted_by_pattern_never_by_path() {
    let registry = Metrics::new(&BTreeMap::new()).unwrap();
    let running = Running::start(server().with_metrics(&HttpMetrics::register(&registry).unwrap())).await;
    running.get("/item/a").await;
    running.get("/item/b").await;
    running.get("/nothing").await;
    running.send("BREW /id HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await;
    let open = running.connect().await;
    while !registry.render().contains(r#"berth_http_connections{server="test"} 1"#) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let text = registry.render();
    let line = r#"berth_http_requests_total{method="GET",route="/item/{name}",server="test",status="200"} 2"#;
    has(&text, &[line, r#"route="none",server="test",status="404"} 1"#, r#"method="other",route="/id""#]);
    drop(open);
}

#[tokio::test]
async fn probes_tell_who_is_waiting() {
    let ready = Readiness::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (port, stop) = (listener.local_addr().unwrap().port(), CancellationToken::new());
    let registry = Metrics::new(&BTreeMap::new()).unwrap();
    let router = health::router(Readiness::new(), ready.clone()).merge(metrics::router(registry));
    let task = tokio::spawn(berth_http::serve(listener, router, stop.clone()));
    let running = Running { port, stop, entered: Arc::default(), task };
    has(&running.get("/healthz").await, &["200 OK", "\r\n\r\nok\n"]);
    has(&running.get("/readyz").await, &["200 OK", "\r\n\r\nok\n"]);
    let (stores, pipelines) = (ready.component("stores of home"), ready.component("pipelines"));
    stores.not_ready("3 of 5 kinds listed");
    let waiting = running.get("/readyz").await;
    has(&waiting, &["503 Service Unavailable", "\r\n\r\npipelines: starting\nstores of home: 3 of 5 kinds listed\n"]);
    pipelines.ready();
    stores.ready();
    has(&running.get("/readyz").await, &["200 OK"]);
    stores.impaired("2 of 5 kinds are out of date");
    has(&running.get("/readyz").await, &["200 OK", "\r\n\r\nok\nstores of home: 2 of 5 kinds are out of date\n"]);
    assert!(ready.is_ready());
    has(&running.get("/metrics").await, &["200 OK", "content-type: text/plain; version=0.0.4; charset=utf-8"]);
}
