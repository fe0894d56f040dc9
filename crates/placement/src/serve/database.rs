//! Which database a server uses. It decides how the setting `database` is read: a PostgreSQL URL, `:memory:`, or a file.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use berth_telemetry::clock::Clock;

use crate::ledger::postgres::PostgresLedger;
use crate::ledger::sqlite::{Place, SqliteLedger};
use crate::ledger::{LedgerError, LedgerMetrics, Operated};

/// Where a ledger is.
#[derive(Clone, PartialEq, Eq)]
pub enum Database {
    /// A SQLite file, or memory.
    Sqlite(Place),
    /// A PostgreSQL database by its URL.
    Postgres(String),
}

impl Database {
    /// Opens it.
    pub async fn open(&self, clock: Arc<dyn Clock>, metrics: LedgerMetrics) -> Result<Arc<dyn Operated>, LedgerError> {
        match self {
            Self::Sqlite(place) => Ok(Arc::new(SqliteLedger::open(place, clock, metrics)?)),
            Self::Postgres(url) => Ok(Arc::new(PostgresLedger::open(url, clock, metrics).await?)),
        }
    }

    /// The SQLite file, for `what`.
    pub fn file(&self, what: &'static str, instead: &'static str) -> Result<&PathBuf, LedgerError> {
        match self {
            Self::Sqlite(Place::File(path)) => Ok(path),
            _ => Err(LedgerError::OnlySqlite { what, instead }),
        }
    }
}

impl FromStr for Database {
    type Err = LedgerError;

    fn from_str(text: &str) -> Result<Self, LedgerError> {
        let is_url = text.contains("://");
        match text {
            ":memory:" => Ok(Self::Sqlite(Place::Memory)),
            _ if text.starts_with("postgres://") || text.starts_with("postgresql://") => {
                Ok(Self::Postgres(text.to_owned()))
            }
            "" => Err(LedgerError::Address { found: String::new() }),
            _ if is_url => Err(LedgerError::Address { found: without_password(text) }),
            _ => Ok(Self::Sqlite(Place::File(PathBuf::from(text)))),
        }
    }
}

/// Between the scheme and the last `@` stands who, and perhaps a password; in parameters may stand one as well.
fn without_password(url: &str) -> String {
    let url = url.split('?').next().unwrap_or_default();
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, place))) => format!("{scheme}://...@{place}"),
        _ => url.to_owned(),
    }
}

impl fmt::Display for Database {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(Place::Memory) => formatter.write_str(":memory:"),
            Self::Sqlite(Place::File(path)) => write!(formatter, "{}", path.display()),
            Self::Postgres(url) => formatter.write_str(&without_password(url)),
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
        assert_eq!(read(":memory:").unwrap(), Database::Sqlite(Place::Memory));
        assert_eq!(read("a/b.db").unwrap(), Database::Sqlite(Place::File("a/b.db".into())));
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
        assert_eq!(database.to_string(), "postgres://...@host:5432/db");
        assert_eq!(format!("{database:?}"), "postgres://...@host:5432/db");
    }
}
