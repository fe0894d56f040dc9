//! Calls the probes of the operator, as a kubelet would.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

const ANSWER_WITHIN: Duration = Duration::from_secs(2);

/// Whether `path` is answered with 200; otherwise the actual answer.
pub async fn ask(address: SocketAddr, path: &str) -> Result<(), String> {
    ask_with(address, path, None).await
}

/// The same with a token of Keystone.
pub async fn ask_with(address: SocketAddr, path: &str, token: Option<&str>) -> Result<(), String> {
    let token = token.map(|token| format!("X-Auth-Token: {token}\r\n")).unwrap_or_default();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{token}\r\n");
    call(address, path, &request, ANSWER_WITHIN).await.map(drop)
}

/// The body of the answer to a POST of JSON if that is a success; otherwise the actual answer.
pub async fn post(address: SocketAddr, path: &str, body: &str, within: Duration) -> Result<String, String> {
    send_json(address, "POST", path, body, within).await
}

/// The same with another method.
pub async fn send_json(
    address: SocketAddr,
    method: &str,
    path: &str,
    body: &str,
    within: Duration,
) -> Result<String, String> {
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    );
    call(address, path, &request, within).await
}

async fn call(address: SocketAddr, path: &str, request: &str, within: Duration) -> Result<String, String> {
    let answer = match timeout(within, send(address, request)).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => return Err(format!("{path} at {address}: {error}")),
        Err(_) => return Err(format!("{path} at {address}: no answer within {} s", within.as_secs())),
    };
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    match head.split(' ').nth(1) {
        Some("200" | "204") => Ok(body.to_owned()),
        status => Err(format!("{path} answers {}: {}", status.unwrap_or("no HTTP"), body.trim())),
    }
}

async fn send(address: SocketAddr, request: &str) -> io::Result<String> {
    let mut connection = TcpStream::connect(address).await?;
    connection.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    connection.read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    async fn answer(text: &'static str) -> Result<(), String> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serve = async {
            let (mut connection, _) = listener.accept().await.unwrap();
            let mut request = [0; 1024];
            let _ = connection.read(&mut request).await.unwrap();
            connection.write_all(text.as_bytes()).await.unwrap();
        };
        let ((), answer) = tokio::join!(serve, ask(address, "/readyz"));
        answer
    }

    #[tokio::test]
    async fn two_hundred_is_yes_and_the_rest_reports_why_not() {
        assert_eq!(answer("HTTP/1.1 200 OK\r\n\r\nok").await, Ok(()));
        let no = answer("HTTP/1.1 503 Service Unavailable\r\n\r\nstores not synced\n").await;
        assert_eq!(no, Err("/readyz answers 503: stores not synced".to_owned()));
    }
}
