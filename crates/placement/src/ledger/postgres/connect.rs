//! Connections to PostgreSQL: their settings, time limits and migrations.

use std::io::{self, ErrorKind};
use std::str::FromStr as _;
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection as _, Executor as _, PgConnection, Row as _};
use tokio::time::timeout;

use crate::ledger::LedgerError;
use crate::ledger::schema::{self, Found, Inspected};

/// Each brings the schema one version further.
const MIGRATIONS: [&str; 2] = [include_str!("schema-1.sql"), include_str!("schema-2.sql")];
/// All migrations hold this advisory lock.
const MIGRATION_LOCK: i64 = 0x6265_7274_6801;

/// How long a request waits for a connection.
pub(super) const WAIT: Duration = Duration::from_secs(5);

/// How long the start waits for others who migrate and for the migration itself.
const MIGRATION: Duration = Duration::from_secs(60);

/// Settings of every connection. Plans are made once and use indexes whatever the tables contained at that time; a
/// statement has 10 s, and an abandoned transaction does not hold its locks for long.
const SETTINGS: &str = "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET jit = off; \
     SET default_transaction_isolation = 'read committed'; SET statement_timeout = '10s'; \
     SET idle_in_transaction_session_timeout = '40s'; SET client_min_messages = 'warning'; SET timezone = 'UTC'";

/// How to reach the database that a URL names.
pub(super) fn options(url: &str) -> Result<PgConnectOptions, LedgerError> {
    let options = PgConnectOptions::from_str(url).map_err(|source| LedgerError::Postgres { source })?;
    Ok(options.application_name("berth-placement"))
}

/// One connection, or none within 5 s.
pub(super) async fn connection(options: &PgConnectOptions) -> Result<PgConnection, sqlx::Error> {
    let connected = timeout(WAIT, async {
        let mut connection = PgConnection::connect_with(options).await?;
        connection.execute(SETTINGS).await?;
        Ok(connection)
    });
    let silent = || io::Error::new(ErrorKind::TimedOut, "the server has not answered within 5 s");
    connected.await.unwrap_or_else(|_| Err(silent().into()))
}

/// Why there is no first connection. Certificates are checked here alone, so that their faults end the start.
pub(super) fn refused(source: sqlx::Error) -> LedgerError {
    let encryption = match &source {
        sqlx::Error::Tls(_) => true,
        sqlx::Error::Io(error) => error.kind() == ErrorKind::InvalidData,
        _ => false,
    };
    if encryption { LedgerError::Encryption { source } } else { LedgerError::Postgres { source } }
}

/// What a start would find, without changing it.
pub(super) async fn inspect(connection: &mut PgConnection) -> Result<Inspected, LedgerError> {
    let silent = || io::Error::new(ErrorKind::TimedOut, "the server has not answered within 5 s");
    let found = timeout(WAIT, found(connection)).await;
    let found = found.unwrap_or_else(|_| Err(LedgerError::Postgres { source: silent().into() }))?;
    Inspected::of(found, MIGRATIONS.len())
}

/// Brings the schema up to date, one process at a time, within a minute.
pub(super) async fn migrate(connection: &mut PgConnection) -> Result<(), LedgerError> {
    let silent = || io::Error::new(ErrorKind::TimedOut, "the schema could not be brought up to date within 60 s");
    let migrated = timeout(MIGRATION, run_migrations(connection)).await;
    migrated.unwrap_or_else(|_| Err(LedgerError::Postgres { source: silent().into() }))
}

async fn run_migrations(connection: &mut PgConnection) -> Result<(), LedgerError> {
    let failed = |source| LedgerError::Postgres { source };
    let mut transaction = connection.begin().await.map_err(failed)?;
    sqlx::query("SELECT pg_advisory_xact_lock($1)")
        .bind(MIGRATION_LOCK)
        .execute(&mut *transaction)
        .await
        .map_err(failed)?;
    let found = found(&mut transaction).await?;
    for index in schema::missing(found, MIGRATIONS.len())? {
        transaction.execute(MIGRATIONS[index]).await.map_err(failed)?;
    }
    transaction.commit().await.map_err(failed)
}

async fn found(connection: &mut PgConnection) -> Result<Option<Found>, LedgerError> {
    let failed = |source| LedgerError::Postgres { source };
    let not_ours = |why: &str| LedgerError::NotOurs { why: why.to_owned() };
    let tables = "SELECT to_regclass('schema') IS NOT NULL, to_regclass('providers') IS NOT NULL";
    let tables = connection.fetch_one(tables).await.map_err(failed)?;
    match (tables.get(0), tables.get(1)) {
        (false, false) => return Ok(None),
        (false, true) => return Err(not_ours("it has a table of providers, and none says its version")),
        (true, _) => {}
    }
    let row = connection.fetch_optional("SELECT version, oldest_binary FROM schema").await.map_err(failed)?;
    let row = row.ok_or_else(|| not_ours("its table schema is empty"))?;
    let read = || Ok(Found { version: row.try_get(0)?, oldest_binary: row.try_get(1)? });
    read().map(Some).map_err(failed)
}
