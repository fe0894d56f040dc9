//! Listeners with the certificate of files, and replicas that forward to each other.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{HeaderMap, Method};
use axum::routing::get;
use berth_telemetry::config::Tls as TlsKeys;
use berth_testkit::connect_tls;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::client::TlsStream as ClientStream;
use tokio_util::sync::CancellationToken;

use self::certificates::{Issuer, self_signed, write};
use super::*;
use crate::forwarder::Forwarder as _;
use crate::server::Server;
use crate::{Forward, answer};

pub(super) mod certificates;

const LONG: Duration = Duration::from_secs(20);

/// A server that ends with the test.
struct Served {
    address: SocketAddr,
    tls: TlsInForce,
    stop: CancellationToken,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Served {
    async fn with(keys: &TlsKeys) -> Self {
        let tls = TlsInForce::open(keys).unwrap().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, stop) = (listener.local_addr().unwrap(), CancellationToken::new());
        let server = Server::new("test").over_tls(&tls).unwrap();
        let router = answer::refusals(Router::new().route("/name", get(async || "berth")));
        tokio::spawn(server.serve(listener, router, stop.clone()));
        Self { address, tls, stop }
    }

    async fn connect(&self, is_newest: bool) -> io::Result<ClientStream<TcpStream>> {
        connect_tls(TcpStream::connect(self.address).await?, is_newest).await
    }

    /// What another replica with these files gets for a forwarded request.
    async fn forwarded_from(&self, folder: &Path) -> u16 {
        let keys = TlsKeys {
            cert_file: Some(folder.join("tls.crt")),
            key_file: Some(folder.join("tls.key")),
            ca_file: Some(folder.join("ca.crt")).filter(|path| path.exists()),
            ..TlsKeys::default()
        };
        let replica = Forward::new("replica", TlsInForce::open(&keys).unwrap().as_ref()).unwrap();
        let leader = format!("https://{}", self.address);
        let answer = replica.forward(&leader, Method::GET, "/name", Bytes::new(), &HeaderMap::new(), LONG).await;
        answer.status().as_u16()
    }
}

async fn ask(stream: &mut ClientStream<TcpStream>) -> String {
    stream.write_all(b"GET /name HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    let mut answer = vec![0; 4096];
    let read = stream.read(&mut answer).await.unwrap();
    String::from_utf8(answer[..read].to_vec()).unwrap()
}

fn shown(stream: &ClientStream<TcpStream>) -> Vec<u8> {
    stream.get_ref().1.peer_certificates().unwrap()[0].to_vec()
}

#[tokio::test]
async fn a_changed_certificate_is_for_new_connections_and_open_ones_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let served = Served::with(&write(folder.path(), &self_signed(&["a"]))).await;
    let mut open = served.connect(true).await.unwrap();
    assert!(ask(&mut open).await.contains("200 OK"));
    write(folder.path(), &self_signed(&["b"]));
    served.tls.reread();
    assert!(ask(&mut open).await.ends_with("berth"));
    let mut new = served.connect(true).await.unwrap();
    assert!(ask(&mut new).await.ends_with("berth"));
    assert_ne!(shown(&open), shown(&new));
}

#[tokio::test]
async fn clients_without_tls_or_with_a_version_that_is_too_old_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let keys = write(folder.path(), &self_signed(&["a"]));
    let served = Served::with(&keys).await;
    assert!(served.connect(false).await.is_ok());
    let mut plain = TcpStream::connect(served.address).await.unwrap();
    plain.write_all(b"GET /name HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    plain.read_to_string(&mut answer).await.unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 400") && answer.contains("this is served over HTTPS; begin the URL with https://"),
        "{answer}"
    );
    let newest_only = Served::with(&TlsKeys { min_version: TlsVersion::V1_3, ..keys }).await;
    assert!(newest_only.connect(false).await.is_err() && newest_only.connect(true).await.is_ok());
}

#[tokio::test]
async fn replicas_forward_over_tls_to_those_that_share_the_certificate_or_its_authority() {
    let (leaders, other, unrelated) =
        (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (issuer, name) = (Issuer::new(), ["berth.example.org"]);
    let served = Served::with(&write(leaders.path(), &issuer.issue(&name))).await;
    write(other.path(), &issuer.issue(&name));
    write(unrelated.path(), &self_signed(&name));
    assert_eq!(served.forwarded_from(leaders.path()).await, 200);
    assert_eq!(served.forwarded_from(other.path()).await, 200, "renewed on one of them only");
    assert_eq!(served.forwarded_from(unrelated.path()).await, 503);
}
