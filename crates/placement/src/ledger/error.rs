//! Why a ledger cannot be opened, copied or compared. [`super::RequestError`] is what a request gets.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Everything that ends a process that wants to use a ledger.
#[derive(Debug, Error)]
pub enum LedgerError {
    /// A schema that this binary does not understand.
    #[error(
        "the database has schema {version} and wants a berth that knows number {oldest_binary}, this one knows {own}; start a newer berth, or restore a backup from before the upgrade"
    )]
    TooNew { version: i64, oldest_binary: i64, own: i64 },
    #[error("the database is none of Berth's: {why}; give another one with --database")]
    NotOurs { why: String },
    #[error(
        "{} is in use by another process{}; only one server may use a SQLite file: stop the other one, or give another file with --database",
        path.display(), if holder.is_empty() { String::new() } else { format!(" (process {holder})") }
    )]
    Taken {
        path: PathBuf,
        /// The process id that the other one left, if any.
        holder: String,
    },
    /// A file that cannot be opened or written.
    #[error("cannot use {}; check that its folder exists and that this user may write there", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{} exists; give the name of a file that does not exist yet", path.display())]
    Exists { path: PathBuf },
    #[error("{} was not copied, because another process has locked the database or the copy; try it again later", path.display())]
    Locked { path: PathBuf },
    #[error("the database {} cannot be used", path.display())]
    Sqlite {
        path: PathBuf,
        #[source]
        source: rusqlite::Error,
    },
    #[error("the PostgreSQL database cannot be used; check --database, the server and the rights of the user")]
    Postgres {
        /// The error of PostgreSQL or of the connection.
        #[source]
        source: sqlx::Error,
    },
    /// The reason why the connection cannot be encrypted.
    #[error(
        "the connection to PostgreSQL cannot be encrypted as --database wants it; sslrootcert must be a file with the authority that signed the server's certificate, the host must be named as in the certificate, and the server needs ssl=on"
    )]
    Encryption {
        /// The problem with the certificate, the file or the server.
        #[source]
        source: sqlx::Error,
    },
    #[error("--database {found:?} is neither a file, :memory: nor postgres://user@host/database")]
    Address { found: String },
    #[error("the process cannot start its threads")]
    Thread {
        #[source]
        source: io::Error,
    },
    /// Something that only a SQLite file has.
    #[error("{what} is for SQLite files; for PostgreSQL {instead}")]
    OnlySqlite { what: &'static str, instead: &'static str },
}
