//! How kube-apiserver is started.

use std::path::{Path, PathBuf};

use crate::daemon::Daemon;
use crate::guest::Guest;
use crate::journal::Journal;
use crate::port::ReservedPort;
use crate::{Error, kubeconfig, work_folder};

/// What an API server needs to be started, and to be started again at the same address with the same identity.
#[derive(Debug)]
pub(crate) struct ApiServer {
    program: PathBuf,
    folder: PathBuf,
    port: ReservedPort,
    etcd: String,
    pub(crate) journal: Journal,
}

impl ApiServer {
    /// Prepares an API server in front of an etcd, with one user, `admin`, who has this token, and with guests.
    pub(crate) fn new(
        program: &Path,
        folder: &Path,
        etcd: String,
        token: &str,
        guests: &[Guest],
    ) -> Result<Self, Error> {
        let (port, journal) = (ReservedPort::new()?, Journal::new(folder)?);
        let server = Self { program: program.to_owned(), folder: folder.to_owned(), port, etcd, journal };
        let admin = format!("{token},{user},{user},{group}\n", user = kubeconfig::ADMIN, group = "system:masters");
        let lines: String = std::iter::once(admin).chain(guests.iter().map(Guest::line)).collect();
        work_folder::write_private(&server.tokens(), &lines)?;
        Ok(server)
    }

    pub(crate) async fn start(&self) -> Result<Daemon, Error> {
        Daemon::start("kube-apiserver", &self.program, &self.arguments(), &self.folder).await
    }

    pub(crate) fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port.number())
    }

    /// The serving certificate, followed by that of the authority which signed it. The server writes both itself, before
    /// it listens for the first time.
    pub(crate) fn certificate(&self) -> PathBuf {
        self.certificates().join("apiserver.crt")
    }

    /// Whether it accepts connections; it may not be ready yet.
    pub(crate) async fn is_listening(&self) -> bool {
        self.port.is_served().await
    }

    fn tokens(&self) -> PathBuf {
        self.folder.join("tokens.csv")
    }

    fn certificates(&self) -> PathBuf {
        self.folder.join("certificates")
    }

    fn arguments(&self) -> Vec<String> {
        // The server writes its serving key before it reads the key for service accounts. Taking one for the other saves
        // us a program that generates keys.
        let key = self.certificates().join("apiserver.key");
        let mut arguments = self.addresses();
        arguments.extend(self.journal.arguments());
        arguments.extend([
            "--authorization-mode=RBAC".to_owned(),
            format!("--token-auth-file={}", self.tokens().display()),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            format!("--service-account-key-file={}", key.display()),
            format!("--service-account-signing-key-file={}", key.display()),
            // It would wait for controllers that are not there.
            "--disable-admission-plugins=ServiceAccount".to_owned(),
        ]);
        arguments
    }

    fn addresses(&self) -> Vec<String> {
        vec![
            format!("--etcd-servers={}", self.etcd),
            "--bind-address=127.0.0.1".to_owned(),
            "--advertise-address=127.0.0.1".to_owned(),
            format!("--secure-port={}", self.port.number()),
            "--permit-port-sharing".to_owned(),
            format!("--cert-dir={}", self.certificates().display()),
            "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
            // A loopback address must not become the endpoint of the `kubernetes` service.
            "--endpoint-reconciler-type=none".to_owned(),
        ]
    }
}
