//! Where the server under test keeps its ledger: every start gets an empty one.

use std::path::Path;

use crate::Error;

/// Which database a server is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Database {
    /// SQLite, in a file of a folder of its own.
    File,
    /// SQLite, in memory.
    Memory,
}

impl Database {
    /// What `--database` is, for a new and empty one.
    #[expect(clippy::unused_async, reason = "databases of a server are created over a connection")]
    pub(crate) async fn fresh(&self, folder: &Path) -> Result<String, Error> {
        match self {
            Self::File => Ok(folder.join("placement.db").display().to_string()),
            Self::Memory => Ok(":memory:".to_owned()),
        }
    }
}
