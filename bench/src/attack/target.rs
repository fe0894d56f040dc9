//! `berth placement` as the target of an attack, perhaps with few open files or little address space.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use berth_control_plane::Daemon;
use serde_json::json;
use tempfile::TempDir;
use tokio::time::sleep;

use super::observe::ask_health;
use super::wire::{connect_from, exchange, send};
use crate::error::Error;
use crate::operator::{Watched, berth, free_addresses};

const READY_WITHIN: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The address of the client that fills the server.
const FILLER: u8 = 4;

/// Limits of the process, as `ulimit` sets them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scarcity {
    pub open_files: Option<u32>,
    pub address_space_kib: Option<u32>,
}

/// A running server with an empty ledger; it is killed when this is dropped.
pub struct Target {
    pub watched: Watched,
    daemon: Daemon,
    _folder: TempDir,
}

impl Target {
    pub async fn start(scarcity: Scarcity) -> Result<Self, Error> {
        let folder = tempfile::tempdir().map_err(Error::system("create a folder"))?;
        let [api, probes] = free_addresses().map_err(Error::system("a free port"))?;
        let script = script(scarcity);
        let database = folder.path().join("ledger.db").display().to_string();
        let (listen, metrics) = (api.to_string(), probes.to_string());
        let berth = berth()?.display().to_string();
        let flags =
            [["--listen", &listen], ["--metrics-listen", &metrics], ["--database", &database], ["--auth", "noauth2"]];
        let arguments = ["-c", &script, &berth, "placement"].into_iter().chain(flags.into_iter().flatten());
        let arguments: Vec<String> = arguments.map(str::to_owned).collect();
        let daemon = Daemon::start("placement", &PathBuf::from("/bin/sh"), &arguments, folder.path()).await?;
        let watched = Watched { api, probes, pid: daemon.pid() };
        let mut target = Self { watched, daemon, _folder: folder };
        target.wait_until_healthy().await?;
        Ok(target)
    }

    /// Fails when the process has ended.
    pub fn check(&mut self) -> Result<(), Error> {
        Ok(self.daemon.check()?)
    }

    async fn wait_until_healthy(&mut self) -> Result<(), Error> {
        let started = Instant::now();
        while ask_health(self.watched.probes).await.is_err() {
            self.check()?;
            if started.elapsed() > READY_WITHIN {
                let (what, seconds) = ("/healthz answers", READY_WITHIN.as_secs());
                return Err(Error::TooLong { what, seconds, log: self.daemon.log_tail() });
            }
            sleep(POLL_INTERVAL).await;
        }
        Ok(())
    }

    /// Sends requests on a few connections, each of which must be answered with success.
    pub async fn fill(&self, requests: Vec<Vec<u8>>) -> Result<(), Error> {
        let parts = thread::available_parallelism().map_or(2, usize::from) * 2;
        let mut clients = tokio::task::JoinSet::new();
        let part = requests.len().div_ceil(parts).max(1);
        for requests in requests.chunks(part).map(<[Vec<u8>]>::to_vec) {
            clients.spawn(fill(self.watched.api, requests));
        }
        while let Some(filled) = clients.join_next().await {
            filled.map_err(|_| Error::Answer("a client that fills the server panicked".to_owned()))??;
        }
        Ok(())
    }
}

fn script(scarcity: Scarcity) -> String {
    let files = scarcity.open_files.map(|count| format!("ulimit -n {count}; "));
    let space = scarcity.address_space_kib.map(|kib| format!("ulimit -v {kib}; "));
    format!("{}{}exec \"$0\" \"$@\"", files.unwrap_or_default(), space.unwrap_or_default())
}

async fn fill(to: SocketAddr, requests: Vec<Vec<u8>>) -> Result<(), Error> {
    let failed = || Error::system("a request that fills the server");
    let mut stream = connect_from(FILLER, to).await.map_err(failed())?;
    for request in requests {
        let status = exchange(&mut stream, &request).await.map_err(failed())?;
        if status >= 300 {
            let request = String::from_utf8_lossy(&request[..request.len().min(300)]).into_owned();
            return Err(Error::Answer(format!("{status} to {request}")));
        }
    }
    Ok(())
}

/// The request that creates a provider.
pub fn create_provider(name: &str) -> Vec<u8> {
    send("POST", "/resource_providers", &json!({ "name": name }).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_set_before_the_server_starts() {
        assert_eq!(script(Scarcity::default()), "exec \"$0\" \"$@\"");
        let scarcity = Scarcity { open_files: Some(64), address_space_kib: Some(524_288) };
        assert_eq!(script(scarcity), "ulimit -n 64; ulimit -v 524288; exec \"$0\" \"$@\"");
    }
}
