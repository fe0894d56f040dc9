//! Measures how fast candidates are returned. Over one connection: one query after the other, and between any two of
//! them a claim is made and an earlier one is deleted. Over eight connections at once: while another client claims and
//! deletes. Every query has the amounts of another flavor.

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
/// The minimum of queries to a slow server.
const LEAST: usize = 3;
/// The number of guests of a connection at a time.
const GUESTS: usize = 1;

/// The writes per second beside eight connections: enough that no answer stays valid, and few enough that the slowest
/// server hardly notices.
const WRITES_BESIDE: u32 = 4;

/// The queries of one server in one round.
#[derive(Clone, Debug)]
pub struct Read {
    pub times: Times,
    pub rate: f64,
}

/// Queries for this time in each of the two ways.
pub fn read(address: SocketAddr, cloud: &Cloud, question: Question, time: Duration) -> Result<Read, Error> {
    let times = alone(address, Guests::new(address, cloud, "reading", 1), question, time)?;
    let rate = claiming::beside(address, cloud, WRITES_BESIDE, || together(address, question, time))?;
    Ok(Read { times, rate })
}

/// One connection for queries, and another one for guests, of whom the oldest is deleted when a new one is claimed.
pub fn alone(address: SocketAddr, mut guests: Guests, question: Question, time: Duration) -> Result<Times, Error> {
    let (mut client, mut times) = (Client::new(address), Times::default());
    let (mut chance, started) = (drawn(1), Instant::now());
    while started.elapsed() < time || times.len() < LEAST {
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

/// The queries that started within the time, and the time until the last of them ended.
fn together(address: SocketAddr, question: Question, time: Duration) -> Result<f64, Error> {
    let started = Instant::now();
    let results: Vec<Result<u32, Error>> = thread::scope(|scope| {
        let start = |seed| scope.spawn(move || ask(address, question, seed, started, time));
        let threads: Vec<_> = (0..CONNECTIONS).map(start).collect();
        threads.into_iter().map(joined).collect()
    });
    let asked: u32 = results.into_iter().sum::<Result<u32, Error>>()?;
    Ok(f64::from(asked) / started.elapsed().as_secs_f64())
}

fn ask(address: SocketAddr, question: Question, seed: u64, started: Instant, time: Duration) -> Result<u32, Error> {
    let (mut client, mut chance, mut asked) = (Client::new(address), drawn(100 + seed), 0);
    while started.elapsed() < time {
        chance = drawn(chance);
        client.must("GET", &question.path(flavor(chance), true), None)?;
        asked += 1;
    }
    Ok(asked)
}
