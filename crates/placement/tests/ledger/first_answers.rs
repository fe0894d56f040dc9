//! What a server answers while its model is being built.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use berth_http::Access;
use berth_placement::ledger::Operated as _;
use berth_placement::ledger::postgres::PostgresLedger;
use berth_placement::serve::{Settings, serve};
use berth_placement::{GenerationOptions, policy};
use berth_telemetry::metrics::Metrics;
use sqlx::{Connection as _, Executor as _, PgConnection};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::world::{Still, fresh_database, metrics};

async fn connected(address: SocketAddr) -> TcpStream {
    for _ in 0..500 {
        if let Ok(stream) = TcpStream::connect(address).await {
            return stream;
        }
        sleep(Duration::from_millis(10)).await;
    }
    panic!("nothing listens at {address}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_request_waits_for_the_ledger() {
    let url = fresh_database().await;
    PostgresLedger::open(&url, Arc::new(Still), metrics()).await.unwrap().close().await;
    let mut lock = PgConnection::connect(&url).await.unwrap();
    // The model cannot be read as long as this is held.
    lock.execute("BEGIN; LOCK TABLE inventories IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap().local_addr().unwrap();
    let settings = Settings {
        listen: address.to_string().parse().unwrap(),
        metrics_listen: None,
        metrics_readers: None,
        tls: None,
        connections: 64,
        trusted_peers: BTreeSet::new(),
        database: url.parse().unwrap(),
        authentication: None,
        access: Access::Open,
        policies: policy::defaults(true),
        cors: None,
        generation: GenerationOptions::default(),
        randomize: false,
    };
    let stop = CancellationToken::new();
    let server = tokio::spawn(serve(settings, Metrics::new(&BTreeMap::new()).unwrap(), stop.clone()));
    let mut client = connected(address).await;
    client.write_all(b"GET /resource_providers HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
    sleep(Duration::from_millis(500)).await;
    lock.execute("ROLLBACK").await.unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    stop.cancel();
    server.await.unwrap().unwrap();
}
