//! The operator as a separate process, with only the rights of its service account.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use berth_control_plane::{ControlPlane, Daemon};
use tokio::time::{Instant, sleep};

use crate::error::Error;
use crate::program::Program;
use crate::{port, probe};

/// Far more than it needs, because compilers may run at the same time.
const READY_WITHIN: Duration = Duration::from_secs(60);
const ENDED_WITHIN: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A running operator; dropping it kills it.
pub struct Operator {
    daemon: Daemon,
    program: Program,
    api: SocketAddr,
    metrics: SocketAddr,
}

impl Operator {
    /// Starts the operator beside the control plane, and waits until it is ready.
    pub async fn start(
        program: &Program,
        control_plane: &ControlPlane,
        kubeconfig: &Path,
        configuration: &Path,
        files: &[&Path],
    ) -> Result<Self, Error> {
        let [api, health, metrics] = port::free()?;
        let mut arguments = arguments(kubeconfig, api, health, metrics);
        arguments.push(format!("--config={}", configuration.display()));
        let line = program.command_line(files, arguments);
        let daemon = control_plane.spawn("berth", Path::new(&line[0]), &line[1..]).await?;
        let mut operator = Self { daemon, program: program.clone(), api, metrics };
        operator.wait_until_ready(health).await?;
        Ok(operator)
    }

    /// Fails when it has exited by itself.
    pub fn check(&mut self) -> Result<(), Error> {
        Ok(self.daemon.check()?)
    }

    pub fn log(&self) -> &Path {
        self.daemon.log()
    }

    pub fn log_tail(&self) -> String {
        self.daemon.log_tail()
    }

    pub fn program(&self) -> &Program {
        &self.program
    }

    pub fn scheduler(&self) -> SocketAddr {
        self.api
    }

    pub fn scheduler_url(&self) -> String {
        format!("http://{}/scheduler/nova/external", self.api)
    }

    /// The base URL of all APIs.
    pub fn api_url(&self) -> String {
        format!("http://{}", self.api)
    }

    pub fn metrics(&self) -> String {
        format!("http://{}/metrics", self.metrics)
    }

    /// Asks it to stop, as Kubernetes would; fails when it does not, or exits with an error.
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
            sleep(POLL_INTERVAL).await;
        }
        Ok(())
    }
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
