//! Why the suite could not be run. A failed test is no error but a result.

use thiserror::Error;

/// The errors that end a run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    #[error(transparent)]
    Python(#[from] berth_python::Error),
    /// The list of contradictions has an invalid line, or one that names no test.
    #[error("contradictions.txt: {line}: {problem}")]
    Contradiction {
        line: String,
        /// What is wrong, and what to do.
        problem: &'static str,
    },
    /// The user asked for a file that the suite does not have.
    #[error("the suite has no file {name}; without --only all of its {files} files are run")]
    NoSuchFile { name: String, files: usize },
    /// The server did not answer in time after its start.
    #[error(
        "the server did not answer GET /resource_providers with 200 within {seconds} s; the end of its log:\n{log}"
    )]
    NotReady { seconds: u64, log: String },
    /// The server did not start, or exited by itself.
    #[error(transparent)]
    Server(#[from] berth_control_plane::Error),
    #[error(transparent)]
    Postgres(#[from] berth_postgres::Error),
    /// The worker exited, or was silent for too long.
    #[error("the worker that runs the file {file} {problem}; what it wrote to stderr is above")]
    Worker { file: String, problem: &'static str },
    #[error("the data that {file} needs could not be made:\n{text}")]
    Fixture { file: String, text: String },
    /// The worker's answer is invalid.
    #[error("a worker's answer cannot be read: {0}")]
    Answer(#[from] serde_json::Error),
    #[error(transparent)]
    Io(#[from] berth_control_plane::Refused),
}
