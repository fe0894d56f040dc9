//! A Content-Length that is no number, over a real socket: the last of Placement's own tests that HTTP libraries refuse to send.

use berth_http::Server as Listener;
use berth_placement::protocol::length_guard;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use crate::support::Server;

async fn said(head: &str) -> String {
    let router = Server::new().router;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let stop = CancellationToken::new();
    let server = Listener::new("placement").with_refused(length_guard::refused(router.clone()));
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
