//! The errors of this crate, which tell the user what to do.

use thiserror::Error;

/// Why there is no Keystone, or why it did not do what was requested.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    #[error(transparent)]
    Python(#[from] berth_python::Error),
    #[error("Keystone did not answer within {seconds} s after its start; the end of its log:\n{log}")]
    NotReady { seconds: u64, log: String },
    /// It did not start, or exited by itself.
    #[error(transparent)]
    Process(#[from] berth_control_plane::Error),
    #[error("no HTTP client: {0}")]
    Client(String),
    #[error("{request}: no answer: {cause}")]
    Unanswered { request: String, cause: String },
    #[error("{request}: Keystone answered {status}: {body}")]
    Status { request: String, status: u16, body: String },
    #[error("{request}: the answer lacks {member}: {body}")]
    Member { request: String, member: String, body: String },
    #[error("the list of what the database contains cannot be read: {0}; remove the folder keystone of the cache")]
    Seeded(#[from] serde_json::Error),
    #[error(transparent)]
    Io(#[from] berth_control_plane::Refused),
}
