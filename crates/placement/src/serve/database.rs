//! Reads the setting `database`: a PostgreSQL URL, `:memory:`, or a file.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use berth_telemetry::clock::Clock;
use berth_telemetry::config::mask_urls;

use crate::ledger::postgres::PostgresLedger;
use crate::ledger::sqlite::{self, LedgerLocation, SqliteLedger};
use crate::ledger::{Inspected, LedgerError, LedgerMetrics, Operated};

/// Where a ledger is.
#[derive(Clone, PartialEq, Eq)]
pub enum Database {
    Sqlite(LedgerLocation),
    Postgres(String),
}

impl Database {
    pub async fn open(&self, clock: Arc<dyn Clock>, metrics: LedgerMetrics) -> Result<Arc<dyn Operated>, LedgerError> {
        match self {
            Self::Sqlite(place) => Ok(Arc::new(SqliteLedger::open(place, clock, metrics)?)),
            Self::Postgres(url) => Ok(Arc::new(PostgresLedger::open(url, clock, metrics).await?)),
        }
    }

    /// What [`Database::open`] would find. Nothing is changed.
    pub async fn inspect(&self) -> Result<Inspected, LedgerError> {
        match self {
            Self::Sqlite(place) => sqlite::inspect(place),
            Self::Postgres(url) => PostgresLedger::inspect(url).await,
        }
    }

    /// The port of PostgreSQL.
    pub fn port(&self) -> Result<Option<u16>, LedgerError> {
        match self {
            Self::Sqlite(_) => Ok(None),
            Self::Postgres(url) => PostgresLedger::port(url).map(Some),
        }
    }

    pub fn file(&self, what: &'static str, instead: &'static str) -> Result<&PathBuf, LedgerError> {
        match self {
            Self::Sqlite(LedgerLocation::File(path)) => Ok(path),
            _ => Err(LedgerError::OnlySqlite { what, instead }),
        }
    }
}

impl FromStr for Database {
    type Err = LedgerError;

    fn from_str(text: &str) -> Result<Self, LedgerError> {
        let is_url = text.contains("://");
        match text {
            ":memory:" => Ok(Self::Sqlite(LedgerLocation::Memory)),
            _ if text.starts_with("postgres://") || text.starts_with("postgresql://") => {
                Ok(Self::Postgres(text.to_owned()))
            }
            "" => Err(LedgerError::Address { found: String::new() }),
            _ if is_url => Err(LedgerError::Address { found: mask_urls(text) }),
            _ => Ok(Self::Sqlite(LedgerLocation::File(PathBuf::from(text)))),
        }
    }
}

impl fmt::Display for Database {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(LedgerLocation::Memory) => formatter.write_str(":memory:"),
            Self::Sqlite(LedgerLocation::File(path)) => write!(formatter, "{}", path.display()),
            Self::Postgres(url) => formatter.write_str(&mask_urls(url)),
        }
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_a_url_memory_or_a_file() {
        let read = |text: &str| text.parse::<Database>();
        assert_eq!(read(":memory:").unwrap(), Database::Sqlite(LedgerLocation::Memory));
        assert_eq!(read("a/b.db").unwrap(), Database::Sqlite(LedgerLocation::File("a/b.db".into())));
        let url = "postgresql://me@host/db";
        assert_eq!(read(url).unwrap(), Database::Postgres(url.to_owned()));
        for wrong in ["", "mysql://me:secret@host/db?password=secret"] {
            let text = read(wrong).unwrap_err().to_string();
            assert!(text.contains("neither a file") && !text.contains("secret"), "{text}");
        }
    }

    #[test]
    fn passwords_are_not_shown() {
        let database: Database = "postgres://me:p@ss@host:5432/db?sslpassword=x".parse().unwrap();
        assert_eq!(database.to_string(), "postgres://me:********@host:5432/db?sslpassword=********");
        assert_eq!(format!("{database:?}"), database.to_string());
    }
}
