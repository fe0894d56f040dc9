//! A misbehaving server: slow, invalid, missing or endless answers. One request per connection.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its double fails")]
#![expect(clippy::missing_panics_doc, reason = "it panics only when the double cannot work")]

use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// The reply to a request.
#[derive(Clone, Debug)]
pub enum Reply {
    /// These bytes, and the connection ends.
    Bytes(String),
    /// These bytes, one by one.
    Dribble(String),
    /// These bytes and nothing more, and the connection stays open.
    Unfinished(String),
    /// The first bytes, and then the others over and over.
    Endless(String, String),
    Close,
}

impl Reply {
    pub fn http(status: u16, headers: &str, body: &str) -> Self {
        let length = body.len();
        Self::Bytes(format!(
            "HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
        ))
    }

    pub fn silence() -> Self {
        Self::Unfinished(String::new())
    }
}

/// A request as it was received.
#[derive(Clone, Debug)]
pub struct Asked {
    head: String,
    pub body: Vec<u8>,
}

impl Asked {
    /// Method and path.
    pub fn line(&self) -> &str {
        self.head.lines().next().unwrap().trim_end_matches(" HTTP/1.1")
    }

    /// The value of a header, whose name is in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut pairs = self.head.lines().filter_map(|line| line.split_once(": "));
        pairs.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The names of all headers, in lower case and sorted.
    pub fn headers(&self) -> Vec<String> {
        let names = self.head.lines().filter_map(|line| line.split_once(": "));
        let mut names: Vec<String> = names.map(|(key, _)| key.to_lowercase()).collect();
        names.sort();
        names
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// The server. It ends with the runtime of the test.
pub struct Stub {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Stub {
    /// Answers the first request with the first reply and so on; the last reply is repeated.
    pub async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        tokio::spawn(serve(listener, asked.clone(), replies.into_iter().collect()));
        Self { address, asked }
    }

    /// The URL without a path.
    pub fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base())
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().clone()
    }

    /// The base URL of a port at which nothing listens.
    pub async fn closed_port() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    }
}

async fn serve(listener: TcpListener, asked: Arc<Mutex<Vec<Asked>>>, replies: Vec<Reply>) {
    while let Ok((stream, _)) = listener.accept().await {
        let (asked, replies) = (asked.clone(), replies.clone());
        tokio::spawn(async move {
            // A client may disconnect at any time.
            let _ = converse(stream, &asked, &replies).await;
        });
    }
}

async fn converse(mut stream: TcpStream, asked: &Mutex<Vec<Asked>>, replies: &[Reply]) -> std::io::Result<()> {
    let request = read(&mut stream).await?;
    let number = {
        let mut asked = asked.lock();
        asked.push(request);
        asked.len() - 1
    };
    match &replies[number.min(replies.len() - 1)] {
        Reply::Bytes(bytes) => stream.write_all(bytes.as_bytes()).await?,
        Reply::Dribble(bytes) => {
            for byte in bytes.as_bytes() {
                stream.write_all(&[*byte]).await?;
                stream.flush().await?;
                tokio::task::yield_now().await;
            }
        }
        Reply::Unfinished(bytes) => {
            stream.write_all(bytes.as_bytes()).await?;
            std::future::pending::<()>().await;
        }
        Reply::Endless(first, then) => {
            stream.write_all(first.as_bytes()).await?;
            loop {
                stream.write_all(then.as_bytes()).await?;
            }
        }
        Reply::Close => {}
    }
    stream.shutdown().await
}

async fn read(stream: &mut TcpStream) -> std::io::Result<Asked> {
    let (mut bytes, mut part) = (Vec::new(), [0; 4096]);
    loop {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        if let Some(end) = end {
            let asked =
                Asked { head: String::from_utf8(bytes[..end].to_vec()).unwrap(), body: bytes[end + 4..].to_vec() };
            let length: usize = asked.header("content-length").map_or(0, |length| length.parse().unwrap());
            if asked.body.len() >= length {
                return Ok(asked);
            }
        }
        match stream.read(&mut part).await? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            length => bytes.extend_from_slice(&part[..length]),
        }
    }
}
