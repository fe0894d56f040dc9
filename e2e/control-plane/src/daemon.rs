//! A running process of etcd, kube-apiserver or another program, and its log.

use std::fs::{File, OpenOptions};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::{Environment, Error, FromRefused as _, log_file, spawner};

const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A process that is killed when this value is dropped, or when this process ends.
///
/// etcd and kube-apiserver are always killed, never asked to stop: neither has anything to save, as the data is removed
/// too, and an API server that is asked waits for its clients.
#[derive(Debug)]
pub struct Daemon {
    name: &'static str,
    child: Child,
    log: PathBuf,
}

impl Daemon {
    /// Starts a program; its output is appended to `<folder>/<name>.log`.
    pub async fn start(name: &'static str, program: &Path, arguments: &[String], folder: &Path) -> Result<Self, Error> {
        let setpriv = Environment::of_process().setpriv()?;
        let log = folder.join(format!("{name}.log"));
        let (output, errors) = open_twice(&log)?;
        let mut command = spawner::bound_to_this_process(&setpriv, program);
        command.args(arguments).current_dir(folder).stdin(Stdio::null()).stdout(output).stderr(errors);
        // Ctrl-C in a terminal goes to the whole process group: the programs must stop in our order, not all at once.
        command.process_group(0);
        let child = spawner::spawn(command).await.map_err(Error::path("start", program))?;
        Ok(Self { name, child, log })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn log(&self) -> &Path {
        &self.log
    }

    pub fn log_tail(&self) -> String {
        log_file::tail(&self.log)
    }

    /// Fails when the process has exited by itself.
    pub fn check(&mut self) -> Result<(), Error> {
        let status = self.exit_status()?;
        status.map_or(Ok(()), |status| Err(Error::Ended { program: self.name, status, log: self.log_tail() }))
    }

    /// Asks the process to stop (SIGTERM): its exit status, or `None` when it has not exited in time; dropping kills it
    /// then.
    pub async fn stop(&mut self, within: Duration) -> Result<Option<ExitStatus>, Error> {
        self.signal("TERM")?;
        self.ended(within).await
    }

    /// Waits for the exit of the process: its exit status, or `None` when it has not exited in time.
    pub async fn ended(&mut self, within: Duration) -> Result<Option<ExitStatus>, Error> {
        let asked = Instant::now();
        loop {
            let status = self.exit_status()?;
            if status.is_some() || asked.elapsed() > within {
                return Ok(status);
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Sends a signal, such as `STOP`, with the `kill` of the shell, as the standard library can only kill. A process
    /// that has just exited is no error: the caller either wants that, or notices it later.
    pub fn signal(&self, signal: &str) -> Result<(), Error> {
        let mut command = Command::new("/bin/sh");
        let (name, pid) = (format!("-{signal}"), self.pid().to_string());
        command.args(["-c", "kill \"$0\" \"$1\"", &name, &pid]).stdin(Stdio::null()).stderr(Stdio::null());
        command.status().map(drop).map_err(Error::io(format!("send {signal} to {}", self.name)))
    }

    fn exit_status(&mut self) -> Result<Option<ExitStatus>, Error> {
        self.child.try_wait().map_err(Error::io(format!("wait for {}", self.name)))
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
        // Both fail only when it has exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn open_twice(log: &Path) -> Result<(File, File), Error> {
    let file = OpenOptions::new().create(true).append(true).open(log).map_err(Error::path("open", log))?;
    let copy = file.try_clone().map_err(Error::path("open", log))?;
    Ok((file, copy))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn shell(script: &str, folder: &Path) -> Daemon {
        let arguments = ["-c".to_owned(), script.to_owned()];
        let daemon = Daemon::start("shell", Path::new("/bin/sh"), &arguments, folder).await.unwrap();
        while daemon.log_tail().is_empty() {
            sleep(POLL_INTERVAL).await;
        }
        daemon
    }

    #[tokio::test]
    async fn a_process_that_is_asked_to_end_may_do_so_in_its_own_way() {
        let folder = tempfile::tempdir().unwrap();
        let script = "trap 'echo bye; exit 3' TERM; echo hello; while true; do sleep 0.01; done";
        let mut daemon = shell(script, folder.path()).await;
        daemon.check().unwrap();
        let status = daemon.stop(Duration::from_secs(60)).await.unwrap();
        assert_eq!((status.and_then(|status| status.code()), daemon.log_tail()), (Some(3), "hello\nbye".to_owned()));
        assert!(daemon.check().unwrap_err().to_string().starts_with("shell has ended by itself"));
    }

    #[tokio::test]
    async fn a_process_that_is_paused_goes_on_when_it_is_reported_to() {
        let folder = tempfile::tempdir().unwrap();
        let mut daemon = shell("trap 'exit 5' TERM; echo hello; while true; do sleep 0.01; done", folder.path()).await;
        daemon.signal("STOP").unwrap();
        assert_eq!(daemon.stop(Duration::from_millis(100)).await.unwrap(), None, "a paused process does nothing");
        daemon.signal("CONT").unwrap();
        assert_eq!(daemon.ended(Duration::from_secs(60)).await.unwrap().and_then(|status| status.code()), Some(5));
    }

    #[tokio::test]
    async fn a_process_that_does_not_end_is_killed_with_its_value() {
        let folder = tempfile::tempdir().unwrap();
        let mut daemon = shell("trap '' TERM; echo hello; exec sleep 600", folder.path()).await;
        let process = format!("/proc/{}", daemon.pid());
        assert_eq!(daemon.stop(Duration::from_millis(100)).await.unwrap(), None);
        assert!(Path::new(&process).exists());
        drop(daemon);
        assert!(!Path::new(&process).exists());
    }
}
