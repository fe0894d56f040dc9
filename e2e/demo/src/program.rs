//! The program `berth`, and the command lines of its processes.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use berth_image::EmptyRoot;
use tokio::process::Command;

use crate::error::Error;

/// The program, and the root file system that its processes see if it is not that of this machine.
#[derive(Clone, Debug)]
pub struct Program {
    path: PathBuf,
    root: Option<Arc<EmptyRoot>>,
}

impl Program {
    /// The given one, or the one beside this program.
    pub fn find(given: Option<&Path>, is_in_empty_root: bool) -> Result<Self, Error> {
        let path = given.map_or_else(beside, |path| Ok(path.to_owned()))?;
        let path = path.canonicalize().map_err(|_| Error::OperatorMissing { program: path })?;
        let root = is_in_empty_root.then(EmptyRoot::new).transpose()?.map(Arc::new);
        Ok(Self { path, root })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The words that run it with these arguments, which name no files but these.
    pub fn command_line(&self, files: &[&Path], arguments: Vec<String>) -> Vec<String> {
        match &self.root {
            Some(root) => root.command_line(&self.path, files, &arguments),
            None => [vec![self.path.display().to_string()], arguments].concat(),
        }
    }

    /// The same as a command, which ends with the value that awaits it.
    pub fn command(&self, files: &[&Path], arguments: Vec<String>) -> Command {
        let line = self.command_line(files, arguments);
        let mut command = Command::new(&line[0]);
        command.args(&line[1..]).kill_on_drop(true);
        command
    }
}

fn beside() -> Result<PathBuf, Error> {
    let own = env::current_exe().map_err(|source| Error::System { action: "find the path of this program", source })?;
    Ok(own.with_file_name("berth"))
}
