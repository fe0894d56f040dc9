//! etcd or kube-apiserver across restarts: the command is fixed, the process changes.

use std::path::{Path, PathBuf};

use crate::Error;
use crate::daemon::Daemon;

/// A daemon that can be killed, and started again with the same command.
#[derive(Debug)]
pub(crate) struct Service {
    name: &'static str,
    program: PathBuf,
    arguments: Vec<String>,
    folder: PathBuf,
    daemon: Option<Daemon>,
    pid: u32,
}

impl Service {
    /// A daemon that does not run yet; its log goes into the directory.
    pub(crate) fn new(name: &'static str, program: &Path, arguments: Vec<String>, folder: &Path) -> Self {
        let (program, folder) = (program.to_owned(), folder.to_owned());
        Self { name, program, arguments, folder, daemon: None, pid: 0 }
    }

    /// Starts it; a running one is killed first.
    pub(crate) async fn start(&mut self) -> Result<(), Error> {
        self.kill().await?;
        let daemon = Daemon::start(self.name, &self.program, &self.arguments, &self.folder).await?;
        self.pid = daemon.pid();
        self.daemon = Some(daemon);
        Ok(())
    }

    /// Kills it, also while it is paused; does nothing when it does not run.
    pub(crate) async fn kill(&mut self) -> Result<(), Error> {
        match self.daemon.take() {
            Some(daemon) => daemon.end().await,
            None => Ok(()),
        }
    }

    pub(crate) fn signal(&self, signal: &str) -> Result<(), Error> {
        self.daemon.as_ref().map_or(Ok(()), |daemon| daemon.signal(signal))
    }

    /// Whether it was started and not killed since.
    pub(crate) fn is_wanted(&self) -> bool {
        self.daemon.is_some()
    }

    /// Fails when it has exited by itself.
    pub(crate) fn check(&mut self) -> Result<(), Error> {
        self.daemon.as_mut().map_or(Ok(()), Daemon::check)
    }

    /// Its process id; while it does not run, the one it had.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    pub(crate) fn log_tail(&self) -> String {
        self.daemon.as_ref().map(Daemon::log_tail).unwrap_or_default()
    }
}
