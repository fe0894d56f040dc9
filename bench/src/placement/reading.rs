//! How fast candidates are given. Over one connection: one query after the other, and between any two of them somebody comes
//! and an earlier one goes. Over eight connections at once: with somebody who comes and goes beside them. Every query has the
//! amounts of another flavor.

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use super::claiming;
use super::cloud::{Cloud, drawn};
use super::error::Error;
use super::guests::Guests;
use super::http::Client;
use super::load::joined;
use super::questions::{Question, flavor};
use crate::times::Times;

const CONNECTIONS: u64 = 8;
/// A slow server is asked at least so often.
const LEAST: usize = 3;
/// So many guests of a connection are here at a time.
const GUESTS: usize = 1;

/// How many writes per second there are beside eight connections: enough that no answer stays true, and few enough that
/// the slowest server hardly notices.
const WRITES_BESIDE: u32 = 4;

/// One server in one round.
#[derive(Clone, Debug)]
pub struct Read {
    /// Of queries over one connection.
    pub times: Times,
    /// Queries per second over eight connections.
    pub rate: f64,
}

/// Asks for so long in each of the two ways.
pub fn read(address: SocketAddr, cloud: &Cloud, question: Question, time: Duration) -> Result<Read, Error> {
    let times = alone(address, Guests::new(address, cloud, "reading", 1), question, time)?;
    let rate = claiming::beside(address, cloud, WRITES_BESIDE, || together(address, question, time))?;
    Ok(Read { times, rate })
}

/// One connection for queries, and guests over another one, of whom the last goes when one comes.
pub fn alone(address: SocketAddr, mut guests: Guests, question: Question, time: Duration) -> Result<Times, Error> {
    let (mut client, mut times) = (Client::new(address), Times::default());
    let (mut chance, begun) = (drawn(1), Instant::now());
    while begun.elapsed() < time || times.len() < LEAST {
        guests.come()?;
        guests.go(GUESTS)?;
        chance = drawn(chance);
        let asked = Instant::now();
        client.must("GET", &question.path(flavor(chance), true), None)?;
        times.add(asked.elapsed());
    }
    guests.go(0)?;
    Ok(times)
}

/// Queries that were begun within the time, and the time until the last of them has ended.
fn together(address: SocketAddr, question: Question, time: Duration) -> Result<f64, Error> {
    let begun = Instant::now();
    let results: Vec<Result<u32, Error>> = thread::scope(|scope| {
        let start = |seed| scope.spawn(move || ask(address, question, seed, begun, time));
        let threads: Vec<_> = (0..CONNECTIONS).map(start).collect();
        threads.into_iter().map(joined).collect()
    });
    let asked: u32 = results.into_iter().sum::<Result<u32, Error>>()?;
    Ok(f64::from(asked) / begun.elapsed().as_secs_f64())
}

fn ask(address: SocketAddr, question: Question, seed: u64, begun: Instant, time: Duration) -> Result<u32, Error> {
    let (mut client, mut chance, mut asked) = (Client::new(address), drawn(100 + seed), 0);
    while begun.elapsed() < time {
        chance = drawn(chance);
        client.must("GET", &question.path(flavor(chance), true), None)?;
        asked += 1;
    }
    Ok(asked)
}
