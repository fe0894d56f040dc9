//! The files of a SQLite ledger. A lock on a file beside it makes one process the owner.

use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension as _};

use crate::ledger::LedgerError;
use crate::ledger::schema::{self, Found};

/// Each brings the schema one version further.
const MIGRATIONS: [&str; 2] = [include_str!("schema-1.sql"), include_str!("schema-2.sql")];

/// The mode of the files.
const MODE: u32 = 0o600;

/// How long a statement waits for a foreign process that reads the file, such as the tool `sqlite3`.
const BUSY: Duration = Duration::from_secs(5);
/// Statements that a connection keeps prepared; there are some 50.
const STATEMENTS: usize = 128;
/// Pages of the log after which it is written into the database, 16 MiB: seldom enough for a busy writer.
const CHECKPOINT: u32 = 4096;

/// Where the ledger is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LedgerLocation {
    File(PathBuf),
    Memory,
}

/// The right to use a database, until it is dropped. The kernel takes it back when the process ends.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of the database at `path`, or returns its holder.
    pub fn take(path: &Path) -> Result<Self, LedgerError> {
        let beside = with_suffix(path, ".lock");
        let failed = |source| LedgerError::File { path: beside.clone(), source };
        let mut file = open_own(&beside).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let _ = file.take(20).read_to_string(&mut holder);
                return Err(LedgerError::Taken { path: path.to_owned(), holder: holder.trim().to_owned() });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        // Only for users who search for the holder; the lock is the kernel's.
        let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| write!(file, "{}", std::process::id()));
        Ok(Self { _file: file })
    }
}

/// Opens a file that only our user may read, and creates it if it is absent. A link is refused: whoever can write into the folder
/// could let it lead to any file.
pub(super) fn open_own(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).read(true).write(true).truncate(false).mode(MODE).custom_flags(libc::O_NOFOLLOW);
    let file = options.open(path).map_err(|error| match error.raw_os_error() {
        Some(libc::ELOOP) => io::Error::other("it is a symbolic link, which is not followed; name the file itself"),
        _ => error,
    })?;
    if file.metadata()?.permissions().mode() & 0o777 != MODE {
        file.set_permissions(Permissions::from_mode(MODE))?;
    }
    Ok(file)
}

pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// The connection that writes, with the newest schema.
pub(super) fn writer(place: &LedgerLocation) -> Result<Connection, LedgerError> {
    let path = path_of(place);
    let failed = |source| LedgerError::Sqlite { path: path.clone(), source };
    let connection = match place {
        LedgerLocation::File(path) => {
            // The files that SQLite makes beside it get its mode.
            open_own(path).map_err(|source| LedgerError::File { path: path.clone(), source })?;
            Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
        }
        LedgerLocation::Memory => Connection::open_in_memory(),
    };
    let mut connection = connection.map_err(failed)?;
    set(&connection).map_err(failed)?;
    migrate(&mut connection).map_err(|error| match error {
        Migrating::Refused(error) => error,
        Migrating::Sqlite(source) => failed(source),
    })?;
    Ok(connection)
}

/// A connection that only reads. A file needs no lock for it.
pub(super) fn reader(path: &Path) -> Result<Connection, LedgerError> {
    reader_of(path).map_err(|source| LedgerError::Sqlite { path: path.to_owned(), source })
}

pub(super) fn reader_of(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    connection.busy_timeout(BUSY)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

fn path_of(place: &LedgerLocation) -> PathBuf {
    match place {
        LedgerLocation::File(path) => path.clone(),
        LedgerLocation::Memory => PathBuf::from(":memory:"),
    }
}

fn set(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // Answers with the mode that it has now; in memory that is another one.
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT)
}

pub(super) fn migrations() -> usize {
    MIGRATIONS.len()
}

pub(super) enum Migrating {
    Refused(LedgerError),
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for Migrating {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

fn migrate(connection: &mut Connection) -> Result<(), Migrating> {
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let found = find_schema(&transaction)?;
    for index in schema::missing(found, MIGRATIONS.len()).map_err(Migrating::Refused)? {
        transaction.execute_batch(MIGRATIONS[index])?;
    }
    Ok(transaction.commit()?)
}

/// The schema of a database; none if it has no tables.
pub(super) fn find_schema(connection: &Connection) -> Result<Option<Found>, Migrating> {
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema WHERE type = 'table'", [], |row| row.get(0))?;
    if tables == 0 {
        return Ok(None);
    }
    let not_ours =
        || Migrating::Refused(LedgerError::NotOurs { why: "it has tables, and none says its version".to_owned() });
    if !connection.table_exists(None, "schema")? {
        return Err(not_ours());
    }
    let row = connection.query_row("SELECT version, oldest_binary FROM schema", [], |row| {
        Ok(Found { version: row.get(0)?, oldest_binary: row.get(1)? })
    });
    row.optional()?.map(Some).ok_or_else(not_ours)
}
