//! Starts kube-apiserver.

use std::path::{Path, PathBuf};

use crate::audit_log::AuditLog;
use crate::guest::Guest;
use crate::port::ReservedPort;
use crate::service::Service;
use crate::{Error, kubeconfig, work_folder};

/// An API server that keeps its address and its identity over restarts.
#[derive(Debug)]
pub(crate) struct ApiServer {
    pub(crate) service: Service,
    certificates: PathBuf,
    port: ReservedPort,
    pub(crate) audit_log: AuditLog,
}

impl ApiServer {
    /// Prepares an API server in front of an etcd, with the user `admin`, who has this token, and with guests.
    pub(crate) fn new(program: &Path, folder: &Path, etcd: &str, token: &str, guests: &[Guest]) -> Result<Self, Error> {
        let (port, audit_log) = (ReservedPort::new()?, AuditLog::new(folder)?);
        let (tokens, certificates) = (folder.join("tokens.csv"), folder.join("certificates"));
        let admin = format!("{token},{user},{user},{group}\n", user = kubeconfig::ADMIN, group = "system:masters");
        let lines: String = std::iter::once(admin).chain(guests.iter().map(Guest::line)).collect();
        work_folder::write_private(&tokens, &lines)?;
        let mut arguments = addresses(&port, etcd);
        arguments.extend(audit_log.arguments());
        arguments.extend(identity(&tokens, &certificates));
        let service = Service::new("kube-apiserver", program, arguments, folder);
        Ok(Self { service, certificates, port, audit_log })
    }

    pub(crate) fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port.number())
    }

    /// The serving certificate, followed by that of the authority which signed it. The server writes both itself,
    /// before it listens for the first time.
    pub(crate) fn certificate(&self) -> PathBuf {
        self.certificates.join("apiserver.crt")
    }

    /// Whether it accepts connections; it may not be ready yet.
    pub(crate) async fn is_listening(&self) -> bool {
        self.port.is_served().await
    }
}

fn addresses(port: &ReservedPort, etcd: &str) -> Vec<String> {
    vec![
        format!("--etcd-servers={etcd}"),
        "--bind-address=127.0.0.1".to_owned(),
        "--advertise-address=127.0.0.1".to_owned(),
        format!("--secure-port={}", port.number()),
        "--permit-port-sharing".to_owned(),
        "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
        // A loopback address must not become the endpoint of the `kubernetes` service.
        "--endpoint-reconciler-type=none".to_owned(),
    ]
}

fn identity(tokens: &Path, certificates: &Path) -> [String; 7] {
    // The server writes its serving key before it reads the key for service accounts. Taking one for the other saves us a
    // program that generates keys.
    let key = certificates.join("apiserver.key");
    [
        "--authorization-mode=RBAC".to_owned(),
        format!("--token-auth-file={}", tokens.display()),
        format!("--cert-dir={}", certificates.display()),
        "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
        format!("--service-account-key-file={}", key.display()),
        format!("--service-account-signing-key-file={}", key.display()),
        // It would wait for controllers that do not run here.
        "--disable-admission-plugins=ServiceAccount".to_owned(),
    ]
}
