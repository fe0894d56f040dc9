//! Shows that clusters fail independently: the API server of the second one is stopped and started again, and the
//! conditions of its commitments, before and after, are the same.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use berth_crds::{CommittedResource, Reservation};
use kube::api::{DeleteParams, ListParams};
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;

use crate::demo::Stage;
use crate::error::Error;
use crate::samples::{self, Sample};
use crate::sites::{REMOTE_ZONE, Sites};
use crate::snapshot;

/// Broken watches are tried again within half a minute.
const NOTICED_WITHIN: Duration = Duration::from_secs(90);

/// The commitments of this part.
pub struct Story {
    deleted: Sample,
    /// Created at home while the other cluster is away.
    made: Sample,
    /// Created in the other cluster when it is back.
    later: Sample,
}

impl Story {
    pub fn read(folder: &Path) -> Result<Self, Error> {
        match <[Sample; 3]>::try_from(samples::read(folder)?) {
            Ok([deleted, made, later]) => Ok(Self { deleted, made, later }),
            Err(_) => Err(Error::NoStory { folder: folder.to_owned() }),
        }
    }

    pub fn samples(&self) -> [&Sample; 3] {
        [&self.deleted, &self.made, &self.later]
    }

    pub async fn show(&self, stage: &mut Stage<'_>, sites: &mut Sites) -> Result<(), Error> {
        let Some(remote) = sites.remote.as_ref().map(|site| site.client.clone()) else { return Ok(()) };
        stage.commit(&self.deleted, sites).await?;
        let before = versions(&remote).await?;
        let begin = Instant::now();
        stage.processes.stop_remote().await?;
        stage.screen.done(&format!("the API server of cluster {REMOTE_ZONE} is stopped"), begin);
        stage.commit(&self.made, sites).await?;
        self.delete_in_vain(stage, &sites.home.client).await?;
        let begin = Instant::now();
        stage.processes.restart_remote().await?;
        stage.screen.done(&format!("the API server of cluster {REMOTE_ZONE} runs again"), begin);
        self.see_it_go(stage).await?;
        stage.commit(&self.later, sites).await?;
        stage.left_alone(&before, &versions(&remote).await?)
    }

    /// It is unknown whether the other cluster has slots of it, so its finalizer stays.
    async fn delete_in_vain(&self, stage: &mut Stage<'_>, home: &Client) -> Result<(), Error> {
        let begin = Instant::now();
        let (name, label) = (self.deleted.name(), &self.deleted.label);
        let api: Api<CommittedResource> = Api::all(home.clone());
        let deletion = api.delete(&name, &DeleteParams::default()).await;
        deletion.map_err(Error::api(format!("delete CommittedResource {name}")))?;
        let wanted = format!("waiting for slots in cluster {REMOTE_ZONE}");
        let reported = |stage: &Stage<'_>| {
            let message =
                stage.snapshot().commitment(&name).and_then(snapshot::ready).map(|ready| ready.message.clone());
            message.filter(|message| message.starts_with(&wanted))
        };
        let mut message = reported(stage);
        while message.is_none() {
            stage.wait(begin, NOTICED_WITHIN, label, &wanted).await?;
            message = reported(stage);
        }
        stage.screen.done(&format!("{label}: deleted, {}", message.unwrap_or_default()), begin);
        Ok(())
    }

    async fn see_it_go(&self, stage: &mut Stage<'_>) -> Result<(), Error> {
        let (begin, label) = (Instant::now(), &self.deleted.label);
        while stage.snapshot().commitment(&self.deleted.name()).is_some() {
            stage.wait(begin, NOTICED_WITHIN, label, "to be gone").await?;
        }
        stage.screen.done(&format!("{label}: gone"), begin);
        Ok(())
    }
}

/// The version of each commitment and slot.
pub type Versions = BTreeMap<String, String>;

async fn versions(client: &Client) -> Result<Versions, Error> {
    let mut all = versions_of::<CommittedResource>(client).await?;
    all.extend(versions_of::<Reservation>(client).await?);
    Ok(all)
}

async fn versions_of<K>(client: &Client) -> Result<Versions, Error>
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned,
{
    let list = Api::<K>::all(client.clone()).list(&ListParams::default()).await;
    let items = list.map_err(Error::api(format!("list {}", K::plural(&()))))?.items;
    let version = |object: K| {
        let name = format!("{} {}", K::kind(&()), object.name_any());
        (name, object.resource_version().unwrap_or_default())
    };
    Ok(items.into_iter().map(version).collect())
}

/// The earlier objects that were changed.
pub fn touched(before: &Versions, after: &Versions) -> Vec<String> {
    before.iter().filter(|(name, version)| after.get(*name) != Some(version)).map(|(name, _)| name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_another_version_or_is_gone_was_touched() {
        let versions = |all: &[(&str, &str)]| {
            all.iter().map(|(name, version)| ((*name).to_owned(), (*version).to_owned())).collect::<Versions>()
        };
        let before = versions(&[("a", "1"), ("b", "2"), ("c", "3")]);
        let after = versions(&[("a", "1"), ("b", "4"), ("new", "5")]);
        assert_eq!(touched(&before, &after), ["b", "c"]);
    }
}
