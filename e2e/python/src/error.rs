//! The errors of this crate, which tell the user what to do.

use std::process::ExitStatus;

use thiserror::Error;

/// Why there is no environment.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    #[error(
        "neither XDG_CACHE_HOME nor HOME is set to an absolute path; set one of them, so that Python environments have a \
         place"
    )]
    NoCacheFolder,
    #[error("python3 is not on the PATH, but tests need it; install python3-venv (`make setup` does)")]
    PythonMissing,
    #[error(
        "a Python environment could not be made: {0}\nDebian needs the package python3-venv (`make setup` installs it), \
         and packages come from PyPI"
    )]
    Environment(#[source] Box<Self>),
    #[error("`{command}` failed ({status}); the end of its output:\n{output}")]
    Failed { command: String, status: ExitStatus, output: String },
    #[error(transparent)]
    Io(#[from] berth_control_plane::Refused),
}
