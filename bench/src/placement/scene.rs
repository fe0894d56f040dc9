//! Ours and Placement with the same cloud, and everything that is measured in turn on both. It decides what a round is; what
//! has to be reached is left to the goals.

use std::path::Path;
use std::time::Duration;

use tokio::task::block_in_place;

use super::claiming::{self, Claimed};
use super::cloud::Cloud;
use super::error::Error;
use super::http::Client;
use super::questions::{LIMIT, Question, flavor};
use super::reading::{self, Read};
use super::servers::{DATABASE, Served, Store, ours, peer};
use super::{answers, load, peer_rows, pgbench, still};
use crate::Size;
use crate::pairs::{Pair, Side, alternate};

/// Hosts that are stored over HTTP, so that Placement knows traits, project, user and consumer type.
const FEW: u64 = 10;
/// How many of the fifty flavors answers are compared for.
const COMPARED: usize = 5;

/// Both, with the same cloud.
pub struct Scene {
    /// What they hold.
    pub cloud: Cloud,
    ours: Served,
    theirs: Served,
}

impl Scene {
    /// Starts and fills both.
    pub async fn build(binary: &Path, store: Store, cloud: Cloud) -> Result<Self, Error> {
        println!("{} {} hosts on {}", cloud.hosts, cloud.shape.name(), store.name());
        let (ours, theirs) = (ours(binary, store).await?, peer().await?);
        block_in_place(|| load::fill(ours.address, &cloud))?;
        let few = Cloud { hosts: FEW, residents: 2, ..cloud };
        block_in_place(|| load::fill(theirs.address, &few))?;
        if let Some(postgres) = theirs.postgres() {
            peer_rows::replace(postgres, &cloud).await?;
        }
        Ok(Self { cloud, ours, theirs })
    }

    /// Whether both say the same; gives how many candidates there are.
    pub fn compare(&self, question: Question) -> Result<usize, Error> {
        let (mut ours, mut theirs) = (Client::new(self.ours.address), Client::new(self.theirs.address));
        block_in_place(|| answers::compare(question, &mut ours, &mut theirs, 50 / COMPARED))
    }

    /// Both read in turn, and must say the same before and afterwards.
    pub async fn read(&self, question: Question, size: Size) -> Result<(Vec<Pair<Read>>, usize), crate::error::Error> {
        self.compare(question)?;
        let pairs = alternate(size.rounds(3, 1), async |_, side| {
            let address = self.of(side).address;
            Ok(block_in_place(|| reading::read(address, &self.cloud, question, time(size)))?)
        });
        let pairs = pairs.await?;
        Ok((pairs, self.compare(question)?))
    }

    /// Both acknowledge claims in turn; each ledger must have exactly what was acknowledged.
    pub async fn claim(&self, size: Size) -> Result<Vec<Pair<Claimed>>, crate::error::Error> {
        alternate(size.rounds(3, 1), async |round, side| {
            let address = self.of(side).address;
            Ok(block_in_place(|| claiming::claim(address, None, &self.cloud, round, time(size)))?)
        })
        .await
    }

    /// Ours, and bare transactions in its database, acknowledge claims in turn.
    pub async fn claim_bare(&self, size: Size) -> Result<Vec<Pair<Claimed>>, crate::error::Error> {
        alternate(size.rounds(5, 1), async |round, side| match side {
            Side::Operator => self.claim_here(None, round, size),
            Side::Floor => self.claim_here(self.ours.database().as_deref(), round, size),
        })
        .await
    }

    /// Claims per second of bare transactions and of pgbench, in turn.
    pub async fn claim_by_pgbench(&self, size: Size) -> Result<Vec<Pair<f64>>, crate::error::Error> {
        alternate(size.rounds(5, 1), async |round, side| match side {
            Side::Operator => Ok(self.claim_here(self.ours.database().as_deref(), round, size)?.rate),
            Side::Floor => Ok(self.pgbench(size).await?),
        })
        .await
    }

    fn claim_here(&self, database: Option<&str>, round: usize, size: Size) -> Result<Claimed, crate::error::Error> {
        let claim = || claiming::claim(self.ours.address, database, &self.cloud, round, time(size));
        Ok(block_in_place(claim)?)
    }

    async fn pgbench(&self, size: Size) -> Result<f64, Error> {
        let Some(postgres) = self.ours.postgres() else { return Ok(0.0) };
        let done = pgbench::run(postgres, DATABASE, claiming::WRITERS, time(size)).await?;
        let claimed = format!("select uuid from consumers where project = '{}'", pgbench::PROJECT);
        let claimed = postgres.ask(DATABASE, &claimed).await?;
        let claimed: Vec<&str> = claimed.lines().collect();
        if claimed.len() as u64 != done.count {
            return Err(Error::Ledger { acknowledged: done.count, recorded: claimed.len() as u64 });
        }
        block_in_place(|| claiming::take_back(self.ours.address, &self.cloud, pgbench::PROJECT, &claimed))?;
        Ok(done.rate)
    }

    /// Ours, quiet and beside so many writes per second: the medians.
    pub fn beside(&self, question: Question, per_second: u32, size: Size) -> Result<(Duration, Duration), Error> {
        let alone = || reading::alone(self.ours.address, &self.cloud, question, time(size));
        let (quiet, _) = block_in_place(alone)?;
        let (busy, _) = block_in_place(|| claiming::beside(self.ours.address, &self.cloud, per_second, alone))?;
        Ok((quiet.median(), busy.median()))
    }

    /// The median of a server that gives the same bytes without having to think; it asks the database of ours what is new.
    pub fn still(&self, question: Question, size: Size) -> Result<Duration, Error> {
        let mut client = Client::new(self.ours.address);
        let body = client.must("GET", &question.path(flavor(0), true), None)?.body.to_vec();
        let address = still::serve(&body, self.ours.database())?;
        let (times, _) = block_in_place(|| reading::only(address, question, time(size)))?;
        Ok(times.median())
    }

    /// How long ours takes from its start to the first candidates, and its memory then in MiB.
    pub async fn start(&mut self, question: Question) -> Result<(Duration, u64), Error> {
        let path = question.path(flavor(0), true);
        let took = self.ours.restart(&path).await?;
        Ok((took, self.ours.usage()?.resident_kib / 1024))
    }

    fn of(&self, side: Side) -> &Served {
        match side {
            Side::Operator => &self.ours,
            Side::Floor => &self.theirs,
        }
    }
}

/// For each figure and side.
fn time(size: Size) -> Duration {
    Duration::from_secs(size.pick(4, 1))
}

/// How many candidates an answer has at most.
pub fn limited(candidates: usize) -> usize {
    candidates.min(LIMIT)
}
