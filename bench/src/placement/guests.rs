//! Whoever comes and goes while something is measured: claims of drawn flavors on drawn hosts. Each is counted as soon as it
//! is acknowledged, so that the ledger can be asked whether it has all of them and no other.

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

/// A refusal of this kind is repeated: somebody else was faster.
const LOST_RACE: &[u8] = b"placement.concurrent_update";
const REPEATED_FOR: Duration = Duration::from_secs(10);

/// Numbers that no two guests of a run share.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A connection over which guests of one project come and go.
#[derive(Debug)]
pub struct Guests {
    client: Client,
    /// Past the server, if so: guests come by bare transactions, and go through the server.
    bare: Option<Bare>,
    cloud: Cloud,
    project: String,
    chance: u64,
    here: Vec<(String, u64)>,
    /// How often a claim was repeated.
    pub repeated: u64,
}

impl Guests {
    /// Nobody yet. Two with the same seed make the same claims.
    pub fn new(address: SocketAddr, cloud: &Cloud, project: &str, seed: u64) -> Self {
        let client = Client::new(address);
        let project = project.to_owned();
        Self { client, bare: None, cloud: *cloud, project, chance: drawn(seed), here: Vec::new(), repeated: 0 }
    }

    /// The same, past the server into its database.
    pub fn past_the_server(self, url: &str) -> Result<Self, Error> {
        Ok(Self { bare: Some(Bare::connect(url)?), ..self })
    }

    /// These are here, whoever has brought them, with so many cores each.
    pub fn bring(&mut self, consumers: impl IntoIterator<Item = String>, cores: u64) {
        self.here.extend(consumers.into_iter().map(|consumer| (consumer, cores)));
    }

    /// The next claim; gives what became of it, and how long that took with all repetitions.
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
        let begun = Instant::now();
        let became = match &mut self.bare {
            None => self.put(&path, &body, begun)?,
            Some(bare) => bare.claim(claim, &self.project)?,
        };
        Ok((became, begun.elapsed()))
    }

    fn put(&mut self, path: &str, body: &str, begun: Instant) -> Result<Became, Error> {
        loop {
            let answer = self.client.send("PUT", path, Some(body))?;
            let lost = answer.body.windows(LOST_RACE.len()).any(|bytes| bytes == LOST_RACE);
            match answer.status {
                204 => return Ok(Became::Acknowledged),
                409 if lost && begun.elapsed() < REPEATED_FOR => self.repeated += 1,
                409 if !lost => return Ok(Became::Full),
                status => {
                    let text = String::from_utf8_lossy(answer.body).into_owned();
                    return Err(Error::Refused { request: format!("PUT {path}"), status, text });
                }
            }
        }
    }

    /// The oldest ones go, until only so many are here.
    pub fn go(&mut self, stay: usize) -> Result<(), Error> {
        let leave = self.here.len().saturating_sub(stay);
        for (consumer, _) in self.here.drain(..leave) {
            self.client.must("DELETE", &format!("/allocations/{consumer}"), None)?;
        }
        Ok(())
    }

    /// How many cores were acknowledged for those that are here.
    pub fn cores(&self) -> u64 {
        self.here.iter().map(|(_, cores)| cores).sum()
    }
}

/// Whether the ledger has exactly these cores for a project.
pub fn check(address: SocketAddr, project: &str, acknowledged: u64) -> Result<(), Error> {
    let mut client = Client::new(address);
    let path = format!("/usages?project_id={project}&consumer_type=all");
    let answer: Value = serde_json::from_slice(client.must("GET", &path, None)?.body)?;
    let recorded = answer["usages"]["all"]["VCPU"].as_u64().unwrap_or_default();
    if recorded == acknowledged { Ok(()) } else { Err(Error::Ledger { acknowledged, recorded }) }
}
