//! A client that takes the six steps of a sale that depend on each other, and decides nothing. It writes copies of what
//! the operator has written for such a sale.

use std::fmt::Debug;
use std::time::Duration;

use berth_crds::{CommitmentChange, CommittedResource, Reservation};
use futures::future::try_join_all;
use kube::api::{Patch, PatchParams, PostParams};
use kube::core::ClusterResourceScope;
use kube::{Api, Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::journal::SalePattern;
use crate::error::Error;
use crate::plane::Plane;

pub struct BareSeller {
    changes: Writes<CommitmentChange>,
    commitments: Writes<CommittedResource>,
    slots: Writes<Reservation>,
    pattern: SalePattern,
}

impl BareSeller {
    pub async fn new(plane: &Plane, pattern: SalePattern) -> Result<Self, Error> {
        let client = plane.bare_client().await?;
        let (changes, commitments) = (Writes::new(&client), Writes::new(&client));
        Ok(Self { changes, commitments, slots: Writes::new(&client), pattern })
    }

    /// Sells a commitment with slots on a host; returns the time that this takes.
    pub async fn sell(&self, uuid: &str, zone: &str, host: &str) -> Result<Duration, Error> {
        let change = self.pattern.change(uuid, zone)?;
        let commitment = self.pattern.commitment.commitment_in(uuid, zone)?;
        let began = Instant::now();
        self.changes.create(&change).await?;
        let owner = self.commitments.create(&commitment).await?.uid().unwrap_or_default();
        let slots = self.pattern.commitment.slots_on(host, zone, uuid, &owner)?;
        try_join_all(slots.iter().map(|slot| self.slots.create(slot))).await?;
        try_join_all(slots.iter().map(|slot| self.slots.report(slot))).await?;
        self.commitments.report(&commitment).await?;
        self.changes.report(&change).await?;
        Ok(began.elapsed())
    }
}

/// The writes of one kind.
struct Writes<K>(Api<K>);

impl<K> Writes<K>
where
    K: Resource<DynamicType = (), Scope = ClusterResourceScope> + Serialize + DeserializeOwned + Clone + Debug,
{
    fn new(client: &Client) -> Self {
        Self(Api::all(client.clone()))
    }

    /// Creates the object without its status, which the API server does not take.
    async fn create(&self, object: &K) -> Result<K, Error> {
        let mut object = serde_json::to_value(object)?;
        object["status"].take();
        Ok(self.0.create(&PostParams::default(), &serde_json::from_value(object)?).await?)
    }

    async fn report(&self, object: &K) -> Result<(), Error> {
        let status: Value = serde_json::to_value(object)?["status"].take();
        let patch = Patch::Merge(json!({ "status": status }));
        Ok(self.0.patch_status(&object.name_any(), &PatchParams::default(), &patch).await.map(drop)?)
    }
}
