//! Clients that claim and delete during a measurement: claims of random flavors on random hosts. Each claim is counted
//! as soon as it is acknowledged, so that the ledger can be compared with exactly these claims.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::bare::{Bare, Became};
use super::bodies;
use super::cloud::{Claim, Cloud, Of, drawn, key};
use super::error::Error;
use super::http::Client;
use super::questions::flavor;

/// A refusal of this kind is repeated: another writer was faster.
const LOST_RACE: &[u8] = b"placement.concurrent_update";
const REPEATED_FOR: Duration = Duration::from_secs(10);

/// Numbers that are unique to each guest of a run.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A connection that creates and deletes the guests of one project.
#[derive(Debug)]
pub struct Guests {
    client: Client,
    /// With a database connection, guests are claimed by bare transactions and deleted through the server.
    bare: Option<Bare>,
    cloud: Cloud,
    project: String,
    chance: u64,
    here: Vec<(String, u64)>,
    pub repeated: u64,
}

impl Guests {
    /// Starts without guests. Two instances with the same seed make the same claims.
    pub fn new(address: SocketAddr, cloud: &Cloud, project: &str, seed: u64) -> Self {
        let client = Client::new(address);
        let project = project.to_owned();
        Self { client, bare: None, cloud: *cloud, project, chance: drawn(seed), here: Vec::new(), repeated: 0 }
    }

    /// Claims bypass the server and go to its database.
    pub fn past_the_server(self, url: &str) -> Result<Self, Error> {
        Ok(Self { bare: Some(Bare::connect(url)?), ..self })
    }

    /// Adds guests that another client has created, with this many cores each.
    pub fn bring(&mut self, consumers: impl IntoIterator<Item = String>, cores: u64) {
        self.here.extend(consumers.into_iter().map(|consumer| (consumer, cores)));
    }

    /// Makes the next claim; returns its outcome and how long it took with all repetitions.
    pub fn come(&mut self) -> Result<(Became, Duration), Error> {
        self.chance = drawn(self.chance);
        let (host, node, amounts) = (self.chance % self.cloud.hosts, self.chance >> 63, flavor(self.chance >> 32));
        let consumer = key(Of::Guest, NEXT.fetch_add(1, Ordering::Relaxed));
        let claim = self.cloud.claim(consumer, host, node, amounts);
        let (became, took) = self.take(&claim)?;
        if became == Became::Acknowledged {
            self.here.push((claim.consumer, amounts.cores));
        }
        Ok((became, took))
    }

    fn take(&mut self, claim: &Claim) -> Result<(Became, Duration), Error> {
        let (path, body) = (format!("/allocations/{}", claim.consumer), bodies::claim(claim, &self.project));
        let started = Instant::now();
        let became = match &mut self.bare {
            None => self.put(&path, &body, started)?,
            Some(bare) => bare.claim(claim, &self.project)?,
        };
        Ok((became, started.elapsed()))
    }

    fn put(&mut self, path: &str, body: &str, started: Instant) -> Result<Became, Error> {
        loop {
            let answer = self.client.send("PUT", path, Some(body))?;
            let lost = answer.body.windows(LOST_RACE.len()).any(|bytes| bytes == LOST_RACE);
            match answer.status {
                204 => return Ok(Became::Acknowledged),
                409 if lost && started.elapsed() < REPEATED_FOR => self.repeated += 1,
                409 if !lost => return Ok(Became::Full),
                status => {
                    let text = String::from_utf8_lossy(answer.body).into_owned();
                    return Err(Error::Refused { request: format!("PUT {path}"), status, text });
                }
            }
        }
    }

    /// Deletes the oldest guests until only `stay` are left.
    pub fn go(&mut self, stay: usize) -> Result<(), Error> {
        let leave = self.here.len().saturating_sub(stay);
        for (consumer, _) in self.here.drain(..leave) {
            self.client.must("DELETE", &format!("/allocations/{consumer}"), None)?;
        }
        Ok(())
    }

    /// The acknowledged cores of the current guests.
    pub fn cores(&self) -> u64 {
        self.here.iter().map(|(_, cores)| cores).sum()
    }
}

/// Checks that the ledger has exactly these cores for the project.
pub fn check(address: SocketAddr, project: &str, acknowledged: u64) -> Result<(), Error> {
    let mut client = Client::new(address);
    let path = format!("/usages?project_id={project}&consumer_type=all");
    let answer: Value = serde_json::from_slice(client.must("GET", &path, None)?.body)?;
    let recorded = answer["usages"]["all"]["VCPU"].as_u64().unwrap_or_default();
    if recorded == acknowledged { Ok(()) } else { Err(Error::Ledger { acknowledged, recorded }) }
}
