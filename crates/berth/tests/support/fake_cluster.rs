//! Servers that stand in for remote clusters. Each gives the same answer to all requests, until the end of the test.

use std::net::Ipv4Addr;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A Kubernetes API server from before 1.31 that has none of our kinds. Returns its address.
pub async fn too_old() -> String {
    let version = json!({
        "major": "1", "minor": "30", "gitVersion": "v1.30.4", "gitCommit": "", "gitTreeState": "", "buildDate": "",
        "goVersion": "", "compiler": "", "platform": "",
    });
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "NotFound", "code": 404,
        "message": "the server could not find the requested resource",
    });
    let (version, status) = (version.to_string(), status.to_string());
    serve(move |path| if path == "/version" { ("200 OK", version.clone()) } else { ("404 Not Found", status.clone()) })
        .await
}

/// A web server that is no Kubernetes API server. Returns its address.
pub async fn no_kubernetes() -> String {
    serve(|_| ("200 OK", "<html>It works!</html>".to_owned())).await
}

async fn serve(answer: impl Fn(&str) -> (&'static str, String) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // A client that disconnects needs no answer.
            let _ = one(stream, &answer).await;
        }
    });
    format!("http://{address}")
}

async fn one(mut stream: TcpStream, answer: impl Fn(&str) -> (&'static str, String)) -> std::io::Result<()> {
    let mut asked = Vec::new();
    let mut part = [0; 4096];
    while !asked.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut part).await? {
            0 => return Ok(()),
            count => asked.extend_from_slice(&part[..count]),
        }
    }
    let asked = String::from_utf8_lossy(&asked);
    let (status, body) = answer(asked.split(' ').nth(1).unwrap_or_default());
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(format!("{head}{body}").as_bytes()).await
}
