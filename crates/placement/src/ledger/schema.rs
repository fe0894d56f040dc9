//! Versions of the schema: whether this binary may use a database, and which migrations it runs first.

use std::ops::Range;

use super::LedgerError;

/// The version of this binary for the schema. A schema has the oldest version that may use it, so that the old and the
/// new binary of a rolling upgrade run together on a schema that suits both.
pub const BINARY: i64 = 1;

/// The content of the row in the table `schema`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    pub version: i64,
    pub oldest_binary: i64,
}

/// What a start finds in a database, before it changes anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inspected {
    InMemory,
    /// The file will be created.
    Absent,
    /// The tables will be created.
    Empty,
    UpToDate,
    /// So many migrations will be run.
    Outdated {
        migrations: usize,
    },
}

impl Inspected {
    pub(super) fn of(found: Option<Found>, known: usize) -> Result<Self, LedgerError> {
        Ok(match (found, missing(found, known)?.len()) {
            (None, _) => Self::Empty,
            (Some(_), 0) => Self::UpToDate,
            (Some(_), migrations) => Self::Outdated { migrations },
        })
    }
}

/// Which of the `known` migrations are to be run.
pub fn missing(found: Option<Found>, known: usize) -> Result<Range<usize>, LedgerError> {
    let Some(Found { version, oldest_binary }) = found else { return Ok(0..known) };
    if oldest_binary > BINARY {
        return Err(LedgerError::TooNew { version, oldest_binary, own: BINARY });
    }
    let done =
        usize::try_from(version).map_err(|_| LedgerError::NotOurs { why: format!("its version is {version}") })?;
    Ok(done.min(known)..known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(version: i64, oldest_binary: i64) -> Found {
        Found { version, oldest_binary }
    }

    #[test]
    fn an_empty_database_gets_all_migrations_and_an_old_one_the_rest() {
        assert_eq!(missing(None, 3).unwrap(), 0..3);
        assert_eq!(missing(Some(found(2, BINARY)), 3).unwrap(), 2..3);
        assert_eq!(missing(Some(found(3, BINARY)), 3).unwrap(), 3..3);
    }

    #[test]
    fn a_newer_schema_is_used_as_long_as_it_suits_this_binary() {
        assert_eq!(missing(Some(found(9, BINARY)), 3).unwrap(), 3..3);
        let text = missing(Some(found(9, BINARY + 1)), 3).unwrap_err().to_string();
        assert!(text.contains("start a newer berth"), "{text}");
    }

    #[test]
    fn a_version_that_is_none_is_refused() {
        assert!(matches!(missing(Some(found(-1, BINARY)), 3), Err(LedgerError::NotOurs { .. })));
    }
}
