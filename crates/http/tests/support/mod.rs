//! A server on a real socket for tests, and clients of it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    missing_docs,
    dead_code,
    reason = "tests, each of which uses a part"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::extract::ConnectInfo;
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Extension, Router};
use berth_http::{Content, HttpError, Limits, Peer, RequestId, Server, answer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub struct Running {
    pub port: u16,
    pub stop: CancellationToken,
    /// The number of requests of `/slow` and `/stuck` that have reached their handler.
    pub entered: Arc<AtomicUsize>,
    pub task: JoinHandle<Result<(), HttpError>>,
}

impl Running {
    pub async fn start(server: Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (port, stop) = (listener.local_addr().unwrap().port(), CancellationToken::new());
        let entered = Arc::new(AtomicUsize::new(0));
        let task = tokio::spawn(server.serve(listener, router(entered.clone()), stop.clone()));
        Self { port, stop, entered, task }
    }

    pub async fn connect(&self) -> TcpStream {
        TcpStream::connect(("127.0.0.1", self.port)).await.unwrap()
    }

    /// Connects from one of the addresses of this machine, `127.0.0.number`.
    pub async fn connect_from(&self, number: u8) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(([127, 0, 0, number], 0).into()).unwrap();
        socket.connect(([127, 0, 0, 1], self.port).into()).await.unwrap()
    }

    /// Waits until so many requests of `/slow` and `/stuck` have reached their handler.
    pub async fn entered(&self, count: usize) {
        while self.entered.load(Ordering::SeqCst) < count {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Sends bytes and reads until the server closes the connection.
    pub async fn send(&self, request: &str) -> String {
        let mut stream = self.connect().await;
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer).await;
        answer
    }

    pub async fn get(&self, path: &str) -> String {
        self.send(&format!("GET {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")).await
    }
}

fn router(entered: Arc<AtomicUsize>) -> Router {
    let also = entered.clone();
    let router = Router::new()
        .route("/echo", post(|Content(body): Content| async move { body }))
        .route("/id", get(|id: RequestId| async move { id.to_string() }))
        .route(
            "/peer",
            get(|ConnectInfo(peer): ConnectInfo<std::net::SocketAddr>| async move { peer.ip().to_string() }),
        )
        .route("/item/{name}", get(|| async { answer::json(StatusCode::OK, &["a"]) }))
        .route("/login", get(|Extension(peer): Extension<Peer>| async move { peer.mark_authenticated() }))
        .route("/bare", get(|| async { StatusCode::FORBIDDEN }))
        .route("/panic", get(on_purpose))
        .route("/slow", get(|| entering(entered, Duration::from_millis(500))))
        .route("/stuck", get(|| entering(also, Duration::from_secs(3600))));
    answer::refusals(router)
}

async fn entering(entered: Arc<AtomicUsize>, stay: Duration) {
    entered.fetch_add(1, Ordering::SeqCst);
    tokio::time::sleep(stay).await;
}

async fn on_purpose() -> StatusCode {
    panic!("on purpose")
}

pub fn server() -> Server {
    Server::new("test").with_limits(Limits::default().with_body(10))
}

pub fn has(answer: &str, parts: &[&str]) {
    for part in parts {
        assert!(answer.to_ascii_lowercase().contains(&part.to_ascii_lowercase()), "{part:?} is not in\n{answer}");
    }
}
