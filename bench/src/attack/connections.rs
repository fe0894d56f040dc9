//! Connections that are idle, silent, new or busy.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::goals::timed_goals;
use super::observe::observe;
use super::target::{Scarcity, Target, create_provider};
use super::wire;
use crate::error::Error;
use crate::size::Size;
use crate::table::Row;

const PATH: &str = "/resource_providers?name=provider-1";
/// The attackers that open connections one after the other.
const OPENERS: usize = 16;
/// The pause of an attacker whose connection was refused.
const PAUSE: Duration = Duration::from_millis(10);

/// What the connections of an attack do.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// They were answered once.
    Idle,
    /// They send nothing.
    Silent,
    /// They end after one request.
    New,
    /// They send one request after the other.
    Busy,
}

pub async fn measure(size: Size) -> Result<Row, Error> {
    let mut target = Target::start(Scarcity::default()).await?;
    target.fill((0..10).map(|number| create_provider(&format!("provider-{number}"))).collect()).await?;
    let lasts = size.pick(Duration::from_secs(10), Duration::from_secs(1));
    let mut all = Vec::new();
    for (kind, full, quick) in
        [(Kind::Idle, 1_100, 1_100), (Kind::Silent, 1_100, 1_100), (Kind::New, 10_000, 500), (Kind::Busy, 4_000, 1_200)]
    {
        let count = size.pick(full, quick);
        let attack = make(kind, target.watched.api, count, lasts);
        let (seen, ()) = observe(target.watched, |_| wire::get(PATH), attack).await?;
        target.check()?;
        all.extend(timed_goals(&format!("{count} {kind:?} connections").to_lowercase(), &seen));
    }
    Ok(Row { letter: 'A', what: "connections".to_owned(), goals: all })
}

/// Makes so many connections of this kind, and holds those that stay for so long.
pub async fn make(kind: Kind, to: SocketAddr, count: usize, lasts: Duration) -> Result<(), Error> {
    match kind {
        Kind::Idle | Kind::Silent => {
            let mut held = Vec::new();
            for number in 0..count {
                held.extend(open(kind, number, to).await);
            }
            sleep(lasts).await;
        }
        Kind::New => each(OPENERS, |opener| open_one_after_the_other(opener, to, count / OPENERS)).await,
        Kind::Busy => each(count, |number| keep_busy(number, to, lasts)).await,
    }
    Ok(())
}

/// A connection, if the server takes it.
async fn open(kind: Kind, number: usize, to: SocketAddr) -> Option<TcpStream> {
    let mut stream = wire::attack(number, to).await.ok()?;
    if matches!(kind, Kind::Idle) {
        wire::exchange(&mut stream, &wire::get(PATH)).await.ok()?;
    }
    Some(stream)
}

async fn open_one_after_the_other(opener: usize, to: SocketAddr, count: usize) {
    for number in 0..count {
        // An attacker does not care whether it is refused.
        drop(open(Kind::Idle, opener * count + number, to).await);
    }
}

async fn keep_busy(number: usize, to: SocketAddr, lasts: Duration) {
    let until = Instant::now() + lasts;
    while Instant::now() < until {
        if let Ok(mut stream) = wire::attack(number, to).await {
            while Instant::now() < until && wire::exchange(&mut stream, &wire::get(PATH)).await.is_ok() {}
        }
        sleep(PAUSE).await;
    }
}

async fn each<F: Future<Output = ()> + Send + 'static>(count: usize, client: impl Fn(usize) -> F) {
    let mut clients = JoinSet::new();
    for number in 0..count {
        clients.spawn(client(number));
    }
    while clients.join_next().await.is_some() {}
}
