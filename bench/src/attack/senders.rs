//! Senders that take their time, beside a client that writes.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt as _;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::goals::timed_goals;
use super::observe::observe;
use super::target::{Scarcity, Target, create_provider};
use super::wire;
use crate::error::Error;
use crate::size::Size;
use crate::table::Row;

/// A part of the announced body is never sent.
const HEAD: &[u8] =
    b"POST /allocations HTTP/1.1\r\nHost: berth\r\nX-Auth-Token: admin\r\nContent-Type: application/json\r\n\
                      Content-Length: 1000000\r\n\r\n{";
const PAUSE: Duration = Duration::from_millis(100);

pub async fn measure(size: Size) -> Result<Row, Error> {
    let mut target = Target::start(Scarcity::default()).await?;
    let lasts = size.pick(Duration::from_secs(10), Duration::from_secs(1));
    let mut all = Vec::new();
    for count in size.pick(&[24, 100, 300][..], &[100]).iter().copied() {
        let write = move |number| create_provider(&format!("provider-{count}-{number}"));
        let (seen, ()) = observe(target.watched, write, send_slowly(target.watched.api, count, lasts)).await?;
        target.check()?;
        all.extend(timed_goals(&format!("{count} slow senders"), &seen));
    }
    Ok(Row { letter: 'C', what: "senders, beside writes".to_owned(), goals: all })
}

/// So many clients send bodies, a byte at a time.
pub async fn send_slowly(to: SocketAddr, count: usize, lasts: Duration) -> Result<(), Error> {
    let mut senders = JoinSet::new();
    for number in 0..count {
        senders.spawn(take_time(number, to, lasts));
    }
    while senders.join_next().await.is_some() {}
    Ok(())
}

async fn take_time(number: usize, to: SocketAddr, lasts: Duration) {
    let until = Instant::now() + lasts;
    while Instant::now() < until {
        sleep(PAUSE).await;
        let Ok(mut stream) = wire::attack(number, to).await else { continue };
        let mut sent = stream.write_all(HEAD).await;
        while Instant::now() < until && sent.is_ok() {
            sleep(PAUSE).await;
            sent = stream.write_all(b" ").await;
        }
    }
}
