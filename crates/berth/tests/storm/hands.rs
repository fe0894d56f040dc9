//! Users and host agents that repeat their requests until they are done, whatever is away at the moment. An answer may
//! be lost, so every request can be made twice.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use berth_control_plane::ControlPlane;
use berth_crds::{CommittedResource, Hypervisor, Quantity, names};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt as _};
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::support::objects::slots;
use crate::support::world::client;

/// Longer than any request takes, and shorter than the pauses of the processes.
const ANSWER_WITHIN: Duration = Duration::from_secs(3);
const ASK_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// A client; clones share a count.
#[derive(Clone)]
pub struct Hands {
    client: Client,
    done: Arc<AtomicU64>,
}

/// The outcome of one attempt.
enum Attempt {
    Done,
    TooEarly,
}

impl Hands {
    pub async fn of(control_plane: &ControlPlane) -> Self {
        Self { client: client(control_plane).await, done: Arc::default() }
    }

    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    pub async fn commits(&self, commitment: &CommittedResource) {
        self.insists(|| self.tries_to_commit(commitment)).await;
    }

    /// Sets the number of slots of an existing commitment. A missing object is an error: no other client deletes it.
    pub async fn resizes(&self, uuid: &str, count: u64) {
        let name = names::commitment(uuid);
        let amount = slots(count).into();
        self.insists(|| self.tries_to_resize(&name, &amount)).await;
    }

    pub async fn ends(&self, uuid: &str) {
        let (api, name) = (self.commitments(), names::commitment(uuid));
        self.insists(|| tries_to_remove(&api, &name)).await;
    }

    pub async fn sets_up(&self, host: &Hypervisor) {
        self.insists(|| self.tries_to_set_up(host)).await;
    }

    pub async fn takes_away(&self, name: &str) {
        let api = self.hosts();
        self.insists(|| tries_to_remove(&api, name)).await;
    }

    async fn tries_to_commit(&self, commitment: &CommittedResource) -> Result<Attempt, kube::Error> {
        let (api, name) = (self.commitments(), commitment.name_any());
        match api.create(&PostParams::default(), commitment).await {
            Err(error) if is_about(&error, 409, &name) => {
                // The previous object is still being deleted, or it is ours and the answer was lost.
                let dying = api.get(&name).await?.metadata.deletion_timestamp.is_some();
                if dying { Ok(Attempt::TooEarly) } else { self.tries_to_resize(&name, &commitment.spec.amount).await }
            }
            answer => answer.map(done),
        }
    }

    async fn tries_to_resize(&self, name: &str, amount: &Quantity) -> Result<Attempt, kube::Error> {
        let desired = Patch::Merge(json!({ "spec": { "amount": amount } }));
        let answer = self.commitments().patch(name, &PatchParams::default(), &desired).await;
        let lost = answer.as_ref().is_err_and(|error| is_about(error, 404, name));
        assert!(!lost, "{name} was acknowledged and is lost");
        answer.map(done)
    }

    async fn tries_to_set_up(&self, host: &Hypervisor) -> Result<Attempt, kube::Error> {
        let (api, name) = (self.hosts(), host.name_any());
        match api.create(&PostParams::default(), host).await {
            Err(error) if is_about(&error, 409, &name) => {}
            answer => answer.map(drop)?,
        }
        let status = Patch::Merge(json!({ "status": host.status }));
        api.patch_status(&name, &PatchParams::default(), &status).await.map(done)
    }

    async fn insists<F>(&self, attempt: impl Fn() -> F)
    where
        F: Future<Output = Result<Attempt, kube::Error>>,
    {
        loop {
            match timeout(ANSWER_WITHIN, attempt()).await {
                Ok(Ok(Attempt::Done)) => break,
                // A repetition cannot help: the server has understood and refuses.
                Ok(Err(error)) if matches!(code(&error), 400 | 403 | 422) => panic!("{error}"),
                _ => sleep(ASK_AGAIN_AFTER).await,
            }
        }
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    fn commitments(&self) -> Api<CommittedResource> {
        Api::all(self.client.clone())
    }

    fn hosts(&self) -> Api<Hypervisor> {
        Api::all(self.client.clone())
    }
}

/// Deletes an object; if it is gone already, the answer was lost.
async fn tries_to_remove<K>(api: &Api<K>, name: &str) -> Result<Attempt, kube::Error>
where
    K: kube::Resource + Clone + DeserializeOwned + Debug,
{
    match api.delete(name, &DeleteParams::default()).await {
        Err(error) if is_about(&error, 404, name) => Ok(Attempt::Done),
        answer => answer.map(done),
    }
}

fn done<T>(_: T) -> Attempt {
    Attempt::Done
}

fn code(error: &kube::Error) -> u16 {
    match error {
        kube::Error::Api(status) => status.code,
        _ => 0,
    }
}

/// A server that has just started does not know our kinds yet, and answers 404 as well, but without an object.
fn is_about(error: &kube::Error, code: u16, name: &str) -> bool {
    let details = |status: &kube::core::Status| status.details.as_ref().is_some_and(|details| details.name == name);
    matches!(error, kube::Error::Api(status) if status.code == code && details(status))
}
