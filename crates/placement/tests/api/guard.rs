//! Connections over a real socket: bodies that the server does not read.

use axum::body::Body;
use axum::http::Request;
use axum::http::header::{CONNECTION, CONTENT_LENGTH};
use berth_http::Server as Listener;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use crate::support::Server;

/// The answer of a server until it closes the connection.
async fn text(head: &str) -> String {
    let router = Server::new().router;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let stop = CancellationToken::new();
    let task = tokio::spawn(Listener::new("placement").serve(listener, router, stop.clone()));
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer).await;
    stop.cancel();
    task.await.unwrap().unwrap();
    answer
}

/// The server answers 401 before it reads the body, which is longer than the part that arrives with the head.
#[tokio::test]
async fn a_refused_request_leaves_its_connection_to_the_next_one() {
    let body = "x".repeat(60_000);
    let head =
        "POST /resource_providers HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 60000";
    let next = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let answers = text(&format!("{head}\r\n\r\n{body}{next}")).await;
    assert!(answers.starts_with("HTTP/1.1 401 Unauthorized\r\n"), "{answers}");
    assert!(answers.contains("x-content-type-options: nosniff\r\n"), "{answers}");
    assert!(answers.contains("HTTP/1.1 200 OK\r\n"), "{answers}");
}

#[tokio::test]
async fn a_request_without_a_body_leaves_its_connection_to_the_next_one() {
    let first =
        "GET /traits HTTP/1.1\r\nHost: a\r\nX-Auth-Token: admin\r\nOpenStack-API-Version: placement 1.6\r\n\r\n";
    let answers = text(&format!("{first}GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")).await;
    assert_eq!(answers.matches("HTTP/1.1 200 OK\r\n").count(), 2, "{answers}");
}

#[tokio::test]
async fn a_connection_that_ends_after_a_body_that_is_too_long_to_skip_is_reported_to_end() {
    for (length, ends) in [(60_000, false), (70_000, true)] {
        let request = Request::post("/resource_providers").header(CONTENT_LENGTH, length);
        let request = request.body(Body::from(vec![b'x'; length])).unwrap();
        let answer = Server::new().router.oneshot(request).await.unwrap();
        assert_eq!(answer.status(), 401);
        assert_eq!(answer.headers().contains_key(CONNECTION), ends, "{length}");
    }
}
