//! The interface of a ledger for the process: its health, the age and size of its model, and its end.

use std::sync::Arc;
use std::time::Duration;

use berth_placement_model::Model;
use futures::future::BoxFuture;
use tokio::time::Instant;

use super::{Ledger, RequestError};

/// A ledger as its process sees it.
pub trait Operated: Ledger {
    /// The reason why it cannot work, if any, in one line.
    fn impediment(&self) -> Option<&'static str>;

    /// The reason why it does only some of its work, if any, in one line that continues "ready, but".
    fn impairment(&self) -> Option<&'static str> {
        None
    }

    /// The problems that the database may have, and which it has now. Those of files only a database in a file has.
    fn problems(&self) -> Vec<(LedgerProblem, bool)> {
        Vec::new()
    }

    fn last_model(&self) -> Option<Arc<Model>>;

    /// How long ago the database last reported its changes; zero if there is one writer.
    fn age(&self) -> Option<Duration>;

    /// Compares model and database under one snapshot; one line for each difference.
    fn check(&self, until: Instant) -> BoxFuture<'_, Result<Vec<String>, RequestError>>;

    /// Returns when the ledger has ended by itself, which cannot be recovered from.
    fn ended(&self) -> BoxFuture<'_, ()>;

    /// Finishes accepted writes, and closes the database.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// A problem of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LedgerProblem {
    DiskFull,
    FileMissing,
    FileReplaced,
}

impl LedgerProblem {
    pub const ALL: [Self; 3] = [Self::DiskFull, Self::FileMissing, Self::FileReplaced];

    /// The label of metrics.
    pub fn label(self) -> &'static str {
        match self {
            Self::DiskFull => "disk_full",
            Self::FileMissing => "file_missing",
            Self::FileReplaced => "file_replaced",
        }
    }

    /// One line for people.
    pub fn text(self) -> &'static str {
        match self {
            Self::DiskFull => {
                "writes fail because the database cannot grow: its disk is full, or a quota or limit of file sizes is reached"
            }
            Self::FileMissing => {
                "the database file was deleted or moved while it is in use; put it back before the process ends, or its last state is lost"
            }
            Self::FileReplaced => {
                "the path of the database leads to another file than the one in use; put the former one back, or restart to use the new one"
            }
        }
    }
}
