//! Connections that are reserved for clients whose credentials were accepted before.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue};
use berth_http::{Limits, Server};
use berth_openstack::authentication::{Authentication, Caller, NoAuth2, Unknown};
use berth_placement::{Api, policy};
use futures::future::{BoxFuture, pending, ready};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::in_memory::InMemory;

/// For what must happen at once, on a machine that does other work too.
const SOON: Duration = Duration::from_secs(5);
const CONNECTIONS: usize = 16;
/// The seven eighths for addresses that are not known.
const UNKNOWN: usize = 14;
/// It may have all connections.
const ATTACKER: u8 = 10;

/// Accepts one token, and does not know about another one for as long as it is asked.
#[derive(Default)]
struct OneToken {
    undecided: Arc<AtomicUsize>,
}

impl Authentication for OneToken {
    fn caller<'a>(&'a self, headers: &'a HeaderMap, _: Instant) -> BoxFuture<'a, Result<Caller, Unknown>> {
        let token = headers.get("x-auth-token").map(HeaderValue::as_bytes);
        if token == Some(b"slow") {
            self.undecided.fetch_add(1, Ordering::SeqCst);
            return Box::pin(pending());
        }
        let caller = || Caller { roles: vec!["admin".to_owned()], ..Caller::default() };
        Box::pin(ready((token == Some(b"good")).then(caller).ok_or(Unknown::Unauthorized)))
    }
}

async fn serve(authentication: Arc<dyn Authentication>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let router = Api::new(Arc::new(InMemory::default()), authentication, policy::defaults(false)).router();
    let trusted = BTreeSet::from([[127, 0, 0, ATTACKER].into()]);
    let limits = Limits::default().with_connections(CONNECTIONS, trusted);
    tokio::spawn(Server::new("test").with_limits(limits).serve(listener, router, CancellationToken::new()));
    port
}

async fn connect(port: u16, from: u8) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(([127, 0, 0, from], 0).into()).unwrap();
    socket.connect(([127, 0, 0, 1], port).into()).await.unwrap()
}

async fn status(stream: &mut TcpStream) -> String {
    let mut begin = [0; 12];
    let read = timeout(SOON, stream.read_exact(&mut begin)).await.expect("no response");
    read.map(|_| String::from_utf8_lossy(&begin[9..]).into_owned()).unwrap_or_default()
}

/// The status of a request that sends this token.
async fn get(port: u16, from: u8, token: &str) -> String {
    let mut stream = connect(port, from).await;
    let request =
        format!("GET /resource_providers HTTP/1.1\r\nhost: a\r\nconnection: close\r\nx-auth-token: {token}\r\n\r\n");
    // A connection that is refused may be closed before the request is sent.
    let _ = stream.write_all(request.as_bytes()).await;
    status(&mut stream).await
}

#[tokio::test]
async fn clients_whose_token_was_accepted_have_connections_when_others_take_all() {
    let authentication = OneToken::default();
    let undecided = authentication.undecided.clone();
    let port = serve(Arc::new(authentication)).await;
    assert_eq!(get(port, 3, "wrong").await, "401");
    assert_eq!(get(port, 2, "good").await, "200");
    let mut busy = Vec::new();
    for count in 1..=UNKNOWN {
        let mut stream = connect(port, ATTACKER).await;
        stream.write_all(b"GET /resource_providers HTTP/1.1\r\nhost: a\r\nx-auth-token: slow\r\n\r\n").await.unwrap();
        let asked = timeout(SOON, async {
            while undecided.load(Ordering::SeqCst) < count {
                sleep(Duration::from_millis(2)).await;
            }
        });
        asked.await.expect("the connection is not served");
        busy.push(stream);
    }
    assert_eq!(get(port, 3, "wrong").await, "503", "it was not accepted");
    assert_eq!(get(port, 2, "good").await, "200");
}

#[tokio::test]
async fn clients_that_only_state_who_they_are_have_none_of_their_own() {
    let port = serve(Arc::new(NoAuth2)).await;
    assert_eq!(get(port, 2, "admin").await, "200");
    let mut busy = Vec::new();
    for _ in 0..UNKNOWN {
        let mut stream = connect(port, ATTACKER).await;
        let head = "POST /resource_providers HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n\
            content-length: 9\r\nexpect: 100-continue\r\n\r\n";
        stream.write_all(head.as_bytes()).await.unwrap();
        assert_eq!(status(&mut stream).await, "100", "the server waits 2 s for the body before it refuses");
        busy.push(stream);
    }
    assert_eq!(get(port, 3, "admin").await, "200", "nothing is reserved");
}
