//! A client that behaves, and probes, beside an attack.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio::runtime;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::wire::{connect_from, exchange};
use crate::error::Error;
use crate::operator::Watched;
use crate::proc;
use crate::times::Times;

/// The address of the client that behaves.
const BEHAVING: u8 = 2;
const PROBE: u8 = 3;
const ASKS_EVERY: Duration = Duration::from_millis(10);
const PROBES_EVERY: Duration = Duration::from_millis(50);
const HEALTH: &[u8] = b"GET /healthz HTTP/1.1\r\nHost: berth\r\nConnection: close\r\n\r\n";
const CLOSES_WITHIN: Duration = Duration::from_secs(1);
/// A connection may be closed while it is idle; then the request is sent again.
const ATTEMPTS: usize = 3;
/// The connection was refused.
const REFUSED: u16 = 503;

/// What was seen during an attack.
#[derive(Debug, Default)]
pub struct Seen {
    /// What the client that behaves was given.
    pub answered: Times,
    pub refused: Times,
    /// Requests without an answer, or with an error other than 503.
    pub failed: usize,
    pub health: Times,
    /// Probes without a good answer.
    pub unhealthy: usize,
    /// The most memory, in KiB.
    pub resident_kib: u64,
}

/// Makes the attack while a client that behaves sends requests, one after the other, and a probe asks `/healthz`.
pub async fn observe<T>(
    watched: Watched,
    request: impl Fn(usize) -> Vec<u8> + Send + 'static,
    attack: impl Future<Output = Result<T, Error>>,
) -> Result<(Seen, T), Error> {
    let over = Arc::new(AtomicBool::new(false));
    let client = spawn_apart(behave(watched.api, request, over.clone()))?;
    let probes = spawn_apart(probe(watched, over.clone()))?;
    let attacked = attack.await;
    over.store(true, Ordering::Relaxed);
    let panicked = |_| Error::Answer("a client of the attack panicked".to_owned());
    let (seen, during) = (client.await.map_err(panicked)?, probes.await.map_err(panicked)??);
    let seen = Seen { answered: seen.answered, refused: seen.refused, failed: seen.failed, ..during };
    Ok((seen, attacked?))
}

/// Runs a client on a thread of its own, so that it does not wait for attackers in this process.
fn spawn_apart<T: Send + 'static>(client: impl Future<Output = T> + Send + 'static) -> Result<JoinHandle<T>, Error> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(Error::system("start a runtime"))?;
    Ok(tokio::task::spawn_blocking(move || runtime.block_on(client)))
}

async fn behave(to: SocketAddr, request: impl Fn(usize) -> Vec<u8>, over: Arc<AtomicBool>) -> Seen {
    let (mut seen, mut stream) = (Seen::default(), None);
    for number in 0.. {
        if over.load(Ordering::Relaxed) {
            break;
        }
        let asked = Instant::now();
        match ask(&mut stream, to, &request(number)).await {
            Ok(REFUSED) => seen.refused.add(asked.elapsed()),
            Ok(status) if status < 400 => seen.answered.add(asked.elapsed()),
            Ok(_) | Err(_) => seen.failed += 1,
        }
        sleep(ASKS_EVERY).await;
    }
    seen
}

async fn ask(kept: &mut Option<TcpStream>, to: SocketAddr, request: &[u8]) -> io::Result<u16> {
    for attempt in 1.. {
        let mut stream = match kept.take() {
            Some(stream) => stream,
            None => connect_from(BEHAVING, to).await?,
        };
        match exchange(&mut stream, request).await {
            // A refused connection is closed by the server.
            Ok(REFUSED) => return Ok(REFUSED),
            Ok(status) => {
                *kept = Some(stream);
                return Ok(status);
            }
            Err(error) if attempt == ATTEMPTS => return Err(error),
            Err(_) => {}
        }
    }
    Err(io::ErrorKind::TimedOut.into())
}

async fn probe(watched: Watched, over: Arc<AtomicBool>) -> Result<Seen, Error> {
    let mut seen = Seen::default();
    while !over.load(Ordering::Relaxed) {
        match ask_health(watched.probes).await {
            Ok(took) => seen.health.add(took),
            Err(_) => seen.unhealthy += 1,
        }
        seen.resident_kib = proc::usage(watched.pid)?.resident_kib.max(seen.resident_kib);
        sleep(PROBES_EVERY).await;
    }
    Ok(seen)
}

/// How long `/healthz` takes, with its connection.
pub async fn ask_health(probes: SocketAddr) -> io::Result<Duration> {
    let asked = Instant::now();
    let mut stream = connect_from(PROBE, probes).await?;
    let status = exchange(&mut stream, HEALTH).await?;
    let took = asked.elapsed();
    // The server closes the connection, as it does for a kubelet.
    let _ = timeout(CLOSES_WITHIN, stream.read(&mut [0])).await;
    if status == 200 { Ok(took) } else { Err(io::Error::other(format!("it answers {status}"))) }
}
