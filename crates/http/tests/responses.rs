//! What holds for all requests and responses of a connection: hosts, bodies that are not read, and headers of
//! errors.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod support;

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use support::{Running, has, server};

const GET_AND_END: &str = "GET /peer HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";

#[tokio::test]
async fn a_request_without_a_host_or_with_two_gets_400() {
    let running = Running::start(server()).await;
    for head in ["GET /id HTTP/1.1\r\n", "GET /id HTTP/1.1\r\nhost: a\r\nhost: b\r\n", "GET http://a/id HTTP/1.1\r\n"] {
        let refused = running.send(&format!("{head}connection: close\r\n\r\n")).await;
        has(&refused, &["400 Bad Request", "a request needs exactly one header Host\n", "nosniff", "x-request-id: "]);
    }
    has(&running.send("GET /id HTTP/1.0\r\n\r\n").await, &["200 OK"]);
    has(&running.send("GET /id HTTP/1.0\r\nhost: a\r\nhost: a\r\n\r\n").await, &["400 Bad Request"]);
}

#[tokio::test]
async fn a_connection_that_ends_after_an_unread_body_is_announced_to_end() {
    let running = Running::start(server()).await;
    for (path, status) in [("/nothing", "404"), ("/id", "405"), ("/echo", "413")] {
        for body in ["content-length: 10000000\r\n\r\nabc", "transfer-encoding: chunked\r\n\r\nfff\r\nabc"] {
            let mut stream = running.connect().await;
            stream.write_all(format!("POST {path} HTTP/1.1\r\nhost: a\r\n{body}").as_bytes()).await.unwrap();
            // As much as the handler of `/echo` reads before it refuses the body.
            stream.write_all(&[b'x'; 100]).await.unwrap();
            let mut answer = String::new();
            let _ = timeout(Duration::from_secs(10), stream.read_to_string(&mut answer)).await.unwrap();
            has(&answer, &[status, "connection: close"]);
        }
    }
}

#[tokio::test]
async fn a_short_body_that_no_handler_reads_leaves_the_connection_to_the_next_request() {
    let running = Running::start(server()).await;
    let body = "x".repeat(60_000);
    let answers = running
        .send(&format!("POST /nothing HTTP/1.1\r\nhost: a\r\ncontent-length: 60000\r\n\r\n{body}{GET_AND_END}"))
        .await;
    has(&answers, &["404 Not Found", "200 OK", "\r\n\r\n127.0.0.1"]);
    assert_eq!(answers.matches("connection: close").count(), 1, "{answers}");
}

#[tokio::test]
async fn a_client_that_waits_for_permission_to_send_its_body_gets_its_refusal_at_once() {
    let running = Running::start(server()).await;
    let head = "POST /nothing HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\nexpect: 100-continue\r\n\r\n";
    let answer = timeout(Duration::from_secs(1), running.send(head)).await.unwrap();
    has(&answer, &["HTTP/1.1 404 Not Found", "connection: close"]);
}

#[tokio::test]
async fn errors_without_a_text_have_nosniff_too() {
    let running = Running::start(server()).await;
    has(&running.get("/bare").await, &["403 Forbidden", "x-content-type-options: nosniff"]);
    assert!(!running.get("/id").await.contains("nosniff"));
}
