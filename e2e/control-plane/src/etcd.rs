//! Starts etcd.

use std::path::{Path, PathBuf};

use crate::Error;
use crate::port::ReservedPort;
use crate::service::Service;
use crate::work_folder::copy_folder;

/// The database, with its data below the given directory.
#[derive(Debug)]
pub(crate) struct Etcd {
    pub(crate) service: Service,
    data: PathBuf,
    client_port: ReservedPort,
    _peer_port: ReservedPort,
}

impl Etcd {
    pub(crate) fn new(program: &Path, folder: &Path) -> Result<Self, Error> {
        let (client_port, peer_port) = (ReservedPort::new()?, ReservedPort::new()?);
        let data = folder.join("etcd");
        let arguments = arguments(&data, &url(&client_port), &url(&peer_port));
        let service = Service::new("etcd", program, arguments, folder);
        Ok(Self { service, data, client_port, _peer_port: peer_port })
    }

    pub(crate) fn url(&self) -> String {
        url(&self.client_port)
    }

    /// Copies the data; etcd must not run.
    pub(crate) fn back_up(&self) -> Result<(), Error> {
        copy_folder(&self.data, &self.backup())
    }

    /// Replaces the data by those of the last backup; etcd must not run.
    pub(crate) fn restore(&self) -> Result<(), Error> {
        copy_folder(&self.backup(), &self.data)
    }

    fn backup(&self) -> PathBuf {
        self.data.with_extension("backup")
    }

    pub(crate) async fn is_listening(&self) -> bool {
        self.client_port.is_served().await
    }
}

fn url(port: &ReservedPort) -> String {
    format!("http://127.0.0.1:{}", port.number())
}

fn arguments(data: &Path, client: &str, peer: &str) -> Vec<String> {
    vec![
        format!("--data-dir={}", data.display()),
        // The data does not outlive this process, so it need not survive a power failure. It survives a kill:
        // acknowledged data was handed to the kernel.
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
