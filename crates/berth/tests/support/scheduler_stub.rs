//! An external scheduler that does what it is told, well or badly.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

use super::nova::PATH;

/// How it answers.
#[derive(Clone, Debug)]
pub enum Manner {
    /// With this host.
    Host(&'static str),
    /// With this host, after a while.
    Slowly(&'static str, Duration),
    /// That there is no host.
    NoHost,
    /// With this status and body.
    Says(&'static str, &'static str),
    /// It hangs up.
    HangsUp,
}

/// A running one, until the end of the test.
#[derive(Clone)]
pub struct SchedulerStub {
    address: SocketAddr,
    manner: Arc<Mutex<Manner>>,
    asked: Arc<Mutex<Vec<Value>>>,
}

impl SchedulerStub {
    pub async fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let stub = Self { address, manner: Arc::new(Mutex::new(manner)), asked: Arc::default() };
        let serving = stub.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let stub = serving.clone();
                // Whoever breaks off has no need of an answer.
                tokio::spawn(async move { stub.one(stream).await });
            }
        });
        stub
    }

    /// For `schedulerURL`.
    pub fn url(&self) -> String {
        format!("http://{}{PATH}", self.address)
    }

    /// From now on it answers like this.
    pub fn becomes(&self, manner: Manner) {
        *self.manner.lock() = manner;
    }

    /// The requests so far.
    pub fn asked(&self) -> Vec<Value> {
        self.asked.lock().clone()
    }

    /// One request for each connection.
    async fn one(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let Some(body) = read(&mut stream).await? else { return Ok(()) };
        self.asked.lock().push(serde_json::from_slice(&body).unwrap());
        let manner = self.manner.lock().clone();
        let hosts = |hosts: &[&str]| ("200 OK", json!({ "hosts": hosts }).to_string());
        let (status, body) = match manner {
            Manner::Host(host) => hosts(&[host]),
            Manner::Slowly(host, after) => {
                sleep(after).await;
                hosts(&[host])
            }
            Manner::NoHost => hosts(&[]),
            Manner::Says(status, body) => (status, body.to_owned()),
            Manner::HangsUp => return Ok(()),
        };
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
        stream.write_all(format!("{head}{body}").as_bytes()).await
    }
}

/// The body of a request, whose length its head says.
async fn read(stream: &mut TcpStream) -> std::io::Result<Option<Vec<u8>>> {
    let (mut all, mut part) = (Vec::new(), [0; 4096]);
    loop {
        if let Some(end) = all.windows(4).position(|end| end == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&all[..end]).to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
            if all.len() >= end + 4 + length {
                return Ok(Some(all[end + 4..].to_vec()));
            }
        }
        match stream.read(&mut part).await? {
            0 => return Ok(None),
            count => all.extend_from_slice(&part[..count]),
        }
    }
}
