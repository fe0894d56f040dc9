//! Runs a program as a container of the image does, without a container runtime.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::Error;

const SCRIPT: &str = include_str!("empty_root.sh");
/// Each process has its own namespaces, in which it may do what only root may do otherwise.
const NAMESPACES: [&str; 9] =
    ["unshare", "--user", "--map-root-user", "--mount", "--", "/bin/sh", "-euc", SCRIPT, "empty-root"];

/// A read-only root file system that has a program, some files, `/dev/random`, `/dev/urandom`, and nothing else: no shell, no libraries, no certificates, no `/proc`.
/// Each process sees one of its own; the folder stays empty.
#[derive(Debug)]
pub struct EmptyRoot(TempDir);

impl EmptyRoot {
    /// Makes the folder.
    pub fn new() -> Result<Self, Error> {
        tempfile::tempdir().map(Self).map_err(Error::file("create a folder in", &std::env::temp_dir()))
    }

    /// The command line that runs a program with these files and folders at the paths that they have outside. It does not fork: a
    /// signal to the process reaches the program.
    pub fn command_line(&self, program: &Path, files: &[&Path], arguments: &[String]) -> Vec<String> {
        let paths = [self.0.path(), program].into_iter().chain(files.iter().copied());
        let words = NAMESPACES.iter().map(|word| (*word).to_owned());
        let words = words.chain(paths.map(|path| path.display().to_string())).chain(["--".to_owned()]);
        words.chain(arguments.iter().cloned()).collect()
    }

    /// The same as a command, without the environment of this process.
    pub fn command(&self, program: &Path, files: &[&Path], arguments: &[&str]) -> Command {
        let arguments: Vec<_> = arguments.iter().map(|word| (*word).to_owned()).collect();
        let line = self.command_line(program, files, &arguments);
        let mut command = Command::new(NAMESPACES[0]);
        command.args(line.iter().skip(1)).env_clear();
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command
    }
}
