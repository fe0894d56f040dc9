//! Fills a control plane with concurrent requests.

use std::fmt::Debug;

use berth_crds::{CommittedResource, Knowledge, Reservation, conditions, names};
use futures::{StreamExt, TryStreamExt, stream};
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, ClusterResourceScope};
use kube::{Api, Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::time::{Duration, Instant, sleep};

use crate::cloud::{self, Pattern};
use crate::error::Error;
use crate::operator::Operator;
use crate::plane::Plane;

/// The maximum of concurrent requests.
const AT_ONCE: usize = 48;
const POLL_INTERVAL: Duration = Duration::from_millis(100);
const ACCEPTED_WITHIN: Duration = Duration::from_secs(60);

/// The objects that a control plane is filled with.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    pub hosts: usize,
    pub commitments: usize,
    pub slots: usize,
}

impl Counts {
    pub fn of(objects: usize) -> Self {
        let hosts = (objects / cloud::PER_HOST).max(1);
        let commitments = hosts * cloud::COMMITMENTS_PER_HOST;
        Self { hosts, commitments, slots: commitments * cloud::SLOTS }
    }

    pub fn objects(self) -> usize {
        self.hosts + self.commitments + self.slots
    }
}

/// Fills the control plane so that the operator has nothing left to do.
pub async fn fill(plane: &Plane, counts: Counts) -> Result<(), Error> {
    let client = plane.admin();
    flavor_groups(client).await?;
    all(0..counts.hosts, async |number| create(client, &cloud::host(number)).await.map(drop)).await?;
    let pattern = pattern(plane, cloud::SLOTS).await?;
    all(0..counts.commitments, async |number| {
        let commitment = create(client, &pattern.commitment(number)?).await?;
        for slot in pattern.slots(number, &commitment.uid().unwrap_or_default())? {
            create(client, &slot).await?;
        }
        Ok(())
    })
    .await
}

pub async fn flavor_groups(client: &Client) -> Result<(), Error> {
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::erase::<Knowledge>(&()));
    let name = names::FLAVOR_GROUPS;
    let object = serde_json::from_value(json!({
        "apiVersion": Knowledge::api_version(&()), "kind": Knowledge::kind(&()),
        "metadata": { "name": name }, "spec": { "schedulingDomain": "nova" },
    }))?;
    api.create(&PostParams::default(), &object).await?;
    let ready = json!({ "type": "Ready", "status": "True", "reason": "Extracted", "message": "",
                        "lastTransitionTime": "2026-03-01T08:00:00Z" });
    let status = json!({ "status": { "raw": cloud::flavor_groups(), "conditions": [ready] } });
    api.patch_status(name, &PatchParams::default(), &Patch::Merge(status)).await?;
    Ok(())
}

/// Lets the operator serve one commitment of `slots` slots, and deletes the objects afterwards.
pub async fn pattern(plane: &Plane, slots: usize) -> Result<Pattern, Error> {
    let mut operator = Operator::start(plane).await?;
    operator.ready().await?;
    create(plane.admin(), &cloud::commitment(cloud::PATTERN, slots)).await?;
    let commitments: Api<CommittedResource> = Api::all(plane.admin().clone());
    let (name, deadline) = (names::commitment(cloud::PATTERN), Instant::now() + ACCEPTED_WITHIN);
    let accepted = loop {
        let commitment = commitments.get(&name).await?;
        if commitment.status.as_ref().is_some_and(|status| conditions::is_ready(&status.conditions)) {
            break commitment;
        }
        if Instant::now() > deadline {
            let (what, seconds) = ("a commitment is accepted", ACCEPTED_WITHIN.as_secs());
            return Err(Error::TooLong { what, seconds, log: format!("{:?}", commitment.status) });
        }
        sleep(POLL_INTERVAL).await;
    };
    let slots: Api<Reservation> = Api::all(plane.admin().clone());
    let made = Pattern::new(&accepted, &slots.list(&ListParams::default()).await?.items)?;
    commitments.delete(&name, &DeleteParams::default()).await?;
    while commitments.get_opt(&name).await?.is_some() && Instant::now() < deadline {
        sleep(POLL_INTERVAL).await;
    }
    operator.stop().await?;
    Ok(made)
}

/// Runs the work for all numbers, many at a time.
pub async fn all(
    numbers: impl IntoIterator<Item = usize>,
    work: impl AsyncFn(usize) -> Result<(), Error>,
) -> Result<(), Error> {
    stream::iter(numbers).map(|number| work(number)).buffer_unordered(AT_ONCE).try_collect().await
}

pub async fn create<K>(client: &Client, object: &K) -> Result<K, Error>
where
    K: Resource<DynamicType = (), Scope = ClusterResourceScope> + Serialize + DeserializeOwned + Clone + Debug,
{
    let api: Api<K> = Api::all(client.clone());
    let created = api.create(&PostParams::default(), object).await?;
    let status = serde_json::to_value(object)?["status"].take();
    if !status.is_null() {
        let patch = Patch::Merge(json!({ "status": status }));
        api.patch_status(&created.name_any(), &PatchParams::default(), &patch).await?;
    }
    Ok(created)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fifty_thousand_objects_are_two_thousand_hosts_and_what_is_on_them() {
        let counts = Counts::of(50_000);
        assert_eq!((counts.hosts, counts.commitments, counts.slots), (2000, 8000, 40_000));
        assert_eq!(counts.objects(), 50_000);
    }
}
