//! The clusters of the demonstration: home and, on request, another one that has the objects of one zone.

use berth_crds::labels::ZONE;
use kube::api::DynamicObject;
use kube::{Client, ResourceExt};

use crate::apply::Applier;
use crate::crds;
use crate::documents::File;
use crate::error::Error;

/// The zone whose objects are in the second cluster, if there is one. It is also the name of that cluster.
pub const REMOTE_ZONE: &str = "eu-demo-1b";

/// A cluster with an administrator's client.
pub struct Site {
    pub client: Client,
    applier: Applier,
}

impl Site {
    pub fn new(client: Client) -> Self {
        Self { applier: Applier::new(client.clone()), client }
    }

    /// Installs the CRDs and applies all objects of these files; returns the number of CRDs.
    pub async fn prepare(&mut self, files: &[File]) -> Result<usize, Error> {
        let crds = crds::install(&self.client).await?;
        for object in files.iter().flat_map(|file| &file.objects) {
            self.applier.apply(object).await?;
        }
        Ok(crds)
    }
}

/// All clusters.
pub struct Sites {
    /// The cluster of the operator, with everything that is not in the other one.
    pub home: Site,
    pub remote: Option<Site>,
}

impl Sites {
    pub fn clients(&self) -> Vec<Client> {
        std::iter::once(&self.home).chain(&self.remote).map(|site| site.client.clone()).collect()
    }

    pub async fn apply(&mut self, object: &DynamicObject) -> Result<(), Error> {
        let site = match &mut self.remote {
            Some(remote) if zone(object) == Some(REMOTE_ZONE) => remote,
            _ => &mut self.home,
        };
        site.applier.apply(object).await
    }
}

/// The zone of a commitment or a host.
fn zone(object: &DynamicObject) -> Option<&str> {
    let of_commitment = || object.data.pointer("/spec/availabilityZone")?.as_str();
    object.labels().get(ZONE).map(String::as_str).or_else(of_commitment)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn hosts_and_commitments_have_zones_and_flavor_groups_have_none() {
        let object = |value: Value| serde_json::from_value::<DynamicObject>(value).unwrap();
        assert_eq!(zone(&object(json!({ "metadata": { "labels": { ZONE: "az-a" } } }))), Some("az-a"));
        assert_eq!(zone(&object(json!({ "metadata": {}, "spec": { "availabilityZone": "az-b" } }))), Some("az-b"));
        assert_eq!(zone(&object(json!({ "metadata": {}, "spec": { "extractor": {} } }))), None);
    }
}
