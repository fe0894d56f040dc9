//! Runs kubectl, independent of the user's own configuration of it.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, Command};

use crate::{Error, FromRefused as _};

#[derive(Debug)]
pub(crate) struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
    cache: PathBuf,
}

impl Kubectl {
    pub(crate) fn new(program: &Path, kubeconfig: &Path, folder: &Path) -> Self {
        Self { program: program.to_owned(), kubeconfig: kubeconfig.to_owned(), cache: folder.join("kubectl-cache") }
    }

    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    pub(crate) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Returns stdout on success, and stderr in the error.
    pub(crate) async fn run(&self, arguments: &[&str], stdin: Option<&str>) -> Result<String, Error> {
        let child = self.command(arguments, stdin.is_some()).spawn().map_err(Error::path("run", &self.program))?;
        let output = feed(child, stdin.unwrap_or_default()).await.map_err(Error::path("run", &self.program))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(Error::Kubectl { command: arguments.join(" "), stderr })
    }

    fn command(&self, arguments: &[&str], has_stdin: bool) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).env("KUBECONFIG", &self.kubeconfig);
        // The usual cache is kept per address: its data about an earlier control plane on the same port would be wrong.
        command.env("KUBECACHEDIR", &self.cache).env("KUBERC", "off");
        command.stdin(if has_stdin { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        command
    }
}

/// Writes and reads at the same time, so that neither side waits for the other.
async fn feed(mut child: Child, text: &str) -> std::io::Result<Output> {
    let stdin = child.stdin.take();
    let write = async move {
        if let Some(mut stdin) = stdin {
            // It need not read everything: its exit status tells whether it succeeded.
            let _ = stdin.write_all(text.as_bytes()).await;
        }
    };
    let ((), output) = tokio::join!(write, child.wait_with_output());
    output
}
