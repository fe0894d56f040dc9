//! A listener with TLS, which serves probes without it.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod support;

use std::time::{Duration, Instant};

use axum::Router;
use axum::routing::get;
use berth_http::{Limits, Tls, answer};
use berth_testkit::connect_tls;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use support::{Running, has, server};

/// Sends a request and reads to the end.
async fn answer_of(mut stream: impl AsyncRead + AsyncWrite + Unpin, path: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

async fn running(limits: Limits) -> Running {
    let plain = answer::refusals(Router::new().route("/healthz", get(async || "ok")));
    let tls = Tls::self_signed(vec!["localhost".to_owned()]).unwrap();
    Running::start(server().with_limits(limits).with_tls(tls, plain)).await
}

#[tokio::test]
async fn routes_are_served_over_tls_and_probes_without() {
    let running = running(Limits::default()).await;
    for is_newest in [false, true] {
        let secure = async || connect_tls(running.connect().await, is_newest).await.unwrap();
        has(&answer_of(secure().await, "/peer").await, &["200 OK", "x-request-id: ", "127.0.0.1"]);
        has(&answer_of(secure().await, "/healthz").await, &["404 Not Found"]);
    }
    has(&running.get("/healthz").await, &["200 OK", "x-request-id: ", "\r\n\r\nok"]);
    has(&running.get("/peer").await, &["404 Not Found", "no such path"]);
}

#[tokio::test]
async fn many_requests_and_large_answers_pass_through_one_connection() {
    let running = running(Limits::default()).await;
    let mut stream = connect_tls(running.connect().await, true).await.unwrap();
    for _ in 0..20 {
        stream.write_all(b"GET /item/x HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
        let mut answer = [0; 4096];
        let read = stream.read(&mut answer).await.unwrap();
        has(&String::from_utf8_lossy(&answer[..read]), &["200 OK", "[\"a\"]\n"]);
    }
}

/// Each holds a connection for as long as the headers of a request may take.
#[tokio::test]
async fn clients_that_begin_no_handshake_or_do_not_end_it_are_given_up() {
    let headers = Duration::from_millis(300);
    let running = running(Limits { headers, idle: Duration::from_secs(60), ..Limits::default() }).await;
    let started = Instant::now();
    for first in [&b""[..], b"\x16", b"\x16\x03\x01\x02\x00\x01", b"\x16garbage that is no handshake at all"] {
        let mut stream = running.connect().await;
        stream.write_all(first).await.unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await;
        assert!(!rest.starts_with(b"HTTP"), "{rest:?}");
    }
    assert!(started.elapsed() < Duration::from_secs(10));
    has(&running.get("/healthz").await, &["200 OK"]);
    running.stop.cancel();
    running.task.await.unwrap().unwrap();
}
