//! The two servers of the behaviours, and what a behaviour needs besides requests.

use std::sync::Arc;
use std::time::Duration;

use berth_control_plane::ControlPlane;
use berth_crds::{ProjectQuota, generate};
use berth_telemetry::clock::TokioClock;
use berth_testkit::Server;
use futures::future::LocalBoxFuture;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, Client, Config};
use serde_json::Value;
use tokio::time::sleep;

/// Events of a server besides requests.
pub trait Special {
    fn client(&self) -> Client;
    fn remove_quotas(&self) -> LocalBoxFuture<'_, ()>;
    fn install_quotas(&self) -> LocalBoxFuture<'_, ()>;
    /// A version from which watches cannot start any more.
    fn too_old(&self) -> String;
    /// Stores a Reservation as before there were rules.
    fn store_old<'a>(&'a self, object: &'a Value) -> LocalBoxFuture<'a, ()>;
}

/// The server in memory.
#[derive(Clone)]
pub struct Double {
    pub server: Server,
}

impl Double {
    pub fn start() -> Self {
        Self { server: Server::new(Arc::new(TokioClock::new("2026-03-01T08:00:00Z".parse().unwrap()))) }
    }
}

impl Special for Double {
    fn client(&self) -> Client {
        self.server.cluster().client
    }

    fn remove_quotas(&self) -> LocalBoxFuture<'_, ()> {
        self.server.remove_kind::<ProjectQuota>();
        Box::pin(async {})
    }

    fn install_quotas(&self) -> LocalBoxFuture<'_, ()> {
        assert!(self.server.install_kind::<ProjectQuota>());
        Box::pin(async {})
    }

    fn too_old(&self) -> String {
        self.server.compact();
        "1".to_owned()
    }

    fn store_old<'a>(&'a self, object: &'a Value) -> LocalBoxFuture<'a, ()> {
        self.server.create_raw(object.clone()).unwrap();
        Box::pin(async {})
    }
}

/// A real kube-apiserver with our CRDs.
#[derive(Clone)]
pub struct Real {
    client: Client,
    _control_plane: Arc<ControlPlane>,
}

impl Real {
    pub async fn start() -> Self {
        let control_plane = ControlPlane::start().await.unwrap();
        let kubeconfig = Kubeconfig::read_from(control_plane.kubeconfig()).unwrap();
        let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
        // As in our clients: kube does not repeat refused requests.
        config.default_retry = false;
        let real = Self { client: Client::try_from(config).unwrap(), _control_plane: Arc::new(control_plane) };
        for crd in generate::all() {
            real.apply(&crd).await;
        }
        real
    }

    fn crds(&self) -> Api<CustomResourceDefinition> {
        Api::all(self.client.clone())
    }

    fn api(&self, crd: &CustomResourceDefinition) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk(&crd.spec.group, &crd.spec.versions[0].name, &crd.spec.names.kind);
        Api::all_with(self.client.clone(), &ApiResource::from_gvk_with_plural(&kind, &crd.spec.names.plural))
    }

    async fn apply(&self, crd: &CustomResourceDefinition) {
        let params = PatchParams::apply("test").force();
        self.crds().patch(crd.metadata.name.as_ref().unwrap(), &params, &Patch::Apply(crd)).await.unwrap();
        until(async || self.api(crd).list(&ListParams::default()).await.is_ok()).await;
    }
}

fn crd(all: Vec<CustomResourceDefinition>, kind: &str) -> CustomResourceDefinition {
    all.into_iter().find(|crd| crd.spec.names.kind == kind).unwrap()
}

async fn until(holds: impl AsyncFn() -> bool) {
    while !holds().await {
        sleep(Duration::from_millis(50)).await;
    }
}

impl Special for Real {
    fn client(&self) -> Client {
        self.client.clone()
    }

    fn remove_quotas(&self) -> LocalBoxFuture<'_, ()> {
        Box::pin(async {
            let crd = crd(generate::all(), "ProjectQuota");
            self.crds().delete(crd.metadata.name.as_ref().unwrap(), &DeleteParams::default()).await.unwrap();
            let gone = async || match self.api(&crd).list(&ListParams::default()).await {
                Err(kube::Error::Api(status)) => status.code == 404,
                _ => false,
            };
            until(gone).await;
        })
    }

    fn install_quotas(&self) -> LocalBoxFuture<'_, ()> {
        Box::pin(async { self.apply(&crd(generate::all(), "ProjectQuota")).await })
    }

    fn too_old(&self) -> String {
        "1".to_owned()
    }

    fn store_old<'a>(&'a self, object: &'a Value) -> LocalBoxFuture<'a, ()> {
        Box::pin(async move {
            let (today, before) = (crd(generate::all(), "Reservation"), crd(generate::without_rules(), "Reservation"));
            let api = self.api(&today);
            let object: DynamicObject = serde_json::from_value(object.clone()).unwrap();
            self.apply(&before).await;
            until(async || api.create(&PostParams::default(), &object).await.is_ok()).await;
            self.apply(&today).await;
            let mut probe = object.clone();
            probe.metadata.name = Some("probe".to_owned());
            let dry_run = PostParams { dry_run: true, ..PostParams::default() };
            until(async || api.create(&dry_run, &probe).await.is_err()).await;
        })
    }
}
