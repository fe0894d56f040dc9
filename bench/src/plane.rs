//! A control plane as an operator finds it: our CRDs, the rights of `config/rbac`, and its service account. It reports
//! what API server and etcd have used and which requests they got. The caller creates the objects.

use std::path::{Path, PathBuf};
use std::time::Duration;

use berth_cluster::Cluster;
use berth_control_plane::ControlPlane;
use berth_crds::generate;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::error::Error;
use crate::proc::{self, Usage};
use crate::requests::Requests;

const NAMESPACE: &str = "berth-system";
const SERVICE_ACCOUNT: &str = "berth";
const RBAC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../config/rbac");

const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// An API server is idle when it uses less than this share of a core.
const REST: f64 = 0.05;
const RESTS_FOR: Duration = Duration::from_secs(2);
const RESTS_WITHIN: Duration = Duration::from_secs(60);

pub struct Plane {
    servers: ControlPlane,
    account: PathBuf,
    admin: Client,
}

/// The resources that API server and etcd have used.
#[derive(Clone, Copy, Debug)]
pub struct PlaneUsage {
    pub api_server: Usage,
    pub etcd: Usage,
}

impl Plane {
    /// Starts a control plane; etcd does not sync its files.
    pub async fn start() -> Result<Self, Error> {
        let control_plane = ControlPlane::start().await?;
        control_plane.run_kubectl(&["apply", "--filename", RBAC], None).await?;
        install(&control_plane).await?;
        let account = control_plane.service_account(NAMESPACE, SERVICE_ACCOUNT).await?;
        let kubeconfig = Kubeconfig::read_from(control_plane.kubeconfig())?;
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        Ok(Self { servers: control_plane, account, admin: Client::try_from(config)? })
    }

    pub fn control_plane(&self) -> &ControlPlane {
        &self.servers
    }

    pub fn account(&self) -> &Path {
        &self.account
    }

    /// A client with all rights, for users and hosts.
    pub fn admin(&self) -> &Client {
        &self.admin
    }

    /// A client like the operator's: the same account and settings, with its own connections.
    pub async fn bare_client(&self) -> Result<Client, Error> {
        Ok(Cluster::connect(Some(&self.account), "berth-bench").await?.client)
    }

    /// The requests to the API server so far, from all clients.
    pub async fn requests(&self) -> Result<Requests, Error> {
        Ok(Requests::read(&self.servers.run_kubectl(&["get", "--raw", "/metrics"], None).await?))
    }

    pub fn usage(&self) -> Result<PlaneUsage, Error> {
        let (api_server, etcd) = (self.servers.api_server_pid(), self.servers.etcd_pid());
        Ok(PlaneUsage { api_server: proc::usage(api_server)?, etcd: proc::usage(etcd)? })
    }

    /// Waits until the API server is idle, for example after it has published new kinds.
    pub async fn rest(&self) -> Result<(), Error> {
        let deadline = Instant::now() + RESTS_WITHIN;
        loop {
            let before = self.usage()?.api_server.cpu_seconds;
            sleep(RESTS_FOR).await;
            let used = self.usage()?.api_server.cpu_seconds - before;
            if used < REST * RESTS_FOR.as_secs_f64() || Instant::now() > deadline {
                return Ok(());
            }
        }
    }

    pub async fn stop(self) -> Result<(), Error> {
        Ok(self.servers.stop().await?)
    }
}

async fn install(control_plane: &ControlPlane) -> Result<(), Error> {
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": generate::all() });
    let apply = ["apply", "--server-side", "--filename=-"];
    control_plane.run_kubectl(&apply, Some(&list.to_string())).await?;
    control_plane.run_kubectl(&["wait", "--for=condition=Established", "crd", "--all"], None).await?;
    // A CRD is established a moment before it is served.
    let kinds = ["get", "hypervisors,reservations,committedresources,commitmentchanges,knowledges"];
    while control_plane.run_kubectl(&kinds, None).await.is_err() {
        sleep(POLL_INTERVAL).await;
    }
    Ok(())
}
