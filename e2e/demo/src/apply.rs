//! Applies objects of any kind to the cluster, including their status: the API server drops the status of a new object,
//! so it is written to `/status` afterwards, as the owner of such an object would do.

use std::collections::HashMap;

use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::discovery::{self, Scope};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use crate::error::Error;

/// The field manager of the demonstration.
pub const FIELD_MANAGER: &str = "berth-demo";

/// Applies objects, and caches the API resources of their kinds.
pub struct Applier {
    client: Client,
    kinds: HashMap<GroupVersionKind, (ApiResource, Scope)>,
}

impl Applier {
    pub fn new(client: Client) -> Self {
        Self { client, kinds: HashMap::new() }
    }

    /// Creates an object, or changes it to the given one.
    pub async fn apply(&mut self, object: &DynamicObject) -> Result<(), Error> {
        let name = object.name_any();
        let kind = object.types.as_ref().map(|types| types.kind.clone()).unwrap_or_default();
        let failed = |part: &str| Error::api(format!("write {part}{kind} {name}"));
        let api = self.api(object, &kind).await?;
        let mut object = object.clone();
        let status = object.data.as_object_mut().and_then(|data| data.remove("status"));
        api.patch(&name, &params(), &Patch::Apply(&object)).await.map_err(failed(""))?;
        if let Some(status) = status {
            let patch = with_status(&object, &status);
            api.patch_status(&name, &params(), &Patch::Apply(&patch)).await.map_err(failed("the status of "))?;
        }
        Ok(())
    }

    async fn api(&mut self, object: &DynamicObject, kind: &str) -> Result<Api<DynamicObject>, Error> {
        let types = object.types.clone().unwrap_or_default();
        let unknown = || Error::api(format!("find out how {kind} ({}) is served", types.api_version));
        let id = GroupVersionKind::try_from(&types).map_err(|error| Error::NotAnObject {
            path: kind.into(),
            number: 1,
            reason: error.to_string(),
        })?;
        if !self.kinds.contains_key(&id) {
            let (resource, capabilities) = discovery::pinned_kind(&self.client, &id).await.map_err(unknown())?;
            self.kinds.insert(id.clone(), (resource, capabilities.scope));
        }
        let (resource, scope) = &self.kinds[&id];
        Ok(match scope {
            Scope::Cluster => Api::all_with(self.client.clone(), resource),
            Scope::Namespaced => {
                let namespace = object.namespace().unwrap_or_else(|| "default".to_owned());
                Api::namespaced_with(self.client.clone(), &namespace, resource)
            }
        })
    }
}

fn params() -> PatchParams {
    PatchParams::apply(FIELD_MANAGER).force()
}

fn with_status(object: &DynamicObject, status: &Value) -> Value {
    let types = object.types.clone().unwrap_or_default();
    json!({
        "apiVersion": types.api_version,
        "kind": types.kind,
        "metadata": { "name": object.name_any() },
        "status": status,
    })
}
