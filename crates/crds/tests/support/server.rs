//! A real API server with our CRDs.

use std::time::Duration;

use berth_control_plane::ControlPlane;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client, Config};
use serde_json::{Value, json};
use tokio::time::sleep;

/// A control plane and a client of it.
pub struct Server {
    client: Client,
    _control_plane: ControlPlane,
}

impl Server {
    /// An API server that serves the given kinds.
    pub async fn start(crds: Vec<CustomResourceDefinition>) -> Self {
        let control_plane = ControlPlane::start().await.unwrap();
        let kubeconfig = Kubeconfig::read_from(control_plane.kubeconfig()).unwrap();
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
        let server = Self { client: Client::try_from(config).unwrap(), _control_plane: control_plane };
        server.apply(crds).await;
        server
    }

    /// Installs CRDs, or replaces them, and waits until every kind is served. A changed schema takes effect a moment
    /// later.
    pub async fn apply(&self, crds: Vec<CustomResourceDefinition>) {
        let api: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        for crd in crds {
            let name = crd.metadata.name.clone().unwrap();
            let params = PatchParams::apply("test").force();
            api.patch(&name, &params, &Patch::Apply(&crd)).await.unwrap_or_else(|e| panic!("{name}: {e}"));
            let kind = json!({ "apiVersion": format!("{}/{}", crd.spec.group, crd.spec.versions[0].name),
                               "kind": crd.spec.names.kind, "metadata": {} });
            while self.api(&kind).list(&kube::api::ListParams::default()).await.is_err() {
                sleep(Duration::from_millis(50)).await;
            }
        }
    }

    /// The API of the kind of an object.
    pub fn api(&self, object: &Value) -> Api<DynamicObject> {
        let (group, version) = object["apiVersion"].as_str().unwrap().split_once('/').unwrap();
        let kind = object["kind"].as_str().unwrap();
        let plural = match kind {
            "Knowledge" => "knowledges".to_owned(),
            "FlavorGroupCapacity" => "flavorgroupcapacities".to_owned(),
            other => format!("{}s", other.to_lowercase()),
        };
        let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), &plural);
        Api::all_with(self.client.clone(), &resource)
    }

    pub async fn create(&self, object: &Value) -> Result<DynamicObject, kube::Error> {
        self.api(object).create(&PostParams::default(), &dynamic(object)).await
    }

    pub async fn replace(&self, object: &Value) -> Result<DynamicObject, kube::Error> {
        self.api(object).replace(&name(object), &PostParams::default(), &dynamic(object)).await
    }

    /// Replaces the status of an object that was read before.
    pub async fn replace_status(&self, object: &Value) -> Result<DynamicObject, kube::Error> {
        self.api(object).replace_status(&name(object), &PostParams::default(), &dynamic(object)).await
    }

    pub async fn patch(&self, object: &Value, change: Value) -> Result<DynamicObject, kube::Error> {
        self.api(object).patch(&name(object), &PatchParams::default(), &Patch::Merge(change)).await
    }

    /// Merges a patch into the status of an object.
    pub async fn patch_status(&self, object: &Value, change: Value) -> Result<DynamicObject, kube::Error> {
        self.api(object).patch_status(&name(object), &PatchParams::default(), &Patch::Merge(change)).await
    }

    pub async fn delete(&self, object: &Value) -> Result<(), kube::Error> {
        match self.api(object).delete(&name(object), &DeleteParams::default()).await {
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
            result => result.map(drop),
        }
    }

    /// Whether the object exists.
    pub async fn has(&self, object: &Value) -> bool {
        self.api(object).get_opt(&name(object)).await.unwrap().is_some()
    }
}

pub fn name(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap().to_owned()
}

fn dynamic(object: &Value) -> DynamicObject {
    serde_json::from_value(object.clone()).unwrap()
}
