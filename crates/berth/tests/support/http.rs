//! A GET request to the operator's own listeners, in as few lines as that takes.

use std::{net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// Status and body; `None` when nobody answers.
pub async fn get(address: SocketAddr, path: &str) -> Option<(u16, String)> {
    let asked = async {
        let mut stream = TcpStream::connect(address).await.ok()?;
        let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.ok()?;
        let status = answer.split(' ').nth(1)?.parse().ok()?;
        let (_, body) = answer.split_once("\r\n\r\n")?;
        Some((status, body.to_owned()))
    };
    timeout(ANSWER_WITHIN, asked).await.ok().flatten()
}

/// The sum of the samples of a counter whose line holds all these words.
pub fn sum(text: &str, metric: &str, words: &[&str]) -> u64 {
    let lines = text.lines().filter(|line| {
        let rest = line.strip_prefix(metric).unwrap_or_default();
        rest.starts_with(['{', ' ']) && words.iter().all(|word| rest.contains(word))
    });
    lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
}
