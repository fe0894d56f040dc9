//! What clients can write into the log. The first subscriber of a process decides what is logged, so this is its only test.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "tests")]

mod support;

use std::io::Write;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use support::{Running, has, server};

/// A log in memory.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn refusals_are_logged_once_per_peer_and_minute() {
    let lines = Lines::default();
    let writer = lines.clone();
    let log = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
    let _log = tracing::subscriber::set_default(log);
    let running = Running::start(server()).await;
    for _ in 0..20 {
        has(&running.get("/nothing").await, &["404"]);
        has(&running.get("/panic").await, &["500"]);
    }
    let mut other = running.connect_from(2).await;
    other.write_all(b"GET /nothing HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await.unwrap();
    other.read_to_end(&mut Vec::new()).await.unwrap();
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    assert_eq!(text.matches("request refused").count(), 2, "{text}");
    assert_eq!(text.matches("request failed").count(), 1, "{text}");
    has(&text, &["peer=127.0.0.1 ", "peer=127.0.0.2 ", "http_status=404"]);
}
