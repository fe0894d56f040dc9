//! Installs the CRDs, and waits until the API server serves them, including watches: for a moment after it has accepted
//! a CRD it answers 404, and then refuses watches because its cache is still empty.

use std::time::Duration;

use futures::future::try_join_all;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client, ResourceExt};
use tokio::time::{sleep, timeout};

use crate::apply::FIELD_MANAGER;
use crate::error::Error;

const SERVED_WITHIN: Duration = Duration::from_secs(30);
const ASK_EVERY: Duration = Duration::from_millis(20);

/// Installs the CRDs of all kinds; returns their number.
pub async fn install(client: &Client) -> Result<usize, Error> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let crds = berth_crds::generate::all();
    for crd in &crds {
        let params = PatchParams::apply(FIELD_MANAGER).force();
        let action = format!("install the CRD {}", crd.name_any());
        api.patch(&crd.name_any(), &params, &Patch::Apply(crd)).await.map_err(Error::api(action))?;
    }
    try_join_all(crds.iter().map(|crd| wait_until_served(client, &api, crd))).await?;
    Ok(crds.len())
}

async fn wait_until_served(
    client: &Client,
    api: &Api<CustomResourceDefinition>,
    crd: &CustomResourceDefinition,
) -> Result<(), Error> {
    let not_served = |_| Error::NotServed { name: crd.name_any(), seconds: SERVED_WITHIN.as_secs() };
    timeout(SERVED_WITHIN, served(client, api, crd)).await.map_err(not_served)
}

async fn served(client: &Client, api: &Api<CustomResourceDefinition>, crd: &CustomResourceDefinition) {
    // An error is inconclusive: the list below asks again.
    let _ = await_condition(api.clone(), &crd.name_any(), conditions::is_crd_established()).await;
    let objects: Api<DynamicObject> = Api::all_with(client.clone(), &resource(crd));
    // A list that may be old is answered from the cache that watches need.
    let from_cache = ListParams::default().match_any();
    while objects.list(&from_cache).await.is_err() {
        sleep(ASK_EVERY).await;
    }
}

fn resource(crd: &CustomResourceDefinition) -> ApiResource {
    let spec = &crd.spec;
    let version = spec.versions.first().map(|version| version.name.as_str()).unwrap_or_default();
    let kind = GroupVersionKind::gvk(&spec.group, version, &spec.names.kind);
    ApiResource::from_gvk_with_plural(&kind, &spec.names.plural)
}
