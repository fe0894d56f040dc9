//! Why a ledger cannot be opened, copied or compared, one clear line each. What a request is told is [`super::Trouble`].

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
    TooNew {
        /// The version of the schema.
        version: i64,
        /// The oldest binary that may use it.
        oldest_binary: i64,
        /// What this binary is.
        own: i64,
    },
    /// A database of somebody else.
    #[error("the database is none of Berth's: {why}; give another one with --database")]
    NotOurs {
        /// What was found.
        why: String,
    },
    /// Another process has it.
    #[error(
        "{} is in use by another process{}; only one server may use a SQLite file: stop the other one, or give another file with --database",
        path.display(), if holder.is_empty() { String::new() } else { format!(" (process {holder})") }
    )]
    Taken {
        /// The database.
        path: PathBuf,
        /// The process id that the other one left, if any.
        holder: String,
    },
    /// A file that cannot be opened or written.
    #[error("cannot use {}; check that its folder exists and that this user may write there", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A target that exists.
    #[error("{} exists; give the name of a file that does not exist yet", path.display())]
    Exists {
        /// Which file.
        path: PathBuf,
    },
    /// What SQLite said.
    #[error("the database {} cannot be used", path.display())]
    Sqlite {
        /// The database.
        path: PathBuf,
        /// What SQLite said.
        #[source]
        source: rusqlite::Error,
    },
    /// What PostgreSQL said.
    #[error("the PostgreSQL database cannot be used; check --database, the server and the rights of the user")]
    Postgres {
        /// What PostgreSQL, or the way to it, said.
        #[source]
        source: sqlx::Error,
    },
    /// What stands between here and an encrypted connection.
    #[error(
        "the connection to PostgreSQL cannot be encrypted as --database wants it; sslrootcert must be a file with the authority that signed the server's certificate, the host must be named as in the certificate, and the server needs ssl=on"
    )]
    Encryption {
        /// What is wrong with the certificate, the file or the server.
        #[source]
        source: sqlx::Error,
    },
    /// A database that cannot be named.
    #[error("--database {found:?} is neither a file, :memory: nor postgres://user@host/database")]
    Address {
        /// As given, without its password.
        found: String,
    },
    /// A thread that cannot be started.
    #[error("the process cannot start its threads")]
    Thread {
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Something that only a SQLite file has.
    #[error("{what} is for SQLite files; for PostgreSQL {instead}")]
    OnlySqlite {
        /// What was asked for.
        what: &'static str,
        /// What to do there.
        instead: &'static str,
    },
}
