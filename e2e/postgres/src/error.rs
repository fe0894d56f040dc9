//! What can go wrong, and what the reader of the message can do about it.

use std::process::ExitStatus;

use thiserror::Error;

/// Why there is no PostgreSQL, or why it did not do what it was asked.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The programs are nowhere.
    #[error(
        "initdb, postgres and psql are neither in /usr/lib/postgresql nor on the PATH; install the package postgresql"
    )]
    Missing,
    /// One of its programs failed.
    #[error("`{program}` failed ({status}):\n{output}")]
    Failed {
        /// Which one.
        program: String,
        /// How it ended.
        status: ExitStatus,
        /// What it wrote to stderr.
        output: String,
    },
    /// It runs, but takes no connections.
    #[error("PostgreSQL was not ready after {seconds} s; the end of its log:\n{log}")]
    NotReady {
        /// How long it was waited for.
        seconds: u64,
        /// The last lines of its log.
        log: String,
    },
    /// It did not start, or ended by itself.
    #[error(transparent)]
    Daemon(#[from] berth_control_plane::Error),
    /// The operating system refused something.
    #[error(transparent)]
    Io(#[from] berth_control_plane::Refused),
}
