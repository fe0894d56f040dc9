//! Texts of databases are for the log, where each kind of failure appears once a minute; clients get a text of ours.

use std::fmt::Display;
use std::sync::LazyLock;

use berth_http::LogLimit;
use parking_lot::Mutex;
use tokio::time::Instant;

/// What a client gets in place of the text of a database.
const FAILED: &str = "the database failed; the log of the server has the cause";

/// What the database was used for. It failed for all clients of the process, so the limit is one of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FailedUse {
    Read,
    Write,
    Commit,
}

static LOGGED: LazyLock<Mutex<LogLimit<FailedUse>>> = LazyLock::new(Mutex::default);

/// Logs the failure, and returns the text for clients.
pub(super) fn report_failure(failed: FailedUse, error: impl Display) -> String {
    if let Some(left_out) = LOGGED.lock().admit(failed, Instant::now()) {
        tracing::warn!(%error, failed = ?failed, left_out, "database not available");
    }
    FAILED.to_owned()
}
