//! A server in a process that can open no more files. The limit holds for the whole process, so this is its only test.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod support;

use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use support::{Running, has, server};

const SOON: Duration = Duration::from_secs(5);

/// Leaves descriptors for so many more files, and returns the limit before.
fn leave(count: usize) -> Rlimit {
    let before = getrlimit(Resource::Nofile);
    let is_free = |number: &u64| std::fs::symlink_metadata(format!("/proc/self/fd/{number}")).is_err();
    // The limit is one of numbers, and the lowest free number is used first.
    let last = (0..).filter(is_free).nth(count - 1).unwrap();
    let limit = Rlimit { current: Some(last + 1), maximum: before.maximum };
    setrlimit(Resource::Nofile, limit).unwrap();
    before
}

async fn answer(mut stream: TcpStream, request: &[u8]) -> String {
    let _ = stream.write_all(request).await;
    let mut text = String::new();
    let _ = timeout(SOON, stream.read_to_string(&mut text)).await.expect("no response");
    text
}

#[tokio::test]
async fn running_out_of_descriptors_closes_idle_connections_then_refuses_and_never_ends_the_server() {
    const GET: &[u8] = b"GET /id HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    let running = Running::start(server()).await;
    has(&running.get("/id").await, &["200 OK"]);
    let mut idle = Vec::new();
    for _ in 0..3 {
        let mut stream = running.connect().await;
        stream.write_all(b"GET /id HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
        assert!(stream.read(&mut [0; 1024]).await.unwrap() > 0);
        idle.push(stream);
    }
    // Connections that have just become idle are not closed.
    tokio::time::sleep(Duration::from_millis(150)).await;
    // One descriptor, which the client takes.
    let before = leave(1);
    has(&answer(running.connect().await, GET).await, &["200 OK"]);
    assert_eq!(timeout(SOON, idle[0].read(&mut [0; 1])).await.unwrap().unwrap_or(0), 0, "an idle one is closed");
    setrlimit(Resource::Nofile, before).unwrap();
    drop(idle);

    let mut busy = running.connect().await;
    busy.write_all(b"GET /stuck HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    running.entered(1).await;
    let before = leave(1);
    let client = running.connect().await;
    has(&answer(client, GET).await, &["503 Service Unavailable"]);
    setrlimit(Resource::Nofile, before).unwrap();
    has(&running.get("/id").await, &["200 OK"]);
    assert!(!running.task.is_finished());
}
