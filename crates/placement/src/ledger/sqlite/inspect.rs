//! Looks at a database without changing it, and without its lock.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};
use rustix::fs::{Access, access};

use super::LedgerLocation;
use super::file::{Migrating, find_schema, migrations, reader_of, with_suffix};
use crate::ledger::LedgerError;
use crate::ledger::schema::Inspected;

/// What a start would find.
pub fn inspect(place: &LedgerLocation) -> Result<Inspected, LedgerError> {
    let LedgerLocation::File(path) = place else { return Ok(Inspected::InMemory) };
    let failed = |source: io::Error| LedgerError::File { path: path.clone(), source };
    access(folder(path), Access::WRITE_OK | Access::EXEC_OK).map_err(|error| failed(error.into()))?;
    // The database is not opened like this: closing a file ends the locks that SQLite has on it in this process, which has none.
    match OpenOptions::new().read(true).write(true).open(path) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Inspected::Absent),
        Err(error) => return Err(failed(error)),
    }
    let failed = |source| LedgerError::Sqlite { path: path.clone(), source };
    let connection = open(path).map_err(failed)?;
    let found = find_schema(&connection).map_err(|error| match error {
        Migrating::Refused(error) => error,
        Migrating::Sqlite(source) => failed(source),
    })?;
    Inspected::of(found, migrations())
}

fn folder(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// A reader of a log would create its index if there is none. Without one no process uses the file, so it does not change meanwhile.
fn open(path: &Path) -> rusqlite::Result<Connection> {
    if with_suffix(path, "-shm").exists() {
        return reader_of(path);
    }
    let escaped = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(format!("file:{escaped}?immutable=1"), flags)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::file::writer;
    use super::*;
    use crate::ledger::schema::BINARY;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = entries.collect();
        names.sort();
        names
    }

    #[test]
    fn a_database_is_found_as_a_start_would_find_it_and_no_file_is_made() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a?b.db");
        let place = LedgerLocation::File(path.clone());
        assert_eq!(inspect(&LedgerLocation::Memory).unwrap(), Inspected::InMemory);
        assert_eq!(inspect(&place).unwrap(), Inspected::Absent);
        assert!(names(folder.path()).is_empty());
        drop(writer(&place).unwrap());
        let before = names(folder.path());
        assert_eq!(inspect(&place).unwrap(), Inspected::UpToDate);
        assert_eq!(names(folder.path()), before);
        let open = writer(&place).unwrap();
        open.execute("UPDATE schema SET version = 1", []).unwrap();
        assert_eq!(inspect(&place).unwrap(), Inspected::Outdated { migrations: 1 }, "while a server has it");
        open.execute("UPDATE schema SET oldest_binary = ?1", [BINARY + 1]).unwrap();
        drop(open);
        assert!(matches!(inspect(&place), Err(LedgerError::TooNew { .. })));
    }

    #[test]
    fn what_cannot_be_used_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| LedgerLocation::File(folder.path().join(name));
        assert!(matches!(inspect(&at("no-folder/a.db")), Err(LedgerError::File { .. })));
        fs::write(folder.path().join("text.db"), "no database, and longer than the head of one ".repeat(9)).unwrap();
        assert!(matches!(inspect(&at("text.db")), Err(LedgerError::Sqlite { .. })));
        let foreign = Connection::open(folder.path().join("foreign.db")).unwrap();
        foreign.execute("CREATE TABLE t (a)", []).unwrap();
        drop(foreign);
        assert!(matches!(inspect(&at("foreign.db")), Err(LedgerError::NotOurs { .. })));
    }
}
