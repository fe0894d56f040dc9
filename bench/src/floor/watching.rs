//! A watch that waits for commitments to become ready.

use std::collections::BTreeSet;
use std::time::Duration;

use berth_crds::{CommittedResource, conditions};
use futures::StreamExt;
use futures::stream::BoxStream;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, ResourceExt};
use tokio::time::timeout;

use crate::error::Error;

const WITHIN: Duration = Duration::from_secs(600);

pub struct Watching {
    stream: BoxStream<'static, watcher::Result<Event<CommittedResource>>>,
    ready: BTreeSet<String>,
}

impl Watching {
    pub async fn begin(client: &Client) -> Result<Self, Error> {
        let api: Api<CommittedResource> = Api::all(client.clone());
        let mut watching =
            Self { stream: watcher(api, watcher::Config::default()).boxed(), ready: BTreeSet::default() };
        while !matches!(watching.next().await?, Event::InitDone) {}
        Ok(watching)
    }

    /// Waits until this many commitments are ready.
    pub async fn ready(&mut self, number: usize) -> Result<(), Error> {
        while self.ready.len() < number {
            if let Event::Apply(commitment) = self.next().await? {
                let is_ready = |status: &berth_crds::CommittedResourceStatus| conditions::is_ready(&status.conditions);
                if commitment.status.as_ref().is_some_and(is_ready) {
                    self.ready.insert(commitment.name_any());
                }
            }
        }
        Ok(())
    }

    /// Waits for the next commitment that is not claimed yet.
    pub async fn fresh(&mut self) -> Result<CommittedResource, Error> {
        loop {
            if let Event::Apply(commitment) = self.next().await?
                && commitment.finalizers().is_empty()
            {
                return Ok(commitment);
            }
        }
    }

    async fn next(&mut self) -> Result<Event<CommittedResource>, Error> {
        let too_long =
            || Error::TooLong { what: "commitments become ready", seconds: WITHIN.as_secs(), log: String::new() };
        match timeout(WITHIN, self.stream.next()).await {
            Ok(Some(event)) => Ok(event?),
            Ok(None) | Err(_) => Err(too_long()),
        }
    }
}
