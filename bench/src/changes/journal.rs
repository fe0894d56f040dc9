//! The objects that the operator writes for a sold commitment, as the pattern for others.

use std::time::Duration;

use berth_crds::{CommitmentChange, CommittedResource, Reservation, facts, labels, names, testing};
use kube::Api;
use kube::api::ListParams;
use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::limes::{SLOTS, sold};
use super::scene::Scene;
use crate::cloud::{self, Pattern};
use crate::error::Error;
use crate::floor::scene::with_hosts;

const WITHIN: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The change, and the commitment with its slots.
#[derive(Clone, Debug)]
pub struct SalePattern {
    change: String,
    pub commitment: Pattern,
}

impl SalePattern {
    /// Lets the operator sell one commitment.
    pub async fn learn() -> Result<Self, Error> {
        let scene = Scene::open(with_hosts(1).await?).await?;
        let mut limes = scene.connect("learn").await?;
        limes.change(testing::ZONE, &[sold(cloud::PATTERN, SLOTS)]).await?;
        let learned = Self::read(&scene).await?;
        scene.close().await?;
        Ok(learned)
    }

    async fn read(scene: &Scene) -> Result<Self, Error> {
        let client = scene.plane.admin();
        let commitments: Api<CommittedResource> = Api::all(client.clone());
        let slots: Api<Reservation> = Api::all(client.clone());
        let commitment = commitments.get(&names::commitment(cloud::PATTERN)).await?;
        let slots = slots.list(&ListParams::default()).await?.items;
        let mut change = serde_json::to_value(finished_change(scene).await?)?;
        change["metadata"]["finalizers"] = Value::from(vec![labels::FINISH_CHANGE]);
        Ok(Self { change: change.to_string(), commitment: Pattern::new(&commitment, &slots)? })
    }

    /// The change that creates the commitment with this UUID.
    pub fn change(&self, uuid: &str, zone: &str) -> Result<CommitmentChange, Error> {
        let mut change = cloud::bare(&self.change.replace(cloud::PATTERN, uuid).replace(testing::ZONE, zone))?;
        change["metadata"]["name"] = Value::from(names::commitment_change(uuid));
        Ok(serde_json::from_value(change)?)
    }
}

async fn finished_change(scene: &Scene) -> Result<CommitmentChange, Error> {
    let changes: Api<CommitmentChange> = Api::all(scene.plane.admin().clone());
    let deadline = Instant::now() + WITHIN;
    loop {
        let found = changes.list(&ListParams::default()).await?.items;
        if let Some(change) = found.into_iter().find(|change| !facts::is_open(change)) {
            return Ok(change);
        }
        if Instant::now() > deadline {
            return Err(Error::Scene("a change that is finished".to_owned()));
        }
        sleep(POLL_INTERVAL).await;
    }
}
