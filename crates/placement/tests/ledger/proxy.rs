//! A proxy in front of PostgreSQL that can disturb connections: they hang, or something happens to the next COMMIT. It
//! also records the statements.

use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// The fault of a COMMIT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtCommit {
    /// The connection breaks before the server gets it.
    Lost,
    Unanswered,
    /// The server commits, and reports its shutdown instead of the result.
    Ends,
}

/// Messages of PostgreSQL's protocol.
mod wire {
    /// FATAL 57P01.
    pub fn ends() -> Vec<u8> {
        let fields = b"SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0";
        let length = u32::try_from(fields.len() + 4).unwrap();
        [&b"E"[..], &length.to_be_bytes(), fields].concat()
    }

    /// The statements of complete messages: of simple queries, and of prepared ones.
    pub fn statements(mut bytes: &[u8]) -> Vec<String> {
        let mut found = Vec::new();
        while let [kind, a, b, c, d, rest @ ..] = bytes {
            let length = (u32::from_be_bytes([*a, *b, *c, *d]) as usize).saturating_sub(4).min(rest.len());
            let (body, next) = rest.split_at(length);
            let mut texts = body.split(|byte| *byte == 0).map(|text| String::from_utf8_lossy(text).into_owned());
            match kind {
                b'Q' => found.extend(texts.next()),
                // The statement follows its name.
                b'P' => found.extend(texts.nth(1)),
                _ => {}
            }
            bytes = next;
        }
        found
    }
}

struct Shared {
    server: SocketAddr,
    at_commit: Mutex<Option<AtCommit>>,
    silenced: watch::Sender<()>,
    statements: Mutex<Vec<(usize, String)>>,
    connections: AtomicUsize,
}

/// A proxy that runs until the end of the test.
pub struct Proxy {
    pub url: String,
    shared: Arc<Shared>,
}

impl Proxy {
    pub async fn before(url: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (_, place) = url.split_once('@').unwrap();
        let (server, database) = place.split_once('/').unwrap();
        let shared = Arc::new(Shared {
            server: server.parse().unwrap(),
            at_commit: Mutex::default(),
            silenced: watch::Sender::new(()),
            statements: Mutex::default(),
            connections: AtomicUsize::default(),
        });
        let own = listener.local_addr().unwrap();
        let url = format!("postgresql://berth@{own}/{database}?sslmode=disable");
        tokio::spawn(serve(listener, shared.clone()));
        Self { url, shared }
    }

    pub fn at_commit(&self, what: AtCommit) {
        *self.shared.at_commit.lock() = Some(what);
    }

    /// All current connections hang without an error. New ones work.
    pub fn silence(&self) {
        self.shared.silenced.send_replace(());
    }

    /// The statements of every connection that has sent one with these words, in order.
    pub fn statements_with(&self, words: &str) -> Vec<Vec<String>> {
        let statements = self.shared.statements.lock();
        let of = |number| statements.iter().filter(move |(of, _)| *of == number).map(|(_, text)| text.clone());
        let all = (0..self.shared.connections.load(Ordering::Relaxed)).map(|number| of(number).collect::<Vec<_>>());
        all.filter(|texts| texts.iter().any(|text| text.contains(words))).collect()
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((client, _)) = listener.accept().await {
        let (shared, number) = (shared.clone(), shared.connections.fetch_add(1, Ordering::Relaxed));
        // However it ends, both sides see a broken connection.
        tokio::spawn(async move { carry(client, number, &shared).await });
    }
}

async fn carry(mut client: TcpStream, number: usize, shared: &Shared) -> io::Result<()> {
    let mut server = TcpStream::connect(shared.server).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let mut silenced = shared.silenced.subscribe();
    let (mut asked, mut answered) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let bytes = &asked[..read?];
                if bytes.is_empty() {
                    return Ok(());
                }
                let statements = wire::statements(bytes);
                let commits = statements.iter().any(|text| text == "COMMIT");
                shared.statements.lock().extend(statements.into_iter().map(|text| (number, text)));
                let happens = if commits { shared.at_commit.lock().take() } else { None };
                if happens == Some(AtCommit::Lost) {
                    return Ok(());
                }
                server.write_all(bytes).await?;
                // The server has committed when it answers.
                if happens.is_some() && server.read(&mut answered).await? == 0 {
                    return Ok(());
                }
                match happens {
                    Some(AtCommit::Ends) => return client.write_all(&wire::ends()).await,
                    Some(_) => return Ok(()),
                    None => {}
                }
            }
            read = server.read(&mut answered) => match read? {
                0 => return Ok(()),
                count => client.write_all(&answered[..count]).await?,
            },
            _ = silenced.changed() => pending().await,
        }
    }
}
