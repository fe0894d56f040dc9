//! An external scheduler with a given behaviour, right or wrong.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

use super::nova::PATH;

/// The behaviour of the stub.
#[derive(Clone, Debug)]
pub enum Manner {
    Host(&'static str),
    Slowly(&'static str, Duration),
    NoHost,
    Reported(&'static str, &'static str),
    HangsUp,
}

/// A stub that runs until the end of the test.
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
                // A client that disconnects needs no answer.
                tokio::spawn(async move { stub.one(stream).await });
            }
        });
        stub
    }

    pub fn url(&self) -> String {
        format!("http://{}{PATH}", self.address)
    }

    pub fn becomes(&self, manner: Manner) {
        *self.manner.lock() = manner;
    }

    pub fn asked(&self) -> Vec<Value> {
        self.asked.lock().clone()
    }

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
            Manner::Reported(status, body) => (status, body.to_owned()),
            Manner::HangsUp => return Ok(()),
        };
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
        stream.write_all(format!("{head}{body}").as_bytes()).await
    }
}

/// Reads the body of a request, whose length is in its head.
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
