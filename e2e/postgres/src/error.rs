//! The errors of this crate, which tell the user what to do.

use std::process::ExitStatus;

use thiserror::Error;

/// Why there is no PostgreSQL, or why it did not do what was requested.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    #[error(
        "initdb, postgres and psql are neither in /usr/lib/postgresql nor on the PATH; install the package postgresql"
    )]
    Missing,
    #[error("`{program}` failed ({status}):\n{output}")]
    Failed { program: String, status: ExitStatus, output: String },
    #[error("PostgreSQL was not ready after {seconds} s; the end of its log:\n{log}")]
    NotReady { seconds: u64, log: String },
    /// It did not start, or exited by itself.
    #[error(transparent)]
    Daemon(#[from] berth_control_plane::Error),
    #[error(transparent)]
    Io(#[from] berth_control_plane::Refused),
}
