//! Attacks on a server on a real socket: clients that take connections and leave none for others. Each client of an
//! attack has an address of its own if it says so.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};
use std::time::{Duration, Instant};

use berth_http::metrics::HttpMetrics;
use berth_http::{Limits, Readiness, Server, health};
use berth_telemetry::metrics::Metrics;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use support::{Running, has};

const GET: &[u8] = b"GET /id HTTP/1.1\r\nhost: a\r\n\r\n";
const STUCK: &[u8] = b"GET /stuck HTTP/1.1\r\nhost: a\r\n\r\n";
/// For what must happen at once, on a machine that does other work too.
const SOON: Duration = Duration::from_secs(5);

struct Attacked {
    running: Running,
    registry: Metrics,
    entered: usize,
}

impl Attacked {
    /// A server with so many connections, and peers `127.0.0.number` that may have more than a quarter of them.
    async fn start(connections: usize, trusted: &[u8]) -> Self {
        let trusted: BTreeSet<_> = trusted.iter().map(|number| [127, 0, 0, *number].into()).collect();
        let limits = Limits::default().with_connections(connections, trusted);
        let registry = Metrics::new(&BTreeMap::new()).unwrap();
        let server = Server::new("test").with_limits(limits).with_metrics(&HttpMetrics::register(&registry).unwrap());
        Self { running: Running::start(server).await, registry, entered: 0 }
    }

    /// A connection whose request is never answered.
    async fn busy(&mut self, from: u8) -> TcpStream {
        let mut stream = self.running.connect_from(from).await;
        stream.write_all(STUCK).await.unwrap();
        self.entered += 1;
        timeout(SOON, self.running.entered(self.entered)).await.unwrap();
        stream
    }

    async fn connections(&self, count: usize) {
        let line = format!("berth_http_connections{{server=\"test\"}} {count}\n");
        let reached = timeout(SOON, async {
            while !self.registry.render().contains(&line) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        });
        reached.await.unwrap_or_else(|_| panic!("not {count} connections: {}", self.registry.render()));
    }

    fn counts(&self, metric: &str, reason: &str, count: usize) {
        let line = format!("berth_http_connections_{metric}_total{{reason=\"{reason}\",server=\"test\"}} {count}\n");
        let text = self.registry.render();
        assert!(text.contains(&line), "{line}is not in\n{text}");
    }
}

/// A response on a connection that stays open, or everything until it is closed.
async fn answer(stream: &mut TcpStream) -> String {
    let mut buffer = [0; 1024];
    let read = timeout(SOON, stream.read(&mut buffer)).await.expect("neither a response nor an end");
    String::from_utf8_lossy(&buffer[..read.unwrap_or(0)]).into_owned()
}

async fn get_from(running: &Running, from: u8) -> String {
    let mut stream = running.connect_from(from).await;
    // A connection that is refused may be closed before the request is sent.
    let _ = stream.write_all(GET).await;
    answer(&mut stream).await
}

#[tokio::test]
async fn silent_connections_give_way_to_a_client_with_a_request() {
    let attacked = Attacked::start(16, &[]).await;
    let mut silent = Vec::new();
    for number in 0..40 {
        silent.push(attacked.running.connect_from(10 + number / 4).await);
    }
    attacked.connections(16).await;
    has(&get_from(&attacked.running, 2).await, &["200 OK"]);
    assert_eq!(answer(&mut silent[0]).await, "", "the first one is closed");
    attacked.counts("closed", "displaced", 25);
}

/// Nothing in this test lets the server run until all clients have connected, so that no request is seen before its
/// connection gives way.
#[tokio::test]
async fn a_request_on_a_connection_that_gives_way_gets_503_and_no_reset() {
    let attacked = Attacked::start(1, &[]).await;
    tokio::task::yield_now().await;
    let address = ("127.0.0.1", attacked.running.port);
    let mut clients: Vec<_> = (0..3).map(|_| std::net::TcpStream::connect(address).unwrap()).collect();
    for client in &mut clients {
        client.write_all(b"GET /id HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").unwrap();
        client.set_read_timeout(Some(SOON)).unwrap();
    }
    let read = tokio::task::spawn_blocking(move || {
        let texts = clients.iter_mut().map(|client| {
            let mut text = String::new();
            client.read_to_string(&mut text).map(|_| text)
        });
        texts.collect::<Result<Vec<_>, _>>()
    });
    let texts = read.await.unwrap().unwrap();
    has(&texts[0], &["503 Service Unavailable", "retry-after: 1", "connection: close"]);
    has(&texts[1], &["503 Service Unavailable"]);
    has(&texts[2], &["200 OK"]);
    attacked.counts("closed", "displaced", 2);
}

#[tokio::test]
async fn connections_that_were_answered_give_way_too() {
    let attacked = Attacked::start(8, &[]).await;
    let mut idle = Vec::new();
    for number in 0..8 {
        let mut stream = attacked.running.connect_from(10 + number / 2).await;
        stream.write_all(GET).await.unwrap();
        has(&answer(&mut stream).await, &["200 OK"]);
        idle.push(stream);
    }
    has(&get_from(&attacked.running, 2).await, &["200 OK"]);
    assert_eq!(answer(&mut idle[0]).await, "");
}

#[tokio::test]
async fn a_connection_above_the_limit_gets_503_at_once_when_none_is_idle() {
    let mut attacked = Attacked::start(8, &[10]).await;
    let mut busy = Vec::new();
    for _ in 0..8 {
        busy.push(attacked.busy(10).await);
    }
    for from in 2..5 {
        let refused = get_from(&attacked.running, from).await;
        let parts = ["503 Service Unavailable", "nosniff", "retry-after: 1", "connection: close"];
        has(&refused, &parts);
        has(&refused, &["\r\n\r\ntoo many connections; try again\n"]);
    }
    let mut unsaid = attacked.running.connect_from(2).await;
    let mut text = String::new();
    timeout(SOON, unsaid.read_to_string(&mut text)).await.unwrap().unwrap();
    has(&text, &["503 Service Unavailable"]);
    attacked.counts("refused", "limit", 4);
    busy.pop();
    attacked.connections(7).await;
    has(&get_from(&attacked.running, 2).await, &["200 OK"]);
}

#[tokio::test]
async fn one_address_takes_a_quarter_of_the_connections_at_most() {
    let mut attacked = Attacked::start(16, &[9]).await;
    let mut busy = Vec::new();
    for _ in 0..4 {
        busy.push(attacked.busy(10).await);
    }
    has(&get_from(&attacked.running, 10).await, &["503 Service Unavailable"]);
    attacked.counts("refused", "peer", 1);
    has(&get_from(&attacked.running, 2).await, &["200 OK"]);
    for _ in 0..5 {
        busy.push(attacked.busy(9).await);
    }
}

#[tokio::test]
async fn addresses_that_authenticated_before_have_connections_of_their_own() {
    let mut attacked = Attacked::start(16, &[10]).await;
    let mut member = attacked.running.connect_from(2).await;
    member.write_all(b"GET /login HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    has(&answer(&mut member).await, &["200 OK"]);
    drop(member);
    attacked.connections(0).await;
    let mut busy = Vec::new();
    for _ in 0..14 {
        busy.push(attacked.busy(10).await);
    }
    has(&get_from(&attacked.running, 3).await, &["503 Service Unavailable"]);
    attacked.counts("refused", "reserved", 1);
    has(&get_from(&attacked.running, 2).await, &["200 OK"]);
}

#[tokio::test]
async fn idle_connections_end_sooner_in_a_full_pool() {
    let attacked = Attacked::start(4, &[]).await;
    let mut idle = Vec::new();
    for number in 0..4 {
        let mut stream = attacked.running.connect_from(10 + number).await;
        stream.write_all(GET).await.unwrap();
        has(&answer(&mut stream).await, &["200 OK"]);
        idle.push(stream);
    }
    assert_eq!(answer(&mut idle[0]).await, "", "one second above nine tenths");
    attacked.counts("closed", "idle", 1);
}

const LONG: usize = 32 << 20;

/// The port of a server with a long response at `/long`.
async fn serve_long(limits: Limits) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let long = axum::routing::get(|| async { "x".repeat(LONG) });
    let router = axum::Router::new().route("/long", long).route("/id", axum::routing::get(|| async {}));
    tokio::spawn(Server::new("test").with_limits(limits).serve(listener, router, CancellationToken::new()));
    port
}

#[tokio::test]
async fn a_client_that_does_not_read_its_response_is_disconnected() {
    let port = serve_long(Limits { pause: Duration::from_millis(300), ..Limits::default() }).await;
    let mut reader = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    reader.write_all(b"GET /long HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut response = Vec::new();
    let _ = timeout(SOON, reader.read_to_end(&mut response)).await.expect("the connection is still open");
    assert!(response.len() < LONG, "{}", response.len());
}

#[tokio::test]
async fn a_long_response_keeps_its_connection_busy_until_it_is_read() {
    let limits = Limits::default().with_connections(1, BTreeSet::new());
    let port = serve_long(limits).await;
    let mut reader = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    reader.write_all(b"GET /long HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    let mut start = [0; 1024];
    reader.read_exact(&mut start).await.unwrap();
    let mut second = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    has(&answer(&mut second).await, &["503 Service Unavailable"]);
    let mut rest = vec![0; LONG];
    let mut read = 0;
    while read < LONG - start.len() {
        read += timeout(SOON, reader.read(&mut rest)).await.unwrap().unwrap();
    }
    let mut third = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    third.write_all(GET).await.unwrap();
    has(&answer(&mut third).await, &["200 OK"]);
}

/// The runtime of this test does nothing but wait for a blocking read.
#[tokio::test]
async fn probes_answer_while_every_other_thread_is_busy() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (stop, router) = (CancellationToken::new(), health::router(Readiness::new(), Readiness::new()));
    let server = Server::new("probes").serve_apart(listener, router, stop.clone());
    let serving = tokio::spawn(server);
    tokio::task::yield_now().await;
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").unwrap();
    let (mut text, started) = (String::new(), Instant::now());
    stream.read_to_string(&mut text).unwrap();
    has(&text, &["200 OK", "\r\n\r\nok\n"]);
    assert!(started.elapsed() < SOON);
    stop.cancel();
    timeout(SOON, serving).await.unwrap().unwrap().unwrap();
}
