//! One running etcd or kube-apiserver, and its log.

use std::fs::{File, OpenOptions};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use crate::{Environment, Error, log_file, spawner};

/// A process that is killed when this value is dropped, or when this process ends.
///
/// It is always killed, never asked to end: neither has anything to save, as the data goes too, and an API server that is
/// asked waits for its clients.
#[derive(Debug)]
pub(crate) struct Daemon {
    name: &'static str,
    child: Child,
    log: PathBuf,
}

impl Daemon {
    /// Starts a program; what it writes goes to the end of `<folder>/<name>.log`.
    pub(crate) async fn start(
        name: &'static str,
        program: &Path,
        arguments: &[String],
        folder: &Path,
    ) -> Result<Self, Error> {
        let setpriv = Environment::of_process().setpriv()?;
        let log = folder.join(format!("{name}.log"));
        let (output, errors) = open_twice(&log)?;
        let mut command = spawner::bound_to_this_process(&setpriv, program);
        command.args(arguments).current_dir(folder).stdin(Stdio::null()).stdout(output).stderr(errors);
        // Ctrl-C in a terminal goes to the whole process group: they are to end in our order, not all at once.
        command.process_group(0);
        let child = spawner::spawn(command).await.map_err(Error::path("start", program))?;
        Ok(Self { name, child, log })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn log(&self) -> &Path {
        &self.log
    }

    /// An error when the process has ended by itself.
    pub(crate) fn check(&mut self) -> Result<(), Error> {
        let status = self.child.try_wait().map_err(Error::io(format!("wait for {}", self.name)))?;
        status.map_or(Ok(()), |status| Err(Error::Ended { program: self.name, status, log: log_file::tail(&self.log) }))
    }

    /// Kills the process and waits until it is gone, which may take some milliseconds.
    pub(crate) async fn end(self) -> Result<(), Error> {
        let name = self.name;
        let gone = tokio::task::spawn_blocking(move || drop(self)).await;
        gone.map_err(|error| Error::io(format!("end {name}"))(error.into()))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Both fail only when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn open_twice(log: &Path) -> Result<(File, File), Error> {
    let file = OpenOptions::new().create(true).append(true).open(log).map_err(Error::path("open", log))?;
    let copy = file.try_clone().map_err(Error::path("open", log))?;
    Ok((file, copy))
}
