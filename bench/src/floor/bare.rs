//! A client that writes what the operator would write and decides nothing: same account, same connections, same bytes.
//! The written objects are copies of what the operator wrote for a similar commitment.

use berth_crds::{CommittedResource, Reservation};
use futures::future::try_join_all;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::cloud::Pattern;
use crate::error::Error;
use crate::plane::Plane;

/// The maximum of concurrent requests.
const AT_ONCE: usize = 32;

pub struct Bare {
    client: Client,
    commitments: Api<CommittedResource>,
    slots: Api<Reservation>,
    pattern: Pattern,
    turns: Semaphore,
}

impl Bare {
    /// A client that writes copies of the pattern.
    pub async fn new(plane: &Plane, pattern: Pattern) -> Result<Self, Error> {
        let client = plane.bare_client().await?;
        let (commitments, slots) = (Api::all(client.clone()), Api::all(client.clone()));
        Ok(Self { client, commitments, slots, pattern, turns: Semaphore::new(AT_ONCE) })
    }

    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Claims a commitment, as the operator does before it creates its first slot.
    pub async fn claim(&self, commitment: &CommittedResource) -> Result<(), Error> {
        let finalizers = self.pattern.commitment_in("any", "any")?.metadata.finalizers;
        let CommittedResource { metadata, .. } = commitment;
        let patch = json!({ "metadata": {
            "uid": metadata.uid, "resourceVersion": metadata.resource_version, "finalizers": finalizers } });
        self.turn(self.commitments.patch(&commitment.name_any(), &PatchParams::default(), &Patch::Merge(patch))).await
    }

    /// Creates the slots of a commitment on a host, writes the status of each, then the status of the commitment.
    pub async fn serve(&self, commitment: &CommittedResource, host: &str) -> Result<(), Error> {
        let (uuid, zone) = (&commitment.spec.commitment_uuid, &commitment.spec.availability_zone);
        let slots = self.pattern.slots_on(host, zone, uuid, &commitment.uid().unwrap_or_default())?;
        try_join_all(slots.into_iter().map(|slot| self.slot(slot))).await?;
        let accepted = self.pattern.commitment_in(uuid, zone)?;
        let patch = status_of(&accepted)?;
        let params = PatchParams::default();
        self.turn(self.commitments.patch_status(&commitment.name_any(), &params, &patch)).await
    }

    async fn slot(&self, mut slot: Reservation) -> Result<(), Error> {
        let (name, patch) = (slot.name_any(), status_of(&slot)?);
        slot.status = None;
        self.turn(self.slots.create(&PostParams::default(), &slot)).await?;
        self.turn(self.slots.patch_status(&name, &PatchParams::default(), &patch)).await
    }

    async fn turn<T>(&self, request: impl Future<Output = kube::Result<T>>) -> Result<(), Error> {
        // Cannot fail: the semaphore is never closed.
        let _turn = self.turns.acquire().await;
        Ok(request.await.map(drop)?)
    }
}

fn status_of(object: &impl Serialize) -> Result<Patch<Value>, Error> {
    Ok(Patch::Merge(json!({ "status": serde_json::to_value(object)?["status"].take() })))
}
