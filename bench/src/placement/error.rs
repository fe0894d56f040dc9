//! The errors of the Placement benchmarks, one line each.

use std::io;

use thiserror::Error;

/// Every error that ends a measurement.
#[derive(Debug, Error)]
pub enum Error {
    #[error(transparent)]
    Server(#[from] berth_control_plane::Error),
    #[error(transparent)]
    Database(#[from] berth_postgres::Error),
    #[error("a bare transaction: {0}")]
    Transaction(#[from] sqlx::Error),
    #[error(transparent)]
    Environment(#[from] berth_placement_gabbi::Error),
    #[error("{what}: {source}")]
    System { what: String, source: io::Error },
    /// A server gave an answer that the measurement cannot use.
    #[error("{request}: {status} {text}")]
    Refused { request: String, status: u16, text: String },
    /// An answer is not valid HTTP, or not an answer of Placement.
    #[error("{0}")]
    Answer(String),
    #[error("an answer cannot be read: {0}")]
    Json(#[from] serde_json::Error),
    /// Berth and Placement give different answers.
    #[error("{question}: {difference}")]
    Differs { question: String, difference: String },
    /// The acknowledged claims and the ledger differ.
    #[error("{acknowledged} VCPUs were acknowledged, the ledger has {recorded}")]
    Ledger {
        /// The sum of what was answered with 204.
        acknowledged: u64,
        recorded: u64,
    },
    #[error("{server} does not answer within {seconds} s; the end of its log:\n{log}")]
    TooLong { server: &'static str, seconds: u64, log: String },
}

impl Error {
    pub fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::System { what, source }
    }
}
