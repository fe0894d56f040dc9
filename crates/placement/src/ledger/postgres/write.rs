//! One write as transactions: retried after a conflict, and looked up when its commit was not answered.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use berth_placement_model::{Command, Refusal, decide};
use jiff::Timestamp;
use sqlx::error::DatabaseError;
use sqlx::postgres::{PgDatabaseError, PgSeverity};
use sqlx::{Executor as _, Row as _};
use tokio::time::{Instant, sleep, timeout_at};

use super::pool::{Lent, Pool};
use super::{apply, load};
use crate::ledger::after::Effects;
use crate::ledger::depth::Depth;
use crate::ledger::failure_log::{FailedUse, report_failure};
use crate::ledger::{LedgerMetrics, RequestError, Written, times};

/// The bound of transactions for one command: with the pauses between them a server that restarts has some 5 s. Because
/// of the fixed order of locks hardly any transaction is repeated.
const ATTEMPTS: u32 = 24;
/// The first pause before another attempt; it doubles up to [`LONGEST_PAUSE`].
const PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);
/// The reason of another attempt when the way to the database is broken.
const CONNECTION: &str = "connection";

/// The reason why a transaction has not committed.
enum WriteFailure {
    Refused(Box<Refusal>),
    /// It was not done, and may be tried again.
    Retry(&'static str, String),
    /// It was not done, and trying again does not help.
    Unavailable(String),
    /// It was not done, because the database cannot grow.
    NoSpace(String),
    /// The commit of this transaction got no answer.
    Unanswered {
        xid: String,
        written: Box<Written>,
    },
}

pub(super) async fn write(
    pool: &Pool,
    (metrics, space): (&LedgerMetrics, &Space),
    command: &Command,
    now: impl Fn() -> Timestamp,
    until: Instant,
) -> Result<Written, RequestError> {
    let (mut pause, mut last) = (PAUSE, "");
    for _ in 0..ATTEMPTS {
        let reason = match attempt(pool, metrics, command, now(), until).await {
            Ok(written) => {
                space.note(true);
                return Ok(written);
            }
            Err(WriteFailure::NoSpace(why)) => {
                space.note(false);
                return Err(RequestError::Unavailable(why));
            }
            Err(WriteFailure::Refused(refusal)) => return Err(RequestError::Refused(*refusal)),
            Err(WriteFailure::Unavailable(why)) => return Err(RequestError::Unavailable(why)),
            Err(WriteFailure::Unanswered { xid, written }) => return settle(pool, &xid, *written, until).await,
            Err(WriteFailure::Retry(reason, why)) => {
                tracing::debug!(reason, why, "transaction retried");
                reason
            }
        };
        if reason == CONNECTION {
            pool.forget();
        }
        last = reason;
        metrics.retry(reason);
        if Instant::now() + pause >= until {
            break;
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
    let why = if last == CONNECTION { "the database cannot be reached" } else { "others were always faster" };
    Err(RequestError::Unavailable(why.to_owned()))
}

/// Whether the database could grow when a write last needed it.
#[derive(Debug, Default)]
pub(super) struct Space {
    is_full: AtomicBool,
}

impl Space {
    pub(super) fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }

    fn note(&self, is_there: bool) {
        self.is_full.store(!is_there, Ordering::Relaxed);
    }
}

/// A transaction that is ready to be committed.
struct Prepared<'a> {
    connection: Lent<'a>,
    xid: String,
    written: Written,
}

async fn attempt(
    pool: &Pool,
    metrics: &LedgerMetrics,
    command: &Command,
    now: Timestamp,
    until: Instant,
) -> Result<Written, WriteFailure> {
    let late = |_| Err(WriteFailure::Unavailable("the database takes too long".to_owned()));
    let prepared = timeout_at(until, prepare(pool, command, times::rounded(now))).await.unwrap_or_else(late);
    metrics.transaction(1);
    let Prepared { mut connection, xid, written } = prepared?;
    let committed = timeout_at(until, connection.execute("COMMIT")).await;
    match committed {
        Ok(Ok(_)) => {
            connection.give_back();
            Ok(written)
        }
        // A server that shuts down sends this error instead of a response, and may have committed before.
        Ok(Err(sqlx::Error::Database(error))) if !ends_connection(&*error) => Err(refused_by_database(&*error)),
        Ok(Err(_)) | Err(_) => Err(WriteFailure::Unanswered { xid, written: Box::new(written) }),
    }
}

async fn prepare<'a>(pool: &'a Pool, command: &Command, now: Timestamp) -> Result<Prepared<'a>, WriteFailure> {
    let mut connection = pool.lend().await?;
    connection.execute("BEGIN").await?;
    let rows = load::load(&mut connection, command, &command.read_set(), Depth::of(command)).await?;
    let (changes, outcome) = match decide(command, &rows) {
        Ok(decided) => decided,
        Err(refusal) => return Err(give_up(connection, WriteFailure::Refused(Box::new(refusal))).await),
    };
    let applied = apply::apply(&mut connection, &rows, &changes, times::microseconds(now)).await?;
    if !applied.is_complete {
        let moved = "a row was changed by a writer without a lock".to_owned();
        return Err(give_up(connection, WriteFailure::Retry("moved", moved)).await);
    }
    let effects = Effects::new(&rows, &changes, applied.created, now);
    let provider = effects.provider(command, &rows).map(Into::into);
    let written = Written { outcome, provider, disowned: changes.disowned(&rows) };
    Ok(Prepared { connection, xid: applied.xid, written })
}

/// Undoes the transaction, so that the connection can be used again.
async fn give_up(mut connection: Lent<'_>, why: WriteFailure) -> WriteFailure {
    if connection.execute("ROLLBACK").await.is_ok() {
        connection.give_back();
    }
    why
}

impl From<sqlx::Error> for WriteFailure {
    fn from(error: sqlx::Error) -> Self {
        match error {
            sqlx::Error::Database(error) => refused_by_database(&*error),
            sqlx::Error::PoolTimedOut => Self::Unavailable("no connection to the database within 5 s".to_owned()),
            sqlx::Error::Io(error) => Self::Retry(CONNECTION, error.to_string()),
            error => Self::Unavailable(report_failure(FailedUse::Write, error)),
        }
    }
}

fn ends_connection(error: &(dyn DatabaseError + 'static)) -> bool {
    let severity = error.try_downcast_ref::<PgDatabaseError>().map(PgDatabaseError::severity);
    matches!(severity, Some(PgSeverity::Fatal | PgSeverity::Panic))
}

fn refused_by_database(error: &dyn DatabaseError) -> WriteFailure {
    let text = error.message().to_owned();
    match error.code().as_deref() {
        Some("40001") => WriteFailure::Retry("serialization", text),
        Some("40P01") => WriteFailure::Retry("deadlock", text),
        Some("23505") => WriteFailure::Retry("duplicate", text),
        // The server shuts down or is starting.
        Some("57P01" | "57P02" | "57P03") => WriteFailure::Retry(CONNECTION, text),
        Some("53100") => WriteFailure::NoSpace(report_failure(FailedUse::Write, text)),
        _ => WriteFailure::Unavailable(report_failure(FailedUse::Write, text)),
    }
}

/// Asks for the outcome of a transaction until it is known.
async fn settle(pool: &Pool, xid: &str, written: Written, until: Instant) -> Result<Written, RequestError> {
    let mut pause = PAUSE;
    while Instant::now() < until {
        match timeout_at(until, status(pool, xid)).await {
            Ok(Ok(Some(status))) if status == "committed" => return Ok(written),
            Ok(Ok(Some(status))) if status == "aborted" => {
                return Err(RequestError::Unavailable("the connection to the database was lost".to_owned()));
            }
            // In progress, too old to be known, or the question was not answered either.
            _ => {}
        }
        sleep(pause.min(until.saturating_duration_since(Instant::now()))).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
    Err(RequestError::Unknown("the connection to the database was lost while it committed".to_owned()))
}

async fn status(pool: &Pool, xid: &str) -> Result<Option<String>, sqlx::Error> {
    let rows = pool.rows(sqlx::query("SELECT pg_xact_status($1::text::xid8)").bind(xid)).await?;
    rows.first().map_or(Ok(None), |row| row.try_get(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_the_database_stay_in_the_log() {
        for error in [sqlx::Error::Protocol("secret".to_owned()), sqlx::Error::ColumnNotFound("secret".to_owned())] {
            let WriteFailure::Unavailable(text) = WriteFailure::from(error) else { panic!() };
            assert!(!text.contains("secret") && text.contains("the log of the server"), "{text}");
        }
    }
}
