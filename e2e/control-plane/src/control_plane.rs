//! The lifecycle of a control plane.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::api_server::ApiServer;
use crate::daemon::Daemon;
use crate::etcd::Etcd;
use crate::guest::Guest;
use crate::kubectl::Kubectl;
use crate::service::Service;
use crate::work_folder::{WorkFolder, random_token, write_private};
use crate::{Binaries, Environment, Error, FromRefused as _, WriteRequest, kubeconfig};

/// Far more than the usual two or three seconds, because compilers may run at the same time.
const READY_WITHIN: Duration = Duration::from_secs(90);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// One of the two programs of a control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    Etcd,
    ApiServer,
}

/// A running control plane; dropping it (or ending this process in any way) ends etcd and kube-apiserver.
// Fields are dropped in this order: the API server goes before etcd, and the directory last.
#[derive(Debug)]
pub struct ControlPlane {
    api_server: ApiServer,
    etcd: Etcd,
    kubectl: Kubectl,
    admin: Value,
    url: String,
    folder: WorkFolder,
}

impl ControlPlane {
    /// Finds the programs, or builds them once, starts etcd and kube-apiserver, and waits until they are ready.
    pub async fn start() -> Result<Self, Error> {
        Self::start_trusting(&[]).await
    }

    /// Starts one that accepts service accounts of other control planes as well, under their names: those whose
    /// kubeconfigs [`ControlPlane::service_account`] has written. Their rights depend on the RBAC here.
    pub async fn start_trusting(kubeconfigs: &[&Path]) -> Result<Self, Error> {
        let guests: Vec<_> = kubeconfigs.iter().map(|path| Guest::read(path)).collect::<Result<_, _>>()?;
        let environment = Environment::of_process();
        environment.setpriv()?;
        let binaries = Binaries::obtain(&environment).await?;
        let mut control_plane = Self::launch(&binaries, &guests).await?;
        control_plane.wait_until_listening().await?;
        control_plane.write_admin_kubeconfig().await?;
        control_plane.wait_until_ready().await?;
        Ok(control_plane)
    }

    /// The kubeconfig file of a user with all rights.
    pub fn kubeconfig(&self) -> &Path {
        self.kubectl.kubeconfig()
    }

    /// The URL of the API server, such as `https://127.0.0.1:40123`. It stays the same over restarts.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The certificates, in PEM, by which a client verifies the API server.
    pub fn root_certificate(&self) -> Result<String, Error> {
        let path = self.api_server.certificate();
        std::fs::read_to_string(&path).map_err(Error::path("read", &path))
    }

    pub fn kubectl(&self) -> &Path {
        self.kubectl.program()
    }

    /// The process id of kube-apiserver; while it is stopped, the one it had.
    pub fn api_server_pid(&self) -> u32 {
        self.api_server.service.pid()
    }

    /// The process id of etcd; while it is stopped, the one it had.
    pub fn etcd_pid(&self) -> u32 {
        self.etcd.service.pid()
    }

    /// The URL of etcd, without a password, such as `http://127.0.0.1:40124`. It stays the same over restarts.
    pub fn etcd_url(&self) -> String {
        self.etcd.url()
    }

    /// Creates namespace and service account when absent, and writes a kubeconfig for it that is valid for a day; the
    /// caller sets up RBAC.
    pub async fn service_account(&self, namespace: &str, name: &str) -> Result<PathBuf, Error> {
        self.create(&["create", "namespace", namespace]).await?;
        self.create(&["create", "serviceaccount", name, "--namespace", namespace]).await?;
        let order = ["create", "token", name, "--namespace", namespace, "--duration=24h"];
        let token = self.run_kubectl(&order, None).await?;
        let content = kubeconfig::for_service_account(&self.admin, namespace, name, token.trim());
        let path = self.folder.path().join(format!("kubeconfig-{namespace}-{name}"));
        write_private(&path, &format!("{content:#}\n"))?;
        Ok(path)
    }

    /// Runs kubectl with the admin kubeconfig; returns stdout on success, and its stderr in the error.
    pub async fn run_kubectl(&self, args: &[&str], stdin: Option<&str>) -> Result<String, Error> {
        self.kubectl.run(args, stdin).await
    }

    /// Starts a program that ends with this process, however this one ends. Its output goes to `<name>.log` next to the
    /// kubeconfig. Stop it before the control plane, which removes its log.
    pub async fn spawn(&self, name: &'static str, program: &Path, arguments: &[String]) -> Result<Daemon, Error> {
        Daemon::start(name, program, arguments, self.folder.path()).await
    }

    /// Kills the API server, as an outage would: its clients lose their connections, and new ones are refused.
    pub async fn stop_api_server(&mut self) -> Result<(), Error> {
        self.kill(Part::ApiServer).await
    }

    /// Starts the API server again, at the same address and with the same data, and waits until it is ready. A running
    /// one is stopped first.
    pub async fn restart_api_server(&mut self) -> Result<(), Error> {
        self.restart(Part::ApiServer).await
    }

    /// Kills one of the programs, whatever it does at the moment.
    pub async fn kill(&mut self, part: Part) -> Result<(), Error> {
        self.service(part).kill().await
    }

    /// Starts one of the programs again, at the same address and with the same data, and waits until the whole is
    /// ready. A running one is killed first. An etcd that is started without an API server needs only to listen.
    pub async fn restart(&mut self, part: Part) -> Result<(), Error> {
        self.service(part).start().await?;
        self.wait_until_etcd_listens().await?;
        if self.api_server.service.is_wanted() {
            self.wait_until_listening().await?;
            self.wait_until_ready().await?;
        }
        Ok(())
    }

    /// Copies the data of etcd, which stops for a moment.
    pub async fn back_up(&mut self) -> Result<(), Error> {
        self.kill(Part::Etcd).await?;
        self.etcd.back_up()?;
        self.restart(Part::Etcd).await
    }

    /// Sets etcd back to the last backup, with the API server down for this time longer, and waits until it is ready.
    pub async fn restore(&mut self, away: Duration) -> Result<(), Error> {
        self.kill(Part::ApiServer).await?;
        self.kill(Part::Etcd).await?;
        self.etcd.restore()?;
        self.etcd.service.start().await?;
        sleep(away).await;
        self.restart(Part::ApiServer).await
    }

    /// Suspends one of the programs: its connections stay, and it does not answer.
    pub fn pause(&self, part: Part) -> Result<(), Error> {
        self.service_of(part).signal("STOP")
    }

    /// Resumes one of the programs. It now answers the requests that it has got in the meantime.
    pub fn resume(&self, part: Part) -> Result<(), Error> {
        self.service_of(part).signal("CONT")
    }

    /// All writes that were answered so far, from all clients but the API server itself, in the order of the answers.
    pub fn write_requests(&self) -> Result<Vec<WriteRequest>, Error> {
        self.api_server.audit_log.read()
    }

    /// Fails when etcd or kube-apiserver has exited by itself.
    pub fn check(&mut self) -> Result<(), Error> {
        self.etcd.service.check()?;
        self.api_server.service.check()
    }

    /// Stops kube-apiserver, then etcd, and removes their data. Dropping the value does the same, but ignores errors.
    pub async fn stop(mut self) -> Result<(), Error> {
        self.kill(Part::ApiServer).await?;
        self.kill(Part::Etcd).await?;
        self.folder.remove()
    }

    async fn launch(binaries: &Binaries, guests: &[Guest]) -> Result<Self, Error> {
        let folder = WorkFolder::new()?;
        let token = random_token()?;
        let etcd = Etcd::new(&binaries.etcd, folder.path())?;
        let api_server = ApiServer::new(&binaries.kube_apiserver, folder.path(), &etcd.url(), &token, guests)?;
        let url = api_server.url();
        let admin = kubeconfig::for_admin(&url, &api_server.certificate(), &token);
        let kubectl = Kubectl::new(&binaries.kubectl, &folder.path().join("kubeconfig"), folder.path());
        let mut control_plane = Self { api_server, etcd, kubectl, admin, url, folder };
        control_plane.etcd.service.start().await?;
        control_plane.api_server.service.start().await?;
        Ok(control_plane)
    }

    fn service(&mut self, part: Part) -> &mut Service {
        match part {
            Part::Etcd => &mut self.etcd.service,
            Part::ApiServer => &mut self.api_server.service,
        }
    }

    fn service_of(&self, part: Part) -> &Service {
        match part {
            Part::Etcd => &self.etcd.service,
            Part::ApiServer => &self.api_server.service,
        }
    }

    /// Lets kubectl embed the certificate authority into the kubeconfig, so that the file can be used from anywhere.
    async fn write_admin_kubeconfig(&mut self) -> Result<(), Error> {
        write_private(self.kubeconfig(), &self.admin.to_string())?;
        let whole = self.run_kubectl(&["config", "view", "--flatten", "--raw", "--output=json"], None).await?;
        write_private(self.kubeconfig(), &whole)?;
        self.admin = serde_json::from_str(&whole)?;
        Ok(())
    }

    async fn create(&self, command: &[&str]) -> Result<(), Error> {
        match self.run_kubectl(command, None).await {
            // The text of kubectl has a reason for some kinds, but these words for all.
            Err(Error::Kubectl { stderr, .. }) if stderr.contains("already exists") => Ok(()),
            answer => answer.map(drop),
        }
    }

    async fn wait_until_etcd_listens(&mut self) -> Result<(), Error> {
        let deadline = Instant::now() + READY_WITHIN;
        while !self.etcd.is_listening().await {
            self.etcd.service.check()?;
            self.give_up_after(deadline, || "etcd does not listen".to_owned())?;
            sleep(POLL_INTERVAL).await;
        }
        Ok(())
    }

    async fn wait_until_listening(&mut self) -> Result<(), Error> {
        let deadline = Instant::now() + READY_WITHIN;
        while !self.api_server.is_listening().await {
            self.check()?;
            self.give_up_after(deadline, || "it does not listen".to_owned())?;
            sleep(POLL_INTERVAL).await;
        }
        Ok(())
    }

    async fn wait_until_ready(&mut self) -> Result<(), Error> {
        let deadline = Instant::now() + READY_WITHIN;
        while let Err(answer) = self.ask_whether_ready().await {
            self.check()?;
            self.give_up_after(deadline, || answer.to_string())?;
            sleep(POLL_INTERVAL).await;
        }
        Ok(())
    }

    /// The namespace `default` is created in the background, and `/readyz` does not wait for it.
    async fn ask_whether_ready(&self) -> Result<(), Error> {
        for path in ["/readyz", "/api/v1/namespaces/default"] {
            self.run_kubectl(&["get", "--raw", path, "--request-timeout=5s"], None).await?;
        }
        Ok(())
    }

    fn give_up_after(&self, deadline: Instant, last_answer: impl FnOnce() -> String) -> Result<(), Error> {
        if Instant::now() < deadline {
            return Ok(());
        }
        let log = self.api_server.service.log_tail();
        Err(Error::NotReady { seconds: READY_WITHIN.as_secs(), last_answer: last_answer(), log })
    }
}
