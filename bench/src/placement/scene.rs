//! Our server and Placement with the same cloud, and the measurements that run on both in turn.

use std::path::Path;

use tokio::task::block_in_place;

use super::claiming::{self, Claimed};
use super::cloud::Cloud;
use super::error::Error;
use super::http::Client;
use super::ours::{Ours, time};
use super::questions::{LIMIT, Question};
use super::reading::{self, Read};
use super::servers::{Served, Store, peer};
use super::{answers, load, peer_rows};
use crate::pairs::{Pair, Side, alternate};
use crate::size::Size;

/// The hosts that are stored over HTTP, so that Placement knows traits, project, user and consumer type.
const FEW: u64 = 10;
/// The number of flavors whose answers are compared.
const COMPARED: usize = 5;

pub struct Scene {
    pub ours: Ours,
    theirs: Served,
}

impl Scene {
    pub async fn build(binary: &Path, store: Store, cloud: Cloud) -> Result<Self, Error> {
        let (ours, theirs) = (Ours::build(binary, store, cloud).await?, peer().await?);
        let few = Cloud { hosts: FEW, residents: 2, ..cloud };
        block_in_place(|| load::fill(theirs.address, &few))?;
        if let Some(postgres) = theirs.postgres() {
            peer_rows::replace(postgres, &cloud).await?;
        }
        Ok(Self { ours, theirs })
    }

    /// Checks that both return the same; returns the number of candidates.
    pub fn compare(&self, question: Question) -> Result<usize, Error> {
        let (mut ours, mut theirs) = (Client::new(self.ours.server.address), Client::new(self.theirs.address));
        block_in_place(|| answers::compare(question, &mut ours, &mut theirs, 50 / COMPARED))
    }

    /// Reads from both in turn; the answers must be the same before and afterwards.
    pub async fn read(&self, question: Question, size: Size) -> Result<(Vec<Pair<Read>>, usize), crate::error::Error> {
        self.compare(question)?;
        let pairs = alternate(size.rounds(3, 1), async |_, side| {
            let address = self.of(side).address;
            Ok(block_in_place(|| reading::read(address, &self.ours.cloud, question, time(size)))?)
        });
        let pairs = pairs.await?;
        Ok((pairs, self.compare(question)?))
    }

    /// Both acknowledge claims in turn; each ledger must have exactly the acknowledged claims.
    pub async fn claim(&self, size: Size) -> Result<Vec<Pair<Claimed>>, crate::error::Error> {
        alternate(size.rounds(3, 1), async |round, side| {
            let address = self.of(side).address;
            Ok(block_in_place(|| claiming::claim(address, None, &self.ours.cloud, round, time(size)))?)
        })
        .await
    }

    fn of(&self, side: Side) -> &Served {
        match side {
            Side::Operator => &self.ours.server,
            Side::Floor => &self.theirs,
        }
    }
}

/// The maximum of candidates in an answer.
pub fn limited(candidates: usize) -> usize {
    candidates.min(LIMIT)
}
