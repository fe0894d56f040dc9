//! Our server with a cloud, and the measurements that do not need Placement.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use tokio::task::block_in_place;

use super::claiming::{self, Claimed};
use super::cloud::Cloud;
use super::error::Error;
use super::guests::Guests;
use super::http::Client;
use super::questions::{Question, flavor};
use super::servers::{DATABASE, Served, Store, ours};
use super::{load, pgbench, reading, still};
use crate::pairs::{Pair, Side, alternate};
use crate::size::Size;
use crate::times::Times;

pub struct Ours {
    pub cloud: Cloud,
    pub server: Served,
}

impl Ours {
    pub async fn build(binary: &Path, store: Store, cloud: Cloud) -> Result<Self, Error> {
        println!("{} {} hosts on {}", cloud.hosts, cloud.shape.name(), store.name());
        let server = ours(binary, store).await?;
        block_in_place(|| load::fill(server.address, &cloud))?;
        Ok(Self { cloud, server })
    }

    /// Our server and bare transactions in its database acknowledge claims in turn.
    pub async fn claim_bare(&self, size: Size) -> Result<Vec<Pair<Claimed>>, crate::error::Error> {
        alternate(size.rounds(5, 1), async |round, side| match side {
            Side::Operator => self.claim_here(None, round, size),
            Side::Floor => self.claim_here(self.server.database().as_deref(), round, size),
        })
        .await
    }

    /// Claims per second of bare transactions and of pgbench, in turn.
    pub async fn claim_by_pgbench(&self, size: Size) -> Result<Vec<Pair<f64>>, crate::error::Error> {
        alternate(size.rounds(5, 1), async |round, side| match side {
            Side::Operator => Ok(self.claim_here(self.server.database().as_deref(), round, size)?.rate),
            Side::Floor => Ok(self.pgbench(size).await?),
        })
        .await
    }

    fn claim_here(&self, database: Option<&str>, round: usize, size: Size) -> Result<Claimed, crate::error::Error> {
        let claim = || claiming::claim(self.server.address, database, &self.cloud, round, time(size));
        Ok(block_in_place(claim)?)
    }

    async fn pgbench(&self, size: Size) -> Result<f64, Error> {
        let Some(postgres) = self.server.postgres() else { return Ok(0.0) };
        let done = pgbench::run(postgres, DATABASE, claiming::WRITERS, time(size)).await?;
        let claimed = format!("select uuid from consumers where project = '{}'", pgbench::PROJECT);
        let claimed = postgres.ask(DATABASE, &claimed).await?;
        let claimed: Vec<&str> = claimed.lines().collect();
        if claimed.len() as u64 != done.count {
            return Err(Error::Ledger { acknowledged: done.count, recorded: claimed.len() as u64 });
        }
        block_in_place(|| claiming::take_back(self.server.address, &self.cloud, pgbench::PROJECT, &claimed))?;
        Ok(done.rate)
    }

    /// The medians of our server without and with this many writes per second.
    pub fn beside(&self, question: Question, per_second: u32, size: Size) -> Result<(Duration, Duration), Error> {
        let alone = || self.read_from(self.server.address, question, size);
        let quiet = block_in_place(alone)?;
        let busy = block_in_place(|| claiming::beside(self.server.address, &self.cloud, per_second, alone))?;
        Ok((quiet.median(), busy.median()))
    }

    /// The times of queries to a server; between any two of them a claim is made on our server and another one is
    /// deleted.
    fn read_from(&self, asked: SocketAddr, question: Question, size: Size) -> Result<Times, Error> {
        reading::alone(asked, Guests::new(self.server.address, &self.cloud, "reading", 1), question, time(size))
    }

    /// The median of a server that returns the same bytes without any work, while the same guests are claimed on our
    /// server and deleted; it asks the database of our server for its version.
    pub fn still(&self, question: Question, size: Size) -> Result<Duration, Error> {
        let mut client = Client::new(self.server.address);
        let body = client.must("GET", &question.path(flavor(0), true), None)?.body.to_vec();
        let address = still::serve(&body, self.server.database())?;
        Ok(block_in_place(|| self.read_from(address, question, size))?.median())
    }

    /// The time from the start of our server to the first candidates, and its memory then, in MiB.
    pub async fn start(&mut self, question: Question) -> Result<(Duration, u64), Error> {
        let path = question.path(flavor(0), true);
        let took = self.server.restart(&path).await?;
        Ok((took, self.server.usage()?.resident_kib / 1024))
    }
}

pub fn time(size: Size) -> Duration {
    Duration::from_secs(size.pick(4, 1))
}
