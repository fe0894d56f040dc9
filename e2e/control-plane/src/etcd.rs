//! How etcd is started.

use std::path::Path;

use crate::Error;
use crate::daemon::Daemon;
use crate::port::ReservedPort;

/// The database, with its data below the given folder.
#[derive(Debug)]
pub(crate) struct Etcd {
    daemon: Daemon,
    client_port: ReservedPort,
    _peer_port: ReservedPort,
}

impl Etcd {
    pub(crate) async fn start(program: &Path, folder: &Path) -> Result<Self, Error> {
        let (client_port, peer_port) = (ReservedPort::new()?, ReservedPort::new()?);
        let arguments = arguments(&folder.join("etcd"), &url(&client_port), &url(&peer_port));
        let daemon = Daemon::start("etcd", program, &arguments, folder).await?;
        Ok(Self { daemon, client_port, _peer_port: peer_port })
    }

    pub(crate) fn url(&self) -> String {
        url(&self.client_port)
    }

    pub(crate) fn daemon(&self) -> &Daemon {
        &self.daemon
    }

    pub(crate) fn check(&mut self) -> Result<(), Error> {
        self.daemon.check()
    }

    pub(crate) async fn end(self) -> Result<(), Error> {
        self.daemon.end().await
    }
}

fn url(port: &ReservedPort) -> String {
    format!("http://127.0.0.1:{}", port.number())
}

fn arguments(data: &Path, client: &str, peer: &str) -> Vec<String> {
    vec![
        format!("--data-dir={}", data.display()),
        // The data does not outlive the process, so it need not survive a power cut.
        "--unsafe-no-fsync".to_owned(),
        "--socket-reuse-port".to_owned(),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=default={peer}"),
        // The default of 2 GiB would end large runs.
        "--quota-backend-bytes=8000000000".to_owned(),
    ]
}
