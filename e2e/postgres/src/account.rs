//! The account that runs PostgreSQL. It refuses to be root; then it is the user of Debian's package, who must own its
//! directory.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Output, Stdio};

use berth_control_plane::FromRefused as _;
use tokio::process::Command;

use crate::Error;

const USER: &str = "postgres";

/// The account of this process, or the one of PostgreSQL when this one is root.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Account {
    root: bool,
}

impl Account {
    pub(crate) fn of_process() -> Result<Self, Error> {
        let own = std::fs::metadata("/proc/self").map_err(Error::io("find out who this process is"))?;
        Ok(Self { root: own.uid() == 0 })
    }

    /// The program and arguments that run this program as the account.
    pub(crate) fn line(self, program: &Path, arguments: &[String]) -> Vec<String> {
        let mut line: Vec<String> = Vec::new();
        if self.root {
            // A change of the account removes the parent-death signal, so it is set again.
            let setpriv = ["setpriv", "--reuid", USER, "--regid", USER, "--init-groups", "--pdeathsig", "KILL", "--"];
            line.extend(setpriv.map(str::to_owned));
        }
        line.push(program.display().to_string());
        line.extend_from_slice(arguments);
        line
    }

    pub(crate) async fn run(self, program: &Path, arguments: &[String]) -> Result<Output, Error> {
        let line = self.line(program, arguments);
        run(&line).await
    }

    pub(crate) async fn own(self, folder: &Path) -> Result<(), Error> {
        if !self.root {
            return Ok(());
        }
        let line = ["chown".to_owned(), format!("{USER}:"), folder.display().to_string()];
        run(&line).await.map(drop)
    }
}

async fn run(line: &[String]) -> Result<Output, Error> {
    let (program, arguments) = line.split_first().ok_or(Error::Missing)?;
    let mut command = Command::new(program);
    // A directory that every user may enter: PostgreSQL complains about others.
    command.args(arguments).current_dir("/").stdin(Stdio::null()).kill_on_drop(true);
    let output = command.output().await.map_err(Error::io(format!("run {program}")))?;
    if output.status.success() {
        return Ok(output);
    }
    let text = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Error::Failed { program: line.join(" "), status: output.status, output: text })
}
