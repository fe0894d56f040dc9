//! The processes of the demonstration: control planes and operator. They are stopped in order, and never outlive this
//! process.

use std::path::{Path, PathBuf};

use berth_control_plane::ControlPlane;
use berth_testkit::keystone::{Keystone, Projects, USER};
use berth_testkit::limes::Limes;
use serde_json::Value;

use crate::configuration::{self, KeystoneAddress, RemoteAddress, Surroundings};
use crate::error::Error;
use crate::hints::Places;
use crate::operator::Operator;
use crate::program::Program;
use crate::vms::VmDatabase;

const NAMESPACE: &str = "berth-system";
const SERVICE_ACCOUNT: &str = "berth";
/// Of a double that nothing else can reach.
const PASSWORD: &str = "not-a-secret";
/// A token of Limes.
const TOKEN: &str = "token-of-limes";

/// The running processes.
#[derive(Default)]
pub struct Processes {
    // Dropped in this order: the operator goes first.
    operator: Option<Operator>,
    remote: Option<ControlPlane>,
    home: Option<Home>,
    /// It runs in this process.
    keystone: Option<Keystone>,
    /// The list of Limes, which also runs here.
    limes: Option<Limes>,
    token: Option<&'static str>,
    configuration: Option<PathBuf>,
    vms: Option<VmDatabase>,
}

/// The control plane of home, and the kubeconfig of the operator there.
struct Home {
    control_plane: ControlPlane,
    account: PathBuf,
}

impl Processes {
    /// Starts the control plane of home; returns the kubeconfig of its administrator.
    pub async fn start_home(&mut self) -> Result<&Path, Error> {
        let control_plane = ControlPlane::start().await?;
        let account = control_plane.service_account(NAMESPACE, SERVICE_ACCOUNT).await?;
        self.vms = Some(VmDatabase::create(&account)?);
        Ok(self.home.insert(Home { control_plane, account }).control_plane.kubeconfig())
    }

    /// Starts the control plane of the other cluster, where the operator has the same identity as at home; returns the
    /// kubeconfig of its administrator.
    pub async fn start_remote(&mut self) -> Result<&Path, Error> {
        let known: Vec<_> = self.home.iter().map(|home| home.account.as_path()).collect();
        let control_plane = ControlPlane::start_trusting(&known).await?;
        Ok(self.remote.insert(control_plane).kubeconfig())
    }

    /// Starts a double of Keystone, with which the callers of an operator that is started later authenticate.
    pub async fn start_keystone(&mut self) -> Result<(), Error> {
        let keystone = keystone().await?;
        keystone.issue_token(TOKEN, "limes", "service", &["cloud_resource_admin"]);
        (self.keystone, self.token) = (Some(keystone), Some(TOKEN));
        Ok(())
    }

    /// Starts doubles of Keystone and of the list of Limes, which an operator that is started later reads.
    pub async fn start_limes(&mut self, project: &str, domain: &str) -> Result<(), Error> {
        let limes = Limes::start().await;
        let limes = limes.map_err(|source| Error::System { action: "open a port for the list of Limes", source })?;
        let keystone = keystone().await?;
        keystone.add_service("resources", &limes.url());
        keystone.set_projects(Projects::new(&[(project, domain)]));
        (self.keystone, self.limes) = (Some(keystone), Some(limes));
        Ok(())
    }

    /// From now on Limes lists exactly these commitments of the project.
    pub fn list_commitments(&self, project: &str, commitments: Vec<Value>) {
        if let Some(limes) = &self.limes {
            limes.set(project, commitments);
        }
    }

    /// A token that the operator accepts, if its callers authenticate.
    pub fn token(&self) -> Option<&'static str> {
        self.token
    }

    /// The database with the VMs of the cloud.
    pub fn vms(&self) -> Option<&VmDatabase> {
        self.vms.as_ref()
    }

    /// The kubeconfig of the administrator of home.
    pub fn kubeconfig(&self) -> Option<&Path> {
        self.home.as_ref().map(|home| home.control_plane.kubeconfig())
    }

    /// The configuration of the operator.
    pub fn configuration(&self) -> Option<&Path> {
        self.configuration.as_deref()
    }

    /// The files that a command with this kubeconfig reads.
    pub fn files<'a>(&'a self, kubeconfig: &'a Path) -> Vec<&'a Path> {
        let vms = self.vms.as_ref().map(VmDatabase::path);
        [kubeconfig].into_iter().chain(self.configuration()).chain(vms).collect()
    }

    /// Starts the operator with the rights of its service account.
    pub async fn start_operator(&mut self, program: &Program) -> Result<(), Error> {
        let Some(Home { control_plane, account }) = &self.home else { return Ok(()) };
        let remote = match &self.remote {
            Some(remote) => {
                Some(RemoteAddress { url: remote.url().to_owned(), root_certificate: remote.root_certificate()? })
            }
            None => None,
        };
        let keystone = self.keystone.as_ref().map(|keystone| KeystoneAddress {
            url: keystone.url(),
            user: USER,
            password: PASSWORD,
            authenticates_callers: self.token.is_some(),
        });
        let configuration = configuration::write(
            account,
            &Surroundings {
                remote: remote.as_ref(),
                keystone: keystone.as_ref(),
                vms: self.vms.as_ref().map(VmDatabase::path),
            },
        )?;
        self.configuration = Some(configuration.clone());
        let files = self.files(account);
        self.operator = Some(Operator::start(program, control_plane, account, &configuration, &files).await?);
        Ok(())
    }

    /// Kills the API server of the other cluster.
    pub async fn stop_remote(&mut self) -> Result<(), Error> {
        match &mut self.remote {
            Some(remote) => Ok(remote.stop_api_server().await?),
            None => Ok(()),
        }
    }

    pub async fn restart_remote(&mut self) -> Result<(), Error> {
        match &mut self.remote {
            Some(remote) => Ok(remote.restart_api_server().await?),
            None => Ok(()),
        }
    }

    pub fn are_there(&self) -> bool {
        self.home.is_some()
    }

    /// Fails when one of them has exited by itself.
    pub fn check(&mut self) -> Result<(), Error> {
        for control_plane in self.home.iter_mut().map(|home| &mut home.control_plane).chain(&mut self.remote) {
            control_plane.check()?;
        }
        self.operator.as_mut().map_or(Ok(()), Operator::check)
    }

    /// The operator, once it runs.
    pub fn operator(&self) -> Option<&Operator> {
        self.operator.as_ref()
    }

    pub fn log_tail(&self) -> String {
        self.operator().map(Operator::log_tail).unwrap_or_default()
    }

    /// Calls `say` with the kubeconfigs and addresses, once everything runs.
    pub fn places<T>(&self, say: impl FnOnce(Places<'_>) -> T) -> Option<T> {
        let (Home { control_plane, .. }, operator) = (self.home.as_ref()?, self.operator()?);
        Some(say(Places {
            kubeconfig: control_plane.kubeconfig(),
            remote: self.remote.as_ref().map(ControlPlane::kubeconfig),
            kubectl: control_plane.kubectl().parent()?,
            berth: operator.program().path().parent()?,
            log: operator.log(),
            metrics: &operator.metrics(),
            scheduler: &operator.scheduler_url(),
            api: &operator.api_url(),
        }))
    }

    /// Stops the operator, then the control planes, even when the operator fails.
    pub async fn end(&mut self) -> Result<(), Error> {
        let operator = match self.operator.take() {
            Some(operator) => operator.stop().await,
            None => Ok(()),
        };
        let remote = match self.remote.take() {
            Some(control_plane) => control_plane.stop().await,
            None => Ok(()),
        };
        if let Some(home) = self.home.take() {
            home.control_plane.stop().await?;
        }
        remote?;
        operator
    }
}

async fn keystone() -> Result<Keystone, Error> {
    let keystone = Keystone::start(PASSWORD).await;
    keystone.map_err(|source| Error::System { action: "open a port for keystone", source })
}
