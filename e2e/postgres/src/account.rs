//! As whom PostgreSQL runs. It refuses to be root; then it is the user that Debian's package makes, who must own its folder.

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

    /// A program with its arguments as this account runs it: what to start, and with which arguments.
    pub(crate) fn line(self, program: &Path, arguments: &[String]) -> Vec<String> {
        let mut line: Vec<String> = Vec::new();
        if self.root {
            // A change of the account ends the bond to the parent, so it is asked for again.
            let setpriv = ["setpriv", "--reuid", USER, "--regid", USER, "--init-groups", "--pdeathsig", "KILL", "--"];
            line.extend(setpriv.map(str::to_owned));
        }
        line.push(program.display().to_string());
        line.extend_from_slice(arguments);
        line
    }

    /// Runs a program to its end.
    pub(crate) async fn run(self, program: &Path, arguments: &[String]) -> Result<Output, Error> {
        let line = self.line(program, arguments);
        run(&line).await
    }

    /// Gives a folder to this account.
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
    // A folder that everybody may enter: PostgreSQL complains about others.
    command.args(arguments).current_dir("/").stdin(Stdio::null()).kill_on_drop(true);
    let output = command.output().await.map_err(Error::io(format!("run {program}")))?;
    if output.status.success() {
        return Ok(output);
    }
    let text = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Error::Failed { program: line.join(" "), status: output.status, output: text })
}
