//! Minimal HTTP requests to the operator's listeners.

use std::net::SocketAddr;
use std::time::Duration;

use berth_testkit::connect_tls;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Longer than a request of Nova waits for a leader, and than a disk that compilers use as well takes for a write.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// The answer to a POST request.
#[derive(Debug)]
pub struct Posted {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Posted {
    /// The value of a header; the case of its name is ignored.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.head.lines().filter_map(|line| line.split_once(": "));
        headers.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

/// Sends a body with POST; `None` without an answer.
pub async fn post(address: SocketAddr, path: &str, body: &[u8]) -> Option<Posted> {
    send(address, "POST", path, body.len(), body).await
}

/// Sends a request whose declared length differs from that of its body.
pub async fn send(address: SocketAddr, method: &str, path: &str, declared: usize, body: &[u8]) -> Option<Posted> {
    timeout(ANSWER_WITHIN, send_and_wait(address, method, path, declared, body)).await.ok().flatten()
}

/// Like `send`, without a timeout; `None` when the connection breaks.
pub async fn send_and_wait(
    address: SocketAddr,
    method: &str,
    path: &str,
    declared: usize,
    body: &[u8],
) -> Option<Posted> {
    let mut stream = TcpStream::connect(address).await.ok()?;
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {declared}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.ok()?;
    // A server that refuses a request need not read all of it.
    let _ = stream.write_all(body).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    let answer = String::from_utf8(answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(Posted { status, head: head.to_owned(), body: body.to_owned() })
}

/// Status and body; `None` without an answer.
pub async fn get(address: SocketAddr, path: &str) -> Option<(u16, String)> {
    get_as(address, path, None).await
}

/// The same, with these credentials.
pub async fn get_as(address: SocketAddr, path: &str, authorization: Option<&str>) -> Option<(u16, String)> {
    let asked = async { exchange(TcpStream::connect(address).await.ok()?, path, authorization).await };
    timeout(ANSWER_WITHIN, asked).await.ok().flatten()
}

/// The same over TLS, with any certificate.
pub async fn get_secure(address: SocketAddr, path: &str, authorization: Option<&str>) -> Option<(u16, String)> {
    let asked = async {
        let stream = connect_tls(TcpStream::connect(address).await.ok()?, true).await.ok()?;
        exchange(stream, path, authorization).await
    };
    timeout(ANSWER_WITHIN, asked).await.ok().flatten()
}

async fn exchange(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    path: &str,
    authorization: Option<&str>,
) -> Option<(u16, String)> {
    let shown = authorization.map(|shown| format!("Authorization: {shown}\r\n")).unwrap_or_default();
    let request = format!("GET {path} HTTP/1.1\r\nHost: berth\r\nConnection: close\r\n{shown}\r\n");
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.ok()?;
    let status = answer.split(' ').nth(1)?.parse().ok()?;
    let (_, body) = answer.split_once("\r\n\r\n")?;
    Some((status, body.to_owned()))
}

/// The sum of the samples of a counter whose line has all these words.
pub fn sum(text: &str, metric: &str, words: &[&str]) -> u64 {
    let lines = text.lines().filter(|line| {
        let rest = line.strip_prefix(metric).unwrap_or_default();
        rest.starts_with(['{', ' ']) && words.iter().all(|word| rest.contains(word))
    });
    lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
}
