//! One write as transactions: begun again when somebody else was faster, and asked about when its commit was not answered.
//! It decides what is tried again, for how long, and what a failure means for the one who asked.

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
use crate::ledger::{LedgerMetrics, Trouble, Written, times};

/// Transactions of one command, at most: with the pauses between them a server that is started again has some 5 s. With locks
/// in order hardly any is begun twice.
const ATTEMPTS: u32 = 24;
/// The first pause before another attempt; it doubles up to [`LONGEST_PAUSE`].
const PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);
/// The reason of another attempt when the way to the database is broken.
const CONNECTION: &str = "connection";

/// What one transaction came to, if not to its end.
enum Fault {
    /// It is refused, whatever others do.
    Refused(Box<Refusal>),
    /// It was not done, and may be tried again.
    Again(&'static str, String),
    /// It was not done, and trying again does not help.
    Unavailable(String),
    /// Nobody has answered the commit of this transaction.
    Unanswered { xid: String, written: Box<Written> },
}

/// Does `command`, or says why not.
pub(super) async fn write(
    pool: &Pool,
    metrics: &LedgerMetrics,
    command: &Command,
    now: impl Fn() -> Timestamp,
    until: Instant,
) -> Result<Written, Trouble> {
    let (mut pause, mut last) = (PAUSE, "");
    for _ in 0..ATTEMPTS {
        let reason = match attempt(pool, metrics, command, now(), until).await {
            Ok(written) => return Ok(written),
            Err(Fault::Refused(refusal)) => return Err(Trouble::Refused(*refusal)),
            Err(Fault::Unavailable(why)) => return Err(Trouble::Unavailable(why)),
            Err(Fault::Unanswered { xid, written }) => return settle(pool, &xid, *written, until).await,
            Err(Fault::Again(reason, why)) => {
                tracing::debug!(reason, why, "a transaction is begun again");
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
    Err(Trouble::Unavailable(why.to_owned()))
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
) -> Result<Written, Fault> {
    let late = |_| Err(Fault::Unavailable("the database takes too long".to_owned()));
    let prepared = timeout_at(until, prepare(pool, command, times::rounded(now))).await.unwrap_or_else(late);
    metrics.transaction(1);
    let Prepared { mut connection, xid, written } = prepared?;
    let committed = timeout_at(until, connection.execute("COMMIT")).await;
    match committed {
        Ok(Ok(_)) => {
            connection.give_back();
            Ok(written)
        }
        // A server that ends says so instead of answering, and may have committed before.
        Ok(Err(sqlx::Error::Database(error))) if !ends_connection(&*error) => Err(refused_by_database(&*error)),
        Ok(Err(_)) | Err(_) => Err(Fault::Unanswered { xid, written: Box::new(written) }),
    }
}

async fn prepare<'a>(pool: &'a Pool, command: &Command, now: Timestamp) -> Result<Prepared<'a>, Fault> {
    let mut connection = pool.lend().await?;
    connection.execute("BEGIN").await?;
    let facts = load::load(&mut connection, command, &command.wants(), Depth::of(command)).await?;
    let (changes, outcome) = match decide(command, &facts) {
        Ok(decided) => decided,
        Err(refusal) => return Err(given_up(connection, Fault::Refused(Box::new(refusal))).await),
    };
    let applied = apply::apply(&mut connection, &facts, &changes, times::microseconds(now)).await?;
    if !applied.is_whole {
        let moved = "a row was changed by somebody who had no lock".to_owned();
        return Err(given_up(connection, Fault::Again("moved", moved)).await);
    }
    let effects = Effects::new(&facts, &changes, applied.created, now);
    let provider = effects.provider(command, &facts).map(Into::into);
    let written = Written { outcome, provider, disowned: changes.disowned(&facts) };
    Ok(Prepared { connection, xid: applied.xid, written })
}

/// Undoes the transaction, so that the connection can be used again.
async fn given_up(mut connection: Lent<'_>, why: Fault) -> Fault {
    if connection.execute("ROLLBACK").await.is_ok() {
        connection.give_back();
    }
    why
}

impl From<sqlx::Error> for Fault {
    fn from(error: sqlx::Error) -> Self {
        match error {
            sqlx::Error::Database(error) => refused_by_database(&*error),
            sqlx::Error::PoolTimedOut => Self::Unavailable("no connection to the database within 5 s".to_owned()),
            sqlx::Error::Io(error) => Self::Again(CONNECTION, error.to_string()),
            error => Self::Unavailable(error.to_string()),
        }
    }
}

fn ends_connection(error: &(dyn DatabaseError + 'static)) -> bool {
    let severity = error.try_downcast_ref::<PgDatabaseError>().map(PgDatabaseError::severity);
    matches!(severity, Some(PgSeverity::Fatal | PgSeverity::Panic))
}

fn refused_by_database(error: &dyn DatabaseError) -> Fault {
    let text = error.message().to_owned();
    match error.code().as_deref() {
        Some("40001") => Fault::Again("serialization", text),
        Some("40P01") => Fault::Again("deadlock", text),
        Some("23505") => Fault::Again("duplicate", text),
        // The server ends or has just begun.
        Some("57P01" | "57P02" | "57P03") => Fault::Again(CONNECTION, text),
        _ => {
            tracing::warn!(error = text, "the database cannot be used");
            Fault::Unavailable(text)
        }
    }
}

/// Asks what became of a transaction until somebody knows.
async fn settle(pool: &Pool, xid: &str, written: Written, until: Instant) -> Result<Written, Trouble> {
    let mut pause = PAUSE;
    while Instant::now() < until {
        match timeout_at(until, status(pool, xid)).await {
            Ok(Ok(Some(status))) if status == "committed" => return Ok(written),
            Ok(Ok(Some(status))) if status == "aborted" => {
                return Err(Trouble::Unavailable("the connection to the database was lost".to_owned()));
            }
            // In progress, too old to be known, or the question was not answered either.
            _ => {}
        }
        sleep(pause.min(until.saturating_duration_since(Instant::now()))).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
    Err(Trouble::Unknown("the connection to the database was lost while it committed".to_owned()))
}

async fn status(pool: &Pool, xid: &str) -> Result<Option<String>, sqlx::Error> {
    let rows = pool.rows(sqlx::query("SELECT pg_xact_status($1::text::xid8)").bind(xid)).await?;
    rows.first().map_or(Ok(None), |row| row.try_get(0))
}
