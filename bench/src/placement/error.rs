//! Why there are no figures of Placement, one line each.

use std::io;

use thiserror::Error;

/// Everything that ends a measurement.
#[derive(Debug, Error)]
pub enum Error {
    /// A server, ours or the other one.
    #[error(transparent)]
    Server(#[from] berth_control_plane::Error),
    /// The database of a server.
    #[error(transparent)]
    Database(#[from] berth_postgres::Error),
    /// A bare transaction.
    #[error("a bare transaction: {0}")]
    Transaction(#[from] sqlx::Error),
    /// The Python environment of Placement itself.
    #[error(transparent)]
    Environment(#[from] berth_placement_gabbi::Error),
    /// A connection, a file or a process.
    #[error("{what}: {source}")]
    System {
        /// What was to be done.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// A server answered something else than what the measurement needs.
    #[error("{request}: {status} {text}")]
    Refused {
        /// Method and path.
        request: String,
        /// What it answered.
        status: u16,
        /// The beginning of the body.
        text: String,
    },
    /// An answer is no HTTP, or no answer of Placement.
    #[error("{0}")]
    Answer(String),
    /// An answer is not JSON.
    #[error("an answer cannot be read: {0}")]
    Json(#[from] serde_json::Error),
    /// Ours and Placement do not say the same.
    #[error("{question}: {difference}")]
    Differs {
        /// What was asked.
        question: String,
        /// In what they differ.
        difference: String,
    },
    /// What was acknowledged is not in the ledger, or more is.
    #[error("{acknowledged} VCPUs were acknowledged, the ledger has {recorded}")]
    Ledger {
        /// The sum of what was answered with 204.
        acknowledged: u64,
        /// What `GET /usages` says.
        recorded: u64,
    },
    /// The server does not get ready.
    #[error("{server} does not answer within {seconds} s; the end of its log:\n{log}")]
    TooLong {
        /// Which one.
        server: &'static str,
        /// How long was waited.
        seconds: u64,
        /// The last lines of its log.
        log: String,
    },
}

impl Error {
    /// Says what was to be done.
    pub fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::System { what, source }
    }
}
