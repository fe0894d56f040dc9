//! Copies a database while a server uses it. The copy is of one state, and an incomplete copy never gets the final
//! name.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use super::file::{self, with_suffix};
use crate::ledger::LedgerError;

/// Copies the database `from` to `to`, which must not exist.
pub fn backup(from: &Path, to: &Path) -> Result<(), LedgerError> {
    if to.exists() {
        return Err(LedgerError::Exists { path: to.to_owned() });
    }
    let partial = with_suffix(to, ".partial");
    let copied = copy(from, &partial).and_then(|()| {
        let renamed = fs::File::open(&partial).and_then(|file| file.sync_all()).and_then(|()| fs::rename(&partial, to));
        renamed.map_err(|source| LedgerError::File { path: to.to_owned(), source })
    });
    if copied.is_err() {
        // The first error is reported already.
        let _ = fs::remove_file(&partial);
    }
    copied
}

fn copy(from: &Path, to: &Path) -> Result<(), LedgerError> {
    let source = file::reader(from)?;
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| LedgerError::Sqlite { path, source }
    };
    // Says at once that this is no database of ours.
    source.query_row("SELECT version FROM schema", [], |_| Ok(())).map_err(failed(from))?;
    file::open_own(to).map_err(|source| LedgerError::File { path: to.to_owned(), source })?;
    let mut target = Connection::open_with_flags(to, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(failed(to))?;
    // Whoever has locked it copies to the same name.
    target.busy_timeout(Duration::ZERO).map_err(failed(to))?;
    let backup = Backup::new(&source, &mut target).map_err(failed(from))?;
    // All pages in one step: then writers that go on do not make it begin again.
    match backup.step(-1).map_err(failed(to))? {
        StepResult::Done => Ok(()),
        _ => Err(LedgerError::Locked { path: from.to_owned() }),
    }
}
