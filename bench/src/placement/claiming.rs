//! Measures how fast claims of eight concurrent writers are acknowledged, and runs writers at a given rate beside other
//! measurements.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::bare::Became;
use super::cloud::Cloud;
use super::error::Error;
use super::guests::{Guests, check};
use super::load::joined;
use crate::times::Times;

/// Concurrent writers.
pub const WRITERS: u64 = 8;

/// The claims of one server in one round.
#[derive(Clone, Debug)]
pub struct Claimed {
    pub rate: f64,
    /// How often a claim was repeated because of a conflict with another writer.
    pub repeated: u64,
}

/// Claims for this time, compares the ledger and deletes all claims. With the URL of the server's database the claims
/// bypass the server.
pub fn claim(
    address: SocketAddr,
    database: Option<&str>,
    cloud: &Cloud,
    round: usize,
    time: Duration,
) -> Result<Claimed, Error> {
    let project = format!("claiming-{round}");
    let project = project.as_str();
    let writer = |number| {
        let guests = Guests::new(address, cloud, project, number);
        match database {
            None => Ok(guests),
            Some(url) => guests.past_the_server(url),
        }
    };
    let writers = (0..WRITERS).map(writer).collect::<Result<Vec<Guests>, Error>>()?;
    let started = Instant::now();
    let results: Vec<Result<(Guests, Times), Error>> = thread::scope(|scope| {
        let start = |guests| scope.spawn(move || write(guests, started, time));
        let threads: Vec<_> = writers.into_iter().map(start).collect();
        threads.into_iter().map(joined).collect()
    });
    let took = started.elapsed().as_secs_f64();
    let (mut guests, mut times) = (Vec::new(), Times::default());
    for result in results {
        let (of_one, its) = result?;
        guests.push(of_one);
        times.append(its);
    }
    check(address, project, guests.iter().map(Guests::cores).sum())?;
    let repeated = guests.iter().map(|guests| guests.repeated).sum();
    leave(guests)?;
    check(address, project, 0)?;
    let count = f64::from(u32::try_from(times.len()).unwrap_or(u32::MAX));
    Ok(Claimed { rate: count / took, repeated })
}

fn write(mut guests: Guests, started: Instant, time: Duration) -> Result<(Guests, Times), Error> {
    let mut times = Times::default();
    while started.elapsed() < time {
        let (became, took) = guests.come()?;
        if became == Became::Acknowledged {
            times.add(took);
        }
    }
    Ok((guests, times))
}

/// Deletes the claims of another client, which bypassed the server, if the server knows all of them: one core each.
pub fn take_back(address: SocketAddr, cloud: &Cloud, project: &str, consumers: &[&str]) -> Result<(), Error> {
    check(address, project, consumers.len().try_into().unwrap_or(u64::MAX))?;
    let each = consumers.len().div_ceil(usize::try_from(WRITERS).unwrap_or(1)).max(1);
    let with = |some: &[&str]| {
        let mut guests = Guests::new(address, cloud, project, 0);
        guests.bring(some.iter().map(|one| (*one).to_owned()), 1);
        guests
    };
    leave(consumers.chunks(each).map(with).collect())?;
    check(address, project, 0)
}

fn leave(guests: Vec<Guests>) -> Result<(), Error> {
    let results: Vec<Result<(), Error>> = thread::scope(|scope| {
        let threads: Vec<_> = guests.into_iter().map(|mut of_one| scope.spawn(move || of_one.go(0))).collect();
        threads.into_iter().map(joined).collect()
    });
    results.into_iter().collect()
}

/// Runs the work while guests are created and deleted at this rate.
pub fn beside<T>(
    address: SocketAddr,
    cloud: &Cloud,
    per_second: u32,
    work: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let writer = |number| {
            let (guests, done) = (Guests::new(address, cloud, "beside", 1000_u64 + number), &done);
            scope.spawn(move || pace(guests, per_second / 2, done))
        };
        let writers = [0, 1].map(writer);
        let outcome = work();
        done.store(true, Ordering::Relaxed);
        let paces: Result<Vec<()>, Error> = writers.into_iter().map(joined).collect();
        paces?;
        outcome
    })
}

/// Half of the writes are claims, half delete one; a writer that is late does not wait.
fn pace(mut guests: Guests, per_second: u32, done: &AtomicBool) -> Result<(), Error> {
    const STAY: usize = 100;
    let each = Duration::from_secs(1) / per_second.max(1);
    let mut next = Instant::now();
    while !done.load(Ordering::Relaxed) {
        guests.come()?;
        guests.go(STAY)?;
        next += each;
        thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    guests.go(0)
}
