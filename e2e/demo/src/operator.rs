//! The operator as a process of its own, with the rights of its service account and nothing else.

use std::env;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use berth_control_plane::{ControlPlane, Daemon};
use tokio::time::{Instant, sleep};

use crate::error::Error;
use crate::{port, probe};

/// Far more than it needs: compilers may run beside it.
const READY_WITHIN: Duration = Duration::from_secs(60);
const ENDED_WITHIN: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A running operator; dropping it kills it.
pub struct Operator {
    daemon: Daemon,
    program: PathBuf,
    api: SocketAddr,
    metrics: SocketAddr,
}

impl Operator {
    /// Starts the operator beside the control plane, and waits until it is ready. Without a configuration all is default.
    pub async fn start(
        program: &Path,
        control_plane: &ControlPlane,
        kubeconfig: &Path,
        configuration: Option<&Path>,
    ) -> Result<Self, Error> {
        let [api, health, metrics] = port::free()?;
        let mut arguments = arguments(kubeconfig, api, health, metrics);
        arguments.extend(configuration.map(|path| format!("--config={}", path.display())));
        let daemon = control_plane.spawn("berth", program, &arguments).await?;
        let mut operator = Self { daemon, program: program.to_owned(), api, metrics };
        operator.wait_until_ready(health).await?;
        Ok(operator)
    }

    /// An error when it has ended by itself.
    pub fn check(&mut self) -> Result<(), Error> {
        Ok(self.daemon.check()?)
    }

    /// Where it writes what it does.
    pub fn log(&self) -> &Path {
        self.daemon.log()
    }

    /// The end of that.
    pub fn log_tail(&self) -> String {
        self.daemon.log_tail()
    }

    /// The file that it was started from.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Where its scheduler API answers.
    pub fn scheduler(&self) -> SocketAddr {
        self.api
    }

    /// The same, for people.
    pub fn scheduler_url(&self) -> String {
        format!("http://{}/scheduler/nova/external", self.api)
    }

    /// Its metrics, for people.
    pub fn metrics(&self) -> String {
        format!("http://{}/metrics", self.metrics)
    }

    /// Asks it to end, as Kubernetes would; an error when it does not, or when it fails at that.
    pub async fn stop(mut self) -> Result<(), Error> {
        match self.daemon.stop(ENDED_WITHIN).await? {
            None => Err(Error::OperatorKilled { seconds: ENDED_WITHIN.as_secs() }),
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(Error::OperatorFailed { status, log: self.log_tail() }),
        }
    }

    async fn wait_until_ready(&mut self, health: SocketAddr) -> Result<(), Error> {
        let deadline = Instant::now() + READY_WITHIN;
        while let Err(answer) = probe::ask(health, "/readyz").await {
            self.check()?;
            if Instant::now() >= deadline {
                let (seconds, log) = (READY_WITHIN.as_secs(), self.log_tail());
                return Err(Error::OperatorNotReady { seconds, answer, log });
            }
            sleep(LOOK_EVERY).await;
        }
        Ok(())
    }
}

/// `berth` as built together with this program.
pub fn program() -> Result<PathBuf, Error> {
    let own = env::current_exe().map_err(|source| Error::System { action: "find the path of this program", source })?;
    let program = own.with_file_name("berth");
    if program.is_file() { Ok(program) } else { Err(Error::OperatorMissing { program }) }
}

fn arguments(kubeconfig: &Path, api: SocketAddr, health: SocketAddr, metrics: SocketAddr) -> Vec<String> {
    vec![
        "operator".to_owned(),
        format!("--kubeconfig={}", kubeconfig.display()),
        format!("--api-bind-address={api}"),
        format!("--health-probe-bind-address={health}"),
        format!("--metrics-bind-address={metrics}"),
        "--metrics-secure=false".to_owned(),
        "--log-format=human".to_owned(),
    ]
}
