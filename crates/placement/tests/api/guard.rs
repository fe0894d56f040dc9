//! Connections, over a real socket: a Content-Length that is no number, which HTTP libraries refuse to send, and bodies that
//! nobody reads.

use axum::body::Body;
use axum::http::Request;
use axum::http::header::{CONNECTION, CONTENT_LENGTH};
use berth_http::Server as Listener;
use berth_placement::Policies;
use berth_placement::protocol::cors::Cors;
use berth_placement::protocol::refused::refused;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use crate::support::Server;

async fn said(head: &str) -> String {
    told(head, None).await
}

/// What a server with this CORS sends until it closes the connection.
async fn told(head: &str, cors: Option<Cors>) -> String {
    let router = Server::with(|api| api.with_cors(cors.clone()), Policies::defaults(false)).router;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let stop = CancellationToken::new();
    let server = Listener::new("placement").with_refused(refused(router.clone(), cors));
    let task = tokio::spawn(server.serve(listener, router, stop.clone()));
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer).await;
    stop.cancel();
    task.await.unwrap().unwrap();
    answer
}

#[tokio::test]
async fn document_51_section_1_1_step_5_over_a_socket() {
    let head = |more: &str| {
        format!("POST /resource_providers HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n{more}\r\n\r\n{{}}")
    };
    let answer =
        said(&head("X-Auth-Token: admin\r\nContent-Length: hi mom\r\nOpenStack-API-Version: placement 1.23")).await;
    assert!(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{answer}");
    for part in [
        "content-length header must be an integer",
        "openstack-api-version: placement 1.23\r\n",
        "placement.undefined_code",
    ] {
        assert!(answer.contains(part), "{part} is not in {answer}");
    }
    let nobody = said(&head("Content-Length: hi mom")).await;
    assert!(nobody.starts_with("HTTP/1.1 401 Unauthorized\r\n"), "{nobody}");
    let other = said(&head("X-Auth-Token: admin\r\nContent-Length: 1\r\nContent-Length: 2")).await;
    assert!(other.starts_with("HTTP/1.1 400 Bad Request\r\n") && !other.contains("errors"), "{other}");
}

/// 401 is said before the body is read, and the body is longer than what comes with the head.
#[tokio::test]
async fn a_refused_request_leaves_its_connection_to_the_next_one() {
    let body = "x".repeat(60_000);
    let head =
        "POST /resource_providers HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 60000";
    let next = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let answers = said(&format!("{head}\r\n\r\n{body}{next}")).await;
    assert!(answers.starts_with("HTTP/1.1 401 Unauthorized\r\n"), "{answers}");
    assert!(answers.contains("HTTP/1.1 200 OK\r\n"), "{answers}");
}

#[tokio::test]
async fn a_request_without_a_body_leaves_its_connection_to_the_next_one() {
    let first =
        "GET /traits HTTP/1.1\r\nHost: a\r\nX-Auth-Token: admin\r\nOpenStack-API-Version: placement 1.6\r\n\r\n";
    let answers = said(&format!("{first}GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")).await;
    assert_eq!(answers.matches("HTTP/1.1 200 OK\r\n").count(), 2, "{answers}");
}

#[tokio::test]
async fn a_connection_that_ends_after_a_body_that_is_too_long_to_skip_is_said_to_end() {
    for (length, ends) in [(60_000, false), (70_000, true)] {
        let request = Request::post("/resource_providers").header(CONTENT_LENGTH, length);
        let request = request.body(Body::from(vec![b'x'; length])).unwrap();
        let answer = Server::new().router.oneshot(request).await.unwrap();
        assert_eq!(answer.status(), 401);
        assert_eq!(answer.headers().contains_key(CONNECTION), ends, "{length}");
    }
}

/// What the library refuses, and what the API says of a Content-Length, over a socket.
#[tokio::test]
async fn pages_of_other_sites_may_read_what_is_refused_before_any_handler() {
    let cors = || Cors::new(vec!["http://valid.example.com".to_owned()], &[]);
    let head = |origin: &str, more: &str| {
        format!("GET / HTTP/1.1\r\nHost: a\r\nX-Auth-Token: admin\r\nOrigin: {origin}\r\n{more}\r\n")
    };
    let many = "X: y\r\n".repeat(200);
    for (status, more) in [
        (400, "Content-Type: a/b\r\nContent-Length: hi mom\r\n"),
        (400, "Content-Type: a/b\r\nContent-Length: 1\r\nContent-Length: 2\r\n"),
        (400, "no colon\r\n"),
        (431, many.as_str()),
    ] {
        let answer = told(&head("http://valid.example.com", more), cors()).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        assert!(answer.contains("\r\naccess-control-allow-origin: http://valid.example.com\r\n"), "{answer}");
        assert!(answer.contains("\r\nvary: ") && answer.contains("\r\nconnection: close\r\n"), "{answer}");
        for (origin, cors) in [("http://invalid.example.com", cors()), ("http://valid.example.com", None)] {
            let answer = told(&head(origin, more), cors).await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
            assert!(!answer.contains("access-control"), "{answer}");
        }
    }
}
